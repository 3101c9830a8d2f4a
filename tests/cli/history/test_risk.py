"""`slackwater risk` from the outside."""

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from slackwater.errors import InvalidInput
from slackwater_cli.history.risk import notes
from slackwater_cli.main import app
from slackwater_simulator.risk.machines import Play
from slackwater_simulator.risk.series import read

KEYS = ("estimator", "violation_rate", "severity_mean", "severity_p99", "savings")
SMALL = ("--machines", "4", "--days", "2", "--residents", "6", "--horizon", "30m")


@pytest.fixture
def series(tmp_path: Path) -> str:
    """Forty series of 48 samples, gzipped."""
    rng = np.random.default_rng(3)
    rows = np.clip(rng.uniform(5, 50, (40, 1)) + rng.normal(0, 3, (40, 48)), 0, 100).round(1)
    path = tmp_path / "memory.csv.gz"
    path.write_bytes(gzip.compress("\n".join(",".join(map(str, row)) for row in rows.tolist()).encode()))
    return str(path)


def risk(*arguments: str) -> str:
    """Standard output of a command that must succeed."""
    result = CliRunner().invoke(app, ["risk", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return str(result.stdout)


def test_json_and_csv_hold_every_estimator(series: str) -> None:
    """One object each, the documented fields in all of them, the same numbers in both."""
    rows = json.loads(risk(series, *SMALL, "-o", "json"))
    table = list(csv.DictReader(io.StringIO(risk(series, *SMALL, "-o", "csv"))))
    assert [row["estimator"] for row in rows] == [
        *("slackwater", "paper-000", "n-sigma", "rc-like", "max-nsigma-rc", "borg-default", "autopilot", "oracle")
    ]
    assert all(key in row for row in rows for key in KEYS)
    assert [float(row["savings"]) for row in table] == [row["savings"] for row in rows]
    assert all(row["lost_tasks"] is not None for row in rows)  # the name says memory


def test_the_table_names_everyone(series: str) -> None:
    """Losses only where memory was played."""
    assert "LOST" in risk(series, *SMALL)
    shown = risk(series, *SMALL, "--resource", "cpu")
    assert "LOST" not in shown
    assert "max-nsigma-rc" in shown


def test_a_report_is_written(series: str, tmp_path: Path) -> None:
    """With the frontier; the settings behind it are not among the printed rows."""
    page = tmp_path / "risk.html"
    rows = json.loads(risk(series, *SMALL, "-o", "json", "--report", str(page)))
    assert "<svg" in page.read_text()
    assert len(rows) == 8


@pytest.mark.parametrize("text", ["0", "100%", "often", "-1%", "nan"])
def test_a_risk_must_be_a_probability(series: str, text: str) -> None:
    """Refused with what to write."""
    with pytest.raises(InvalidInput, match="1% or"):
        CliRunner().invoke(app, ["risk", series, "--risk", text], catch_exceptions=False)


def test_a_seed_is_not_negative(series: str) -> None:
    """Refused as `slackwater simulate` does."""
    found = CliRunner().invoke(app, ["risk", series, "--seed", "-1"])
    assert found.exit_code == 2
    assert "--seed" in found.output


def test_the_risk_may_be_a_share_or_a_percentage(series: str) -> None:
    """5 % is 0.05."""
    assert risk(series, *SMALL, "--risk", "5%") == risk(series, *SMALL, "--risk", "0.05")


@pytest.mark.parametrize(
    ("generator", "memory"),
    [("gen:borg?tasks=60", False), ("gen:hour?apps=3&shape=spike", True), ("gen:hour?apps=3&noise=0.3", False)],
)
def test_a_generator_s_tasks_are_played(generator: str, memory: bool) -> None:
    """Shapes are about memory, so that tasks can be lost; a seed gives the same numbers again."""
    first = risk(generator, *SMALL, "-o", "json", "--seed", "4")
    assert first == risk(generator, *SMALL, "-o", "json", "--seed", "4")
    rows = json.loads(first)
    assert [row["lost_tasks"] is not None for row in rows] == [memory] * 8
    assert 0 < rows[-1]["savings"] < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("gen:tetris",), "gen:borg", id="unknown-generator"),
        pytest.param(("gen:dress",), "gen:borg, gen:hour or gen:estimation", id="tells-no-use"),
        pytest.param(("gen:borg", "--in-step"), "time of day", id="in-step"),
        pytest.param(("gen:borg?shape=square",), "plateaus", id="unknown-shape"),
    ],
)
def test_a_generator_that_cannot_be_played_is_told(arguments: tuple[str, ...], message: str) -> None:
    """And what to write instead."""
    with pytest.raises(InvalidInput, match=message):
        CliRunner().invoke(app, ["risk", *arguments], catch_exceptions=False)


def test_the_heads_of_the_table_stand_on_one_line(series: str) -> None:
    """`95 %` over two lines looked like a column without a name."""
    heads = risk(series, *SMALL).splitlines()[0].split()
    assert heads[:7] == ["ESTIMATOR", "VIOLATIONS", "INTERVAL", "SEVERITY", "P99", "SAVINGS", "ORACLE"]


def test_a_horizon_between_two_samples_is_told_as_it_is_played(series: str) -> None:
    """Seven minutes are one sample of five; what fits says nothing, and results stay clean."""
    told = CliRunner().invoke(app, ["risk", series, *SMALL[:-1], "7m", "-o", "json"])
    assert "samples are 5m apart: --horizon 5m is played, not 7 min" in told.stderr
    assert len(json.loads(told.stdout)) == 8
    assert "is played" not in CliRunner().invoke(app, ["risk", series, *SMALL]).stderr


def test_too_short_a_play_for_promises_is_told(series: str) -> None:
    """Four machines compare a hundred promises after twelve hours; that two days of four hours end before is said."""
    told = CliRunner().invoke(app, ["risk", series, *SMALL, "-o", "json"])
    assert "promises all requests for the first 4 h of the 4 h that count" in " ".join(told.stderr.split())
    assert json.loads(told.stdout)[0]["savings"] == 0.0


def test_so_many_tasks_that_it_takes_long_are_told_at_once(series: str) -> None:
    """Before anything is played: ten times the usual 4,000."""
    play, found = replace(Play(), residents=400), read(Path(series))
    assert any("40,000 tasks at once are 10 times as many" in note for note in notes(play, found, 6 * 3600))
    assert not any("tasks at once" in note for note in notes(Play(), found, 6 * 3600))
