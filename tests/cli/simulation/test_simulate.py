"""`slackwater simulate` from the outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.errors import InvalidInput
from slackwater_cli.main import app
from slackwater_cli.options import parse_settings, policy_names
from slackwater_cli.simulation.simulate import DEFAULTS
from slackwater_simulator.policies.registry import worlds_of
from slackwater_simulator.simulation import WORLDS


def cut(line: str) -> list[str]:
    """The cells of a line of a table with a frame."""
    return [cell.strip() for cell in line[1:-1].split(line[0])]


KEYS = ("policy", "makespan_s", "mean_wait_s", "mean_slowdown", "mean_completion_s", "failures", "deadlock")


def simulate(*arguments: str) -> str:
    """Standard output of a run that must succeed."""
    result = CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return str(result.stdout)


def test_json_has_one_object_per_policy_with_stable_keys() -> None:
    """The keys that other programs rely on."""
    rows = json.loads(simulate("gen:haste", "--policy", "fifo,fifo?cores=false", "-o", "json"))
    assert len(rows) == 2
    assert all(key in row for key in KEYS for row in rows)
    assert rows[0] == rows[1] | {"policy": "fifo"}
    assert rows[0]["modelled"] == [{"field": "everything", "model": "the evaluation of paper 001 (seed 0)"}]


def test_policies_are_named_by_commas_or_one_by_one() -> None:
    """A second `--policy` adds to the first."""
    assert policy_names(["fifo,fair", " capacity "]) == ["fifo", "fair", "capacity"]
    assert policy_names(["fifo,estimation?allowance=[1,0.5],replay?starts={a: 1, b: 2}"]) == [
        "fifo",
        "estimation?allowance=[1,0.5]",
        "replay?starts={a: 1, b: 2}",
    ]


def test_every_world_has_policies_to_compare_where_none_is_named() -> None:
    """Which live there."""
    assert set(DEFAULTS) == set(WORLDS)
    assert all(world in worlds_of(name) for world, names in DEFAULTS.items() for name in policy_names([names]))


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_a_terminal_breaks_no_name_and_no_number(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`small-first-` and `backfill`, never `small-first-back` and `fill`; what has no room stands in a second table."""
    monkeypatch.setenv("COLUMNS", str(columns))
    asked = ["fcfs", "dress", "small-first-backfill", "dress?theta=0.2", "easy", "first-fit"]
    lines = simulate("gen:dress?jobs=4", "-p", ",".join(asked)).splitlines()
    assert max(map(len, lines)) <= columns
    heads, rows = ([cut(line) for line in lines if line[:1] == bar] for bar in "┃│")
    pieces = {piece for row in heads for piece in row[1:] if piece}
    assert pieces <= {*asked, "small-first-", "backfill", "dress?", "theta=0.2"}
    labels = " ".join(row[0] for row in rows)
    assert all(word in labels.split() for word in ("completion,", "efficiency", "requested,", "finished", "slowdown"))
    cells = [cell for row in rows for cell in row[1:]]
    assert not any(cell.startswith((",", ".")) or cell.endswith((",", ".")) for cell in cells)


def test_times_have_all_of_their_digits_where_there_is_room() -> None:
    """Three digits that count are for a terminal; the wide table and the page of a report have room."""
    narrow, wide = (simulate("gen:haste", "-p", "fifo", "-o", form) for form in ("table", "wide"))
    line = next(each for each in wide.splitlines() if "completion, s" in each)
    assert all("." in time for time in cut(line)[1].split(" / "))
    assert cut(line)[1] not in narrow


def test_table_names_policies_and_models() -> None:
    """What was modelled stands below the table."""
    shown = simulate("gen:haste", "-p", "fifo")
    assert "fifo" in shown
    assert "makespan, s" in shown
    assert "made up, not measured: everything: the evaluation of paper 001" in shown


def test_list_shows_policies_and_generators() -> None:
    """Nobody has to guess a name."""
    shown = simulate("--list")
    assert "first-fit" in shown
    assert "gen:dress" in shown


def test_report_is_written_where_asked(tmp_path: Path) -> None:
    """One page."""
    simulate("gen:haste", "-p", "fifo", "--report", str(tmp_path / "out"), "-o", "json")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]


def test_trace_file_with_skipped_lines_is_told(tmp_path: Path) -> None:
    """--skip-bad counts and reports."""
    path = tmp_path / "log.tsv"
    path.write_text("job0\t0\t0\t1\t2\t3\nbroken\n")
    (row,) = json.loads(simulate(str(path), "--cluster", "2x4c8Gi", "-p", "fifo", "--skip-bad", "-o", "json"))
    assert row["skipped"] == 1
    assert "log.tsv, line 2" in row["notes"][0]


def test_same_seed_same_bytes_whatever_the_hash_seed() -> None:
    """Output does not depend on the order of sets or dictionaries."""
    command = [
        sys.executable,
        "-c",
        "from slackwater_cli.main import run; run()",
        "simulate",
        "gen:haste?case=c",
        "-p",
        "fifo",
    ]
    shown = [
        subprocess.run(
            [*command, "-o", "json"],
            capture_output=True,
            timeout=60,
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("gen:haste", "-p", "tetris"), "'tetris' is not known", id="policy"),
        pytest.param(("gen:haste", "-p", "fifo", "--cluster", "many"), "cluster", id="cluster"),
        pytest.param(("gen:haste", "-p", "fifo", "--world", "mars"), "mars", id="world"),
        pytest.param(("gen:haste", "-p", "fifo", "--set", "heartbeat"), "name=value", id="setting"),
        pytest.param(("gen:haste", "-p", ","), "name at least one", id="no-policy"),
        pytest.param(("gen:haste", "-p", "fifo,fifo"), "--policy: fifo is there twice", id="policy-twice"),
        pytest.param(("gen:hour?apps=-3",), "whole number from 0", id="negative-count"),
        pytest.param(("gen:hour?seed=-3",), "whole number from 0", id="negative-seed"),
        pytest.param((f"gen:hour?apps={'9' * 4400}",), "is not a whole number", id="digits"),
        pytest.param(("gen:haste", "-p", "fifo", "--forecasts"), "only slackwater forecasts", id="no-forecasts"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[str, ...], said: str) -> None:
    """Each refusal says what to write."""
    with pytest.raises(InvalidInput, match=said):
        CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=False)


def test_forecasts_of_starts_are_judged() -> None:
    """In a sentence for people, in fields for programs."""
    words = ["simulate", "gen:haste?case=a", "-p", "slackwater,fair", "--forecasts"]
    shown = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    assert "no start was forecast" in shown or "starts lay inside their interval" in shown
    assert "fair: no start" not in shown
    row, plain = json.loads(CliRunner().invoke(app, [*words, "-o", "json"], catch_exceptions=False).stdout)
    assert row["start_forecast_known"] + row["start_forecast_unknown"] >= 0
    assert (row["start_forecast_inside"] is None) is (row["start_forecast_known"] == 0)
    assert not any(name.startswith("start_forecast") for name in plain)


def test_settings_go_to_all_policies_or_to_one() -> None:
    """Values are read as YAML; dashes may stand for underscores."""
    made = parse_settings(["node-heartbeat=0.1", "b.queues=[x, y]", "b.drf=true"], ["a", "b"])
    assert made == {"a": {"node_heartbeat": 0.1}, "b": {"node_heartbeat": 0.1, "queues": ["x", "y"], "drf": True}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("c.x=1", "use one of: a, b", id="policy-not-played"),
        pytest.param("seed=1", "--seed", id="reserved"),
        pytest.param("1x=1", "is not a setting", id="no-name"),
        pytest.param("x=[", "cannot be read", id="no-yaml"),
        pytest.param(f"x={'9' * 4400}", "cannot be read", id="digits"),
        pytest.param(f"x={'[' * 1000}", "cannot be read", id="brackets"),
        pytest.param("x=!!bool maybe", "cannot be read", id="tag"),
    ],
)
def test_bad_settings_are_refused(text: str, said: str) -> None:
    """Each refusal says what to write."""
    with pytest.raises(InvalidInput, match=said):
        parse_settings([text], ["a", "b"])
