"""Our own programs understand the settings that the lab gives them."""

from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_extender.settings import load as load_extender
from slackwater_lab.controlplane.prometheus import seconds
from slackwater_lab.controlplane.services import OPERATORS, available, command, environment
from slackwater_lab.site import Site
from slackwater_operator.settings import load as load_operator


def test_the_extender_listens_where_the_scheduler_asks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port, Prometheus and kubeconfig arrive; a renamed setting would be a silent default."""
    for key, value in environment(site, "extender", Path("some.kubeconfig"), measured=True).items():
        monkeypatch.setenv(key, value)
    settings = load_extender([])
    assert settings.server.port == site.ports["extender"]
    assert settings.server.host == "127.0.0.1"
    assert str(settings.prometheus.url).rstrip("/") == site.url("prometheus")
    assert settings.kubeconfig == Path("some.kubeconfig")


@pytest.mark.parametrize(("scrape", "window"), [("2s", 10), ("500ms", 2.5), ("1m", 300)])
def test_rates_span_five_scrapes(site: Site, monkeypatch: pytest.MonkeyPatch, scrape: str, window: float) -> None:
    """Wide enough for a scrape that fails, narrow enough to forget pods that have ended."""
    for key, value in environment(site, "extender", Path("some.kubeconfig"), measured=True, scrape=scrape).items():
        monkeypatch.setenv(key, value)
    assert load_extender([]).prometheus.window == window


def test_a_scrape_interval_that_cannot_be_read_is_refused() -> None:
    """The error says how it is written."""
    with pytest.raises(InvalidInput, match="such as 15s"):
        seconds("often")


def test_without_prometheus_the_extender_is_not_told_of_one(site: Site) -> None:
    """It then knows that nothing is measured, instead of asking a server that is not there."""
    settings = environment(site, "extender", Path("some.kubeconfig"), measured=False)
    assert not any("PROMETHEUS" in key for key in settings)


def test_two_operators_differ_in_name_and_ports(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """They compete for one Lease, each under its own identity, and both ask the same extender."""
    seen = []
    for name in OPERATORS:
        for key, value in environment(site, name, Path("some.kubeconfig"), measured=True).items():
            monkeypatch.setenv(key, value)
        settings = load_operator([])
        assert settings.extender_url == site.url("extender")
        assert settings.host == "127.0.0.1"
        seen.append((settings.identity, settings.metrics_port, settings.health_port))
    assert len({item for entry in seen for item in entry}) == 6


@pytest.mark.parametrize("name", ["extender", *OPERATORS])
def test_a_command_names_its_program(name: str) -> None:
    """A console script where there is one, else the module."""
    assert "slackwater" in command(name)[-1]
    assert available("extender")
