"""`slackwater sweep` from the outside."""

import csv
import io
import json
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner

from slackwater_cli.main import app


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Two workloads, one policy, two seeds."""
    path = tmp_path / "sweep.yaml"
    path.write_text("workload: gen:haste?case={case}\npolicy: [fifo]\nseeds: [3, 4]\ngrid:\n  case: [a, b]\n")
    return str(path)


def sweep(*arguments: str) -> str:
    """Standard output of a sweep that must succeed."""
    result = CliRunner().invoke(app, ["sweep", "--backend", "threading", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return str(result.stdout)


def test_table_shows_means_over_seeds(file: str) -> None:
    """One line per point and policy; case a has no randomness."""
    shown = sweep(file)
    assert "mean ± standard deviation over 2 seeds" in shown
    assert "makespan, s" in shown
    assert "± 0 " in shown


def test_the_file_may_name_the_columns(tmp_path: Path) -> None:
    """And the policies with options of their own."""
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "workload: gen:haste?case=a\npolicy: [fifo, 'fifo?cores=true']\nmetrics: [p95_completion_s, failures]\n"
    )
    shown = sweep(str(path))
    assert "p95 completion, s" in shown
    assert "failures" in shown
    assert "failures, s" not in shown
    assert "seconds" not in shown  # each head has its unit
    assert "makespan" not in shown
    assert "fifo?cores=true" in shown


def test_no_number_is_cut_off_however_narrow_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight columns do not fit into forty characters; the lines are longer then."""
    monkeypatch.setenv("COLUMNS", "40")
    names = ["makespan_s", "mean_wait_s", "p95_wait_s", "mean_completion_s", "p95_completion_s", "failures"]
    path = tmp_path / "sweep.yaml"
    path.write_text(f"workload: gen:haste?case=a\npolicy: [fifo]\nseeds: 2\nmetrics: [{', '.join(names)}]\n")
    shown = sweep(str(path))
    assert "…" not in shown
    assert shown.count("±") >= len(names)


def test_json_and_csv_hold_every_run(file: str) -> None:
    """Two points × two seeds, all metrics."""
    rows = json.loads(sweep(file, "-o", "json"))
    table = list(csv.DictReader(io.StringIO(sweep(file, "-o", "csv"))))
    assert [(row["case"], row["seed"]) for row in rows] == [("a", 3), ("a", 4), ("b", 3), ("b", 4)]
    assert [float(row["makespan_s"]) for row in table] == [row["makespan_s"] for row in rows]


def test_one_seed_is_told_in_the_singular(tmp_path: Path) -> None:
    """Without a letter in brackets."""
    path = tmp_path / "one.yaml"
    path.write_text("workload: gen:haste?case=a\npolicy: [fifo]\nseeds: [3]\n")
    assert "over 1 seed " in sweep(str(path)).replace("\n", " ")


@pytest.mark.parametrize("columns", ["", "metrics: [makespan_s]\n"])
def test_jobs_that_did_not_finish_have_a_column(tmp_path: Path, columns: str) -> None:
    """They drop out of every time, so the cluster that refuses the longest job would look like the best one."""
    driver = '"driver": {"request": [1, 1073741824], "startup": 2}'
    stage = '"stages": [{"name": "m", "request": [CORES, 1073741824], "durations": {"value": 10, "count": 4}}]'
    jobs = [f'{{"id": "{cores}", "submit": 0, {driver}, {stage.replace("CORES", cores)}}}' for cores in ("1", "9")]
    trace = tmp_path / "jobs.jsonl"
    trace.write_text("\n".join(['{"format": "slackwater-trace", "version": 1}', *jobs]))
    path = tmp_path / "sweep.yaml"
    path.write_text(f"workload: {trace}\ncluster: '{{size}}'\npolicy: [fair]\n{columns}grid: {{size: [2x4, 2x10]}}\n")
    head, small, large = sweep(str(path)).splitlines()[1:]
    assert head.split()[-2:] == ["unfinished", "refused"]
    assert [float(number) for number in small.split()[-2:]] == [1, 1]
    assert [float(number) for number in large.split()[-2:]] == [0, 0]


def test_what_a_thread_of_another_test_logs_is_not_in_what_a_command_prints() -> None:
    """Programs log to stderr, and so do our tests: once a line of a forgotten thread stood before the JSON."""
    with CliRunner().isolation() as (out, _, _):
        structlog.get_logger().error("late news")
        assert out.getvalue() == b""
