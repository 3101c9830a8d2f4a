"""Settings from flags, environment and file, and mistakes in them told in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from slackwater.errors import InvalidInput
from slackwater_cluster import names
from slackwater_cluster.logs import hide
from slackwater_extender.check import check
from slackwater_extender.sampler.presets import PRESETS
from slackwater_extender.settings import CONFIG, PREFIX, Settings, load


def fields(model: type) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, field in model.model_fields.items():  # type: ignore[attr-defined] # a pydantic model
        kind = field.annotation
        if isinstance(kind, type) and hasattr(kind, "model_fields"):
            found += [(f"{name}.{inner}", each) for inner, each in fields(kind)]
        else:
            found.append((name, field))
    return found


def test_every_setting_has_a_default_and_a_reason() -> None:
    """Nothing must be set to start; everything says what it is for."""
    Settings()
    for name, field in fields(Settings):
        assert getattr(field, "description", None), name


def test_flags_beat_environment_beat_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each source adds what the stronger ones leave open."""
    file = tmp_path / "settings.yaml"
    file.write_text("server: {port: 1, threads: 3, keepalive: 30}\nlog_level: debug\n")
    monkeypatch.setenv(f"{PREFIX}SERVER__PORT", "2")
    monkeypatch.setenv(f"{PREFIX}SERVER__THREADS", "4")
    found = load(["--config", str(file), "--server.port", "3"])
    assert (found.server.port, found.server.threads, found.server.keepalive) == (3, 4, 30)
    assert found.log_level == "debug"
    monkeypatch.setenv(CONFIG, str(file))
    assert load([]).server.keepalive == 30


@pytest.mark.parametrize(
    ("arguments", "text", "words"),
    [
        (["--server.port", "many"], "", "server.port"),
        ([], "server: {prot: 1}", "server.prot"),
        ([], "server: [", "is not YAML (line 1, column 10"),
        ([], "[server]", "holds no settings"),
        ([], "{1: 2}", "1: it is not known here"),
        ([], "a: 2026-02-30", "day is out of range for month"),
        ([], f"a: {'9' * 5000}", "Exceeds the limit"),
        ([], "[" * 1000, "too much stands inside of each other"),
        ([], "a: !!bool maybe", "a value is not what its tag"),
        (["--config", "/no/such/file"], "", "no file /no/such/file"),
        (["--server.host", "0.0.0.0"], "", "set tls.certificate and tls.key, or listen on 127.0.0.1"),
        ([], "tls: {certificate: a}", "belong together"),
        ([], "tls: {client_ca: a}", "needs tls.certificate"),
        ([], "prometheus: {preset: guess}", "prometheus.preset"),
        ([], "prometheus: {url: not-a-url}", "prometheus.url"),
        ([], "prometheus: {matchers: {a-b: c}}", "prometheus.matchers: 'a-b' is no label"),
        (["--prometheus.matchers", "cluster="], "", "prometheus.matchers: cluster has no value"),
        ([], "log_level: loud", "log_level"),
    ],
    ids=[
        "type",
        "typo",
        "yaml",
        "list",
        "number",
        "date",
        "digits",
        "deep",
        "tag",
        "file",
        "open-port",
        "half-pair",
        "ca-alone",
        "preset",
        "url",
        "label",
        "value",
        "level",
    ],
)
def test_mistakes_are_told_in_words(tmp_path: Path, arguments: list[str], text: str, words: str) -> None:
    """The field and what to do, not a traceback."""
    if text:
        (tmp_path / "s.yaml").write_text(text)
        arguments = [*arguments, "--config", str(tmp_path / "s.yaml")]
    with pytest.raises(InvalidInput) as caught:
        load(arguments)
    assert words in str(caught.value)


def test_help_names_presets_as_they_are_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What help lists, none of it broken at the end of a line, is taken by flag, environment and file alike."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        load(["--help"])
    told = capsys.readouterr().out
    for name in PRESETS:
        assert re.search(rf"{name}[,. ]", told), name
        assert load(["--prometheus.preset", name]).prometheus.preset == name


def test_check_says_what_is_missing(tmp_path: Path) -> None:
    """Nothing reachable: two plain sentences and a no."""
    config = tmp_path / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    said: list[str] = []
    assert not check(load(["--kubeconfig", str(config)]), said.append)
    assert any("Kubernetes: API server" in line for line in said)
    assert any("prometheus.url: not set" in line for line in said)
    said.clear()
    assert not check(load(["--kubeconfig", str(config), "--prometheus.url", "http://127.0.0.1:9"]), said.append)
    assert any(line.startswith("missing: node_cpu: ") for line in said)


def test_check_without_a_cluster(tmp_path: Path) -> None:
    """A kubeconfig that is none."""
    (tmp_path / "empty").write_text("{}")
    said: list[str] = []
    assert not check(load(["--kubeconfig", str(tmp_path / "empty")]), said.append)
    assert any("no usable Kubernetes configuration" in line for line in said)


def test_logs_hide_secrets() -> None:
    """Whoever logs headers by mistake shows nothing."""
    event = hide(None, "info", {"event": "x", "Authorization": "Bearer t", "token": "t"})
    assert event == {"event": "x", "Authorization": "(hidden)", "token": "(hidden)"}


def test_operator_and_chart_ask_where_the_extender_listens() -> None:
    """One port by default, so that nobody who starts both by hand has to name it."""
    values = yaml.safe_load((Path(__file__).parents[2] / "helm/slackwater/values.yaml").read_text())
    assert load([]).server.port == values["extender"]["port"] == names.EXTENDER_PORT
    # Read from the source: the extender and the operator never import each other, not even in tests.
    settings = (Path(__file__).parents[2] / "operator/slackwater_operator/settings.py").read_text()
    assert 'f"http://127.0.0.1:{names.EXTENDER_PORT}"' in settings
