"""The demo's words: what a person reads must be what was measured."""

from __future__ import annotations

import io

from rich.console import Console

from slackwater_cli.demo import SCENES, _table, _words
from slackwater_simulator.cluster import parse
from slackwater_simulator.generators.catalogue import cluster_of, generate
from slackwater_simulator.metrics import measure
from slackwater_simulator.outcome import Outcome
from slackwater_simulator.run import run


def nine() -> Outcome:
    """Nine o'clock under the stock scheduler."""
    name = "gen:hour?case=nine"
    return run(generate(name), parse(cluster_of(name)), "kube", world="kubernetes")


def test_a_standstill_is_called_never() -> None:
    """A manager sees "never" and "0 of 180", not a NaN."""
    out = io.StringIO()
    Console(file=out, width=120).print(_table(SCENES["nine"], {"kube": measure(nine())}))
    assert "never" in out.getvalue()
    assert "0 of 180" in out.getvalue()
    assert "nan" not in out.getvalue()


def test_the_standstill_is_explained() -> None:
    """By the number of drivers that hold every core."""
    outcome = nine()
    metrics = measure(outcome)
    lines = _words(
        {"kube": metrics, "slackwater": metrics}, {("nine", "kube"): outcome, ("nine", "slackwater"): outcome}
    )
    assert len(lines) == 1
    assert lines[0].startswith("At nine the stock scheduler started 160 drivers, which hold every core")
