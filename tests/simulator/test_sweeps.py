"""Grids become cells, cells become rows, rows become means over seeds."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.reports.rows import METRICS
from slackwater_simulator.sweeps import cells, play_all, read, summarise

TEXT = """
workload: gen:haste?case=a&shuffle={shuffle}
cluster: 8x8c8Gi
policy: [fifo]
seeds: 2
set: {attempts: 3}
grid:
  shuffle: [5, 30]
  usage_period: [1.0]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    return path


def test_grid_fills_braces_and_passes_the_rest_as_settings(tmp_path: Path) -> None:
    """2 shuffles × 1 period × 1 policy × 2 seeds."""
    made = cells(read(written(tmp_path, TEXT)))
    assert len(made) == 4
    assert [cell.workload for cell in made[::2]] == ["gen:haste?case=a&shuffle=5", "gen:haste?case=a&shuffle=30"]
    assert made[0].settings == (("attempts", 3), ("usage_period", 1.0))
    assert [cell.seed for cell in made] == [0, 1, 0, 1]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_rows_come_in_order_and_do_not_depend_on_the_backend(tmp_path: Path, backend: str) -> None:
    """Each row begins with its place in the grid."""
    made = cells(read(written(tmp_path, TEXT)))
    rows = list(play_all(made, jobs=2, backend=backend))
    assert [(row["shuffle"], row["seed"]) for row in rows] == [(5, 0), (5, 1), (30, 0), (30, 1)]
    assert [row["makespan_s"] for row in rows] == [row["makespan_s"] for row in play_all(made, jobs=1)]


def test_what_a_run_in_another_process_refuses_is_said_as_here(tmp_path: Path) -> None:
    """A setting that only the run can judge: its error is ours, not that of a broken pool."""
    made = cells(read(written(tmp_path, TEXT.replace("attempts: 3", "attempts: none"))))
    with pytest.raises(InvalidInput) as here:
        list(play_all(made, jobs=1))
    with pytest.raises(InvalidInput) as there:
        list(play_all(made, jobs=2))
    assert str(there.value) == str(here.value)


def test_a_grid_name_that_is_also_a_column_keeps_its_values(tmp_path: Path) -> None:
    """The column is the run's own; the place in the grid stands before it as `grid.seed`."""
    text = "workload: gen:haste?case=a&seed={seed}\npolicy: [fifo]\nseeds: [7]\ngrid: {seed: [1, 2]}\n"
    rows = list(play_all(cells(read(written(tmp_path, text))), jobs=1))
    assert [(row["grid.seed"], row["seed"]) for row in rows] == [(1, 7), (2, 7)]


def test_a_policy_may_stand_there_twice_with_other_options(tmp_path: Path) -> None:
    """Each is a line of its own, called as it was written; its own options win over those of every run."""
    text = TEXT.replace("[fifo]", "[fifo, 'fifo?cores=false']").replace("attempts: 3", "cores: true")
    made = cells(read(written(tmp_path, text)))
    rows = list(play_all(made, jobs=1))
    assert [summary.policy for summary in summarise(made, rows, ["makespan_s"])] == ["fifo", "fifo?cores=false"] * 2
    assert [row["policy"] for row in rows[:4:2]] == ["fifo", "fifo?cores=false"]
    assert rows[0]["makespan_s"] != rows[2]["makespan_s"]


def test_every_metric_that_can_be_asked_for_is_a_number_of_a_row(tmp_path: Path) -> None:
    """And every number of a row can be asked for."""
    row = next(iter(play_all(cells(read(written(tmp_path, TEXT)))[:1], jobs=1)))
    labels = {"policy", "world", "workload", "cluster", "seed", "deadlock", "shuffle", "usage_period"}
    counts = {"small_jobs", "large_jobs"}
    assert set(METRICS) == set(row) - labels - counts


def test_summary_is_a_mean_over_seeds(tmp_path: Path) -> None:
    """Seeds are not a dimension of the table."""
    made = cells(read(written(tmp_path, TEXT)))
    rows = [{"makespan_s": value, "deadlock": value > 3} for value in (1.0, 3.0, 4.0, 4.0)]
    short, long = summarise(made, rows, ["makespan_s"])  # type: ignore[arg-type]  # fewer columns than a real row
    assert (short.runs, short.mean["makespan_s"], short.deadlocks) == (2, 2.0, 0)
    assert short.deviation["makespan_s"] == pytest.approx(2**0.5)
    assert (long.mean["makespan_s"], long.deviation["makespan_s"], long.deadlocks) == (4.0, 0.0, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("policy: [fifo]", "sweep.yaml, workload: it is missing; the fields are", id="field-missing"),
        pytest.param(TEXT.replace("[fifo]", "[]"), "policy: it has 0 entries, which are too few", id="no-policy"),
        pytest.param(TEXT + "seeds: -2\n", "seeds: -2 is below 1", id="seeds-below"),
        pytest.param(TEXT + "seeds: [-1]\n", "seeds.0: -1 is below 0", id="seed-below"),
        pytest.param("[]", "the file: a list is not an object", id="no-object"),
        pytest.param("", "the file: it is empty", id="empty"),
        pytest.param(TEXT + "sedes: 3\n", "sedes", id="field-misspelt"),
        pytest.param("a: [", "not YAML", id="not-yaml"),
        pytest.param(TEXT.replace("[fifo]", "[fifo, fifo]"), "policy: fifo is there twice", id="policy-twice"),
        pytest.param(TEXT.replace("[fifo]", "[tetris]"), "'tetris' is not known", id="unknown-policy"),
        pytest.param(TEXT.replace("[fifo]", "['fifo?cores=true&cores=no']"), "cores is there twice", id="option-twice"),
        pytest.param(TEXT.replace("[fifo]", "['fifo?cores']"), "write fifo.option=value", id="option-without-value"),
        pytest.param(TEXT.replace("[fifo]", "['fifo?cores=[']"), "cores.* cannot be read", id="option-not-yaml"),
        pytest.param(TEXT.replace("[fifo]", "['fifo?cores=2026-02-30']"), "cores.* cannot be read", id="option-no-day"),
        pytest.param(TEXT.replace("[fifo]", f"['fifo?a={'9' * 5000}']"), "a: .* cannot be read", id="option-digits"),
        pytest.param(TEXT + "metrics: [speed]\n", "'speed' is not known", id="unknown-metric"),
        pytest.param(TEXT.replace("[fifo]", "fifo"), r"write policy: \[fifo\]", id="one-policy-without-brackets"),
    ],
)
def test_bad_file_is_refused_with_its_field(tmp_path: Path, text: str, said: str) -> None:
    """The error names the file and the field."""
    with pytest.raises(InvalidInput, match=said):
        cells(read(written(tmp_path, text)))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(tmp_path / "absent.yaml")


def test_unknown_backend_is_refused() -> None:
    """With the names that would have been right."""
    with pytest.raises(InvalidInput, match="dask, loky, ray, threading"):
        list(play_all([], backend="slurm"))


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_backend_that_is_not_installed_says_what_to_install(backend: str) -> None:
    """Dask and Ray are the user's choice, not our dependency."""
    if find_spec(backend):
        pytest.skip(f"{backend} is installed here")
    with pytest.raises(ModuleNotFoundError, match=rf"install slackwater\[{backend}\]"):
        list(play_all([], backend=backend))


def test_all_policies_of_a_sweep_are_played_in_one_world(tmp_path: Path) -> None:
    """Outcomes of different worlds cannot be compared: a common one is chosen, or the file is refused."""
    text = "workload: gen:hour?apps=3\npolicy: [kube, slackwater]\n"
    assert {row["world"] for row in play_all(cells(read(written(tmp_path, text))), jobs=1)} == {"kubernetes"}
    with pytest.raises(InvalidInput, match="no world in common"):
        list(play_all(cells(read(written(tmp_path, text.replace("slackwater", "fifo")))), jobs=1))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seeds: 0", "seeds"),
        ("seeds: []", "seeds"),
        ("seeds: [-1]", "seeds"),
        ("seeds: [0, 1, 0]", "seeds: 0 is there twice"),
        ("grid: {attempts: [3, 4, 3]}", "grid, attempts: 3 is there twice"),
        ("grid: {cores: []}", "grid.cores"),
        ("grid: {seed: [1, 2]}", "sweep, seed: .*as {seed} in workload or cluster"),
        ("grid: {policy: [kube]}", "sweep, policy"),
        ("set: {world: yarn}", "sweep, world: .*field of the file$"),
        ("set: {seed: 3}", "sweep, seed: .*write seeds as a field of the file$"),
        ("set: {progress: 3}", "sweep, progress: .*leave it out$"),
    ],
)
def test_a_file_that_cannot_be_played_is_refused_by_its_field(tmp_path: Path, line: str, said: str) -> None:
    """In a sentence, before anything is played."""
    with pytest.raises(InvalidInput, match=said):
        cells(read(written(tmp_path, f"workload: gen:haste\npolicy: [fifo]\n{line}\n")))


def test_no_processes_play_nothing(tmp_path: Path) -> None:
    """-1 is for all cores."""
    with pytest.raises(InvalidInput, match="jobs"):
        list(play_all(cells(read(written(tmp_path, TEXT))), jobs=0))
