"""Names with brackets and colons, which are markup for the library that prints: commands show them as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slackwater_cli.main import app
from slackwater_cli.simulation.live import Wish, _print
from slackwater_lab.live.comparison import Compared, Forecast, summary
from support.fakes.httpcluster import GROUP, Cluster

CLI = Path(__file__).parents[3] / "cli"
NAME = "etl [prod] [/x] :bug:"
DRIVER = {"request": [1, 2**30], "startup": 2}
STAGE = {"name": "m", "request": [1, 2**30], "durations": {"value": 10, "count": 4}}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of one job, called so."""
    path = tmp_path / "[week].jsonl"
    lines = (
        {"format": "slackwater-trace", "version": 1, "name": NAME},
        {"id": NAME, "submit": 0, "driver": DRIVER, "stages": [STAGE]},
    )
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def typed(*words: str) -> Result:
    """What a command said that must succeed, on a wide terminal."""
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("command", ["simulate", "what-if"])
def test_names_of_workloads_policies_and_folders(trace: Path, tmp_path: Path, command: str) -> None:
    """A bracket ended the command after everything had been played."""
    folder = tmp_path / "out [/x]"
    said = typed(command, str(trace), "--cluster", "2x4", "-p", "kube", "--report", str(folder))
    assert NAME in said.stdout
    assert f"report: {folder}" in said.stderr


def test_values_of_a_sweep(trace: Path, tmp_path: Path) -> None:
    """Files of clusters, for example."""
    cluster = tmp_path / "c[prod].yaml"
    cluster.write_text("nodes: [{count: 1, cpu: 4, memory: 8Gi, name: n}]")
    file = tmp_path / "sweep.yaml"
    file.write_text(f"workload: '{trace}'\ncluster: '{{c}}'\npolicy: [fifo]\ngrid: {{c: ['{cluster}']}}\n")
    assert str(cluster) in typed("sweep", str(file), "--backend", "threading").stdout


def test_jobs_of_a_live_play(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own names, beside what was predicted."""
    monkeypatch.setenv("COLUMNS", "300")
    rows = [Compared(NAME, 0.0, Forecast(1.0, 2.0), Forecast(1.0, 2.0))]
    _print(rows, summary(rows), Wish("kube", 1.0, "here", None, {}, 10.0, 0, {}))
    assert NAME in capsys.readouterr().out


@pytest.mark.parametrize("words", [("apps",), ("top",), ("explain", "etl-0")], ids=lambda words: words[0])
def test_apps_of_a_cluster(run: Callable[..., Result], cluster: Cluster, words: tuple[str, ...]) -> None:
    """What people call an app, and sentences about it."""
    for path in (f"{GROUP}/trackedapps", f"{GROUP}/namespaces/team-a/trackedapps"):
        listed = cluster.answers[path]
        assert isinstance(listed, dict)
        listed["items"][0]["spec"]["name"] = NAME
        listed["items"][0]["status"]["message"] = f"waits behind {NAME}"
    assert NAME in run(*words).stdout


def test_commands_print_by_one_way() -> None:
    """Who made a Console of his own would have to think of it again."""
    makers = {path.name for path in CLI.rglob("*.py") if "Console(" in path.read_text(encoding="utf-8")}
    assert makers == {"printing.py"}
