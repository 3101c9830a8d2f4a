"""The simulator as a library: one call, results as data frames, policies of one's own."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slackwater_simulator as sim
from slackwater.errors import InvalidInput
from slackwater_simulator.workload.workload import Job, Workload

HEADER = '{"format": "slackwater-trace", "version": 1}'
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_a_run_gives_a_row_per_policy_and_seed() -> None:
    """The names of the columns are those of `simulate -o json`."""
    found = sim.run("gen:haste", policies=["fifo", "fair"], seeds=[0, 1]).to_pandas()
    assert list(found["policy"]) == ["fifo", "fair", "fifo", "fair"]
    assert list(found["seed"]) == [0, 0, 1, 1]
    assert (found["makespan_s"] > 0).all()


def test_jobs_and_containers_are_frames() -> None:
    """Every job of every policy; a container belongs to a job and ran on a node."""
    results = sim.run("gen:haste", policies=["fifo"])
    jobs, containers = results.jobs(), results.containers()
    assert set(jobs["status"]) == {"finished"}
    assert set(containers["job"]) == set(jobs["job"])
    assert (containers["end"] >= containers["start"]).all()


def test_the_tab_key_offers_the_front_of_the_library() -> None:
    """A notebook completes `sim.` by what dir() says, also of names that are loaded when first asked for."""
    assert {"Results", "list_policies", "load", "parse", "run"} <= set(dir(sim))
    assert "Any" not in dir(sim)


def test_a_notebook_shows_a_table() -> None:
    """Jupyter asks for HTML."""
    assert "<table" in sim.run("gen:haste", policies=["fifo"])._repr_html_()


def test_a_report_is_a_page(tmp_path: Path) -> None:
    """The same page as on the command line."""
    assert sim.run("gen:haste", policies=["fifo"]).report(tmp_path / "out").is_file()


def test_progress_names_the_policy() -> None:
    """Long runs can be watched."""
    seen: list[tuple[str, float]] = []
    sim.run("gen:haste", policies=["fifo"], progress=lambda policy, share: seen.append((policy, share)))
    assert seen
    assert {policy for policy, _ in seen} == {"fifo"}


def test_a_policy_of_ones_own_is_named_by_module_and_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation, beside ours."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = sim.run("gen:haste", policies=["fifo", "shortest_first:ShortestFirst"]).to_pandas()
    assert list(found["finished"]) == [found["finished"][0]] * 2
    sys.modules.pop("shortest_first", None)


@pytest.mark.parametrize("name", ["nowhere:Nothing", "slackwater_simulator.engine:Nothing"])
def test_a_policy_that_cannot_be_loaded_is_refused(name: str) -> None:
    """The sentence names what was written."""
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        sim.run("gen:haste", policies=[name])


def test_policies_without_a_common_world_are_refused() -> None:
    """Outcomes of different worlds cannot be compared."""
    with pytest.raises(InvalidInput, match="no world in common"):
        sim.run("gen:haste", policies=["kube", "easy"])


def test_a_world_is_found_where_all_policies_live() -> None:
    """A plain batch log suits the ideal world, where Slackwater does not live."""
    found = sim.run("gen:dress?case=figure1", policies=["slackwater"]).to_pandas()
    assert list(found["unfinished"]) == [0]


def test_a_log_without_memory_waits_for_cores(tmp_path: Path) -> None:
    """YARN's default calculators look at memory alone: it is modelled from cores, and the result says so."""
    log = tmp_path / "log.swf"
    log.write_text("".join(f"{job} 0 -1 100 2 -1 -1 2 100 -1 1 1 1 -1 1 1 -1 -1\n" for job in (1, 2)))
    results = sim.run(log, "1x2", policies=["fifo", "capacity", "fair"], world="ideal")
    assert list(results.to_pandas()["makespan_s"]) == [200.0] * 3  # four cores' work on two
    assert "memory" in {field for field, _ in results.outcomes[0].workload.modelled}


@pytest.mark.parametrize(
    "name", ["os:path", "json:dumps", ":", "json:JSONDecoder", "replay", "replay?starts=5", "replay?starts={a: soon}"]
)
def test_what_is_no_policy_is_refused_in_a_sentence(name: str) -> None:
    """A module, a function, a class of something else, or a script that is none."""
    with pytest.raises(InvalidInput, match=r"policy|starts"):
        sim.run("gen:dress", policies=[name])


def test_a_policy_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line does not put it on the path by itself."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_here.py").write_text((EXAMPLES / "shortest_first.py").read_text())
    assert sim.run("gen:haste", policies="mine_here:ShortestFirst").to_pandas()["finished"][0] > 0
    sys.modules.pop("mine_here", None)


def test_one_policy_and_a_number_of_seeds_need_no_list() -> None:
    """As in a sweep's file, 2 are the seeds 0 and 1; none at all is refused."""
    assert list(sim.run("gen:haste", policies="fifo", seeds=2).to_pandas()["seed"]) == [0, 1]
    with pytest.raises(InvalidInput, match="seeds"):
        sim.run("gen:haste", policies="fifo", seeds=[])
    with pytest.raises(InvalidInput, match="seeds"):
        sim.run("gen:haste", policies="fifo", seeds=0)
    with pytest.raises(InvalidInput, match="seeds: 1 is there twice"):
        sim.run("gen:haste", policies="fifo", seeds=[1, 0, 1])


@pytest.mark.parametrize(
    "seeds", [[-1], -1, 1.5, [1.5], ["1"], "12", True, [True], None, [None]], ids=[f"{number}" for number in range(10)]
)
def test_seeds_are_whole_numbers_from_0_on(seeds: Any) -> None:
    """Others are refused in a sentence before anything is played."""
    with pytest.raises(InvalidInput, match="seeds: "):
        sim.run("gen:haste", policies="fifo", seeds=seeds)


@pytest.mark.parametrize("seeds", [np.int64(2), np.arange(2), range(2), iter((0, 1))])
def test_seeds_may_be_numbers_of_any_library(seeds: Any) -> None:
    """What can be an index is a whole number; the outcome has Python's own."""
    found = [outcome.seed for outcome in sim.run("gen:haste", policies="fifo", seeds=seeds).outcomes]
    assert [(type(seed), seed) for seed in found] == [(int, 0), (int, 1)]


@pytest.mark.parametrize(("name", "argument"), [("seed", "seeds"), ("policy", "policies")])
def test_what_simulate_calls_otherwise_is_refused_with_its_name_here(name: str, argument: str) -> None:
    """`--seed` and `--policy` are `seeds` and `policies` of the library."""
    asked: dict[str, Any] = {name: 1}
    with pytest.raises(InvalidInput, match=f"{name}: .*write {argument}="):
        sim.run("gen:haste", **asked)


def test_files_may_be_given_as_paths(tmp_path: Path) -> None:
    """To load and parse as to run."""
    trace, nodes = tmp_path / "log.swf", tmp_path / "nodes.yaml"
    trace.write_text("1 0 -1 100 2 -1 -1 2 100 -1 1 1 1 -1 1 1 -1 -1\n")
    nodes.write_text("nodes: [{count: 2, cpu: 4}]\n")
    assert len(sim.load(trace).jobs) == 1
    assert len(sim.parse(nodes)) == 2
    assert len(sim.run(trace, nodes, "fcfs").outcomes) == 1


def test_a_policy_may_be_the_class_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called as it would be written; anything else than names and classes is refused."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    own = import_module("shortest_first").ShortestFirst
    assert [outcome.policy for outcome in sim.run("gen:haste", policies=own).outcomes] == [
        "shortest_first:ShortestFirst"
    ]
    assert len(sim.run("gen:haste", policies=["fifo", own]).outcomes) == 2
    sys.modules.pop("shortest_first", None)
    odd: Any
    for odd in (5, [5], [own()]):
        with pytest.raises(InvalidInput, match=r"policies: .* no policy; name it"):
            sim.run("gen:haste", policies=odd)


def test_a_policy_that_stands_there_twice_is_refused() -> None:
    """As in a sweep: it would count twice in every mean."""
    with pytest.raises(InvalidInput, match="policies: fifo is there twice"):
        sim.run("gen:haste", policies=["fifo", "fair", "fifo"])


def test_frames_hold_core_hours_and_the_lower_bound() -> None:
    """As `simulate -o json` prints them."""
    found = sim.run("gen:hour?apps=3", policies="kube").to_pandas()
    assert found["core_hours"][0]["busy"] > 0
    assert 0 < found["lower_bound_s"][0] <= found["makespan_s"][0]


@pytest.mark.filterwarnings("error")
def test_a_job_without_tasks_is_played_without_a_warning() -> None:
    """It ends when it is submitted, and has no wait."""
    found = sim.run(Workload("w", (Job("empty", 0.0, ()),)), "1x4", "fifo").to_pandas()
    assert found["finished"][0] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "job0\t0\t0\t1e18\t1e6\t1e6\n"),
        (
            "a.jsonl",
            f"{HEADER}\n" + '{"id": "a", "submit": 0, "stages": [{"name": "m", "request": [1, 1], "durations": MANY}]}',
        ),
    ],
)
def test_absurd_numbers_of_tasks_are_refused_by_line(tmp_path: Path, name: str, text: str) -> None:
    """They would take all memory."""
    (tmp_path / name).write_text(text.replace("MANY", '{"value": 1, "count": 10000000000000}'))
    with pytest.raises(InvalidInput, match=rf"{name}, line"):
        sim.load(str(tmp_path / name))
