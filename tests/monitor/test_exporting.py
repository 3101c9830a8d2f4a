"""A past as a workload, and that workload under other policies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slackwater.errors import InvalidInput, UnknownName
from slackwater_monitor.export import Happened, export, write
from slackwater_monitor.whatif import compare, observed, opened, paced
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.readers import parquet
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Workload
from support.builders.assessed import Week
from support.builders.weeks import DAY, END


def test_every_app_of_the_week_becomes_a_job(served_week: Week) -> None:
    """A driver and its executors, as long as they ran, as large as they asked; services are no jobs."""
    made = export(served_week.found, "week")
    assert len(made.workload.jobs) == 14
    raw = {each.pod: each for each in served_week.raw}
    for number, job in enumerate(sorted(made.workload.jobs, key=lambda job: job.submit)):
        begin = raw[f"etl-{number}-driver"]
        assert job.submit == begin.created - (END - 7 * DAY)
        assert job.driver is not None
        assert job.driver.request == pytest.approx((1.0, 2 * GIBI))
        lives = sorted(raw[f"etl-{number}-exec-{n}"].end - raw[f"etl-{number}-exec-{n}"].start for n in range(3))
        tasks = np.concatenate([stage.durations for stage in job.stages if stage.name != "closing"])
        assert sorted(tasks.tolist()) == pytest.approx(lives)


def test_use_is_exported_as_a_fraction_of_the_request(served_week: Week) -> None:
    """Mean CPU and peak memory, from the raw samples."""
    job = min(export(served_week.found, "week").workload.jobs, key=lambda job: job.submit)
    levels = sorted(float(level) for stage in job.stages if stage.usage is not None for level in stage.usage.memory)
    raw = [each for each in served_week.raw if each.pod.startswith("etl-0-exec")]
    assert levels == pytest.approx(sorted(each.bytes.max() / each.memory for each in raw), rel=1e-5)


def test_services_are_taken_off_their_nodes(served_week: Week) -> None:
    """Each node hosts one web pod of 2 cores and 4 GiB all week."""
    made = export(served_week.found, "week")
    assert made.nodes["n1"] == pytest.approx((14.0, 60 * GIBI), rel=1e-3)
    assert any("services" in note for note in made.workload.notes)


def test_services_of_other_namespaces_stay_on_the_nodes(served_week: Week) -> None:
    """Only jobs are chosen by namespace: what others reserve is not free for them."""
    whole, batch = export(served_week.found, "week"), export(served_week.found, "week", ["batch"])
    assert batch.nodes == whole.nodes
    assert [job.id for job in batch.workload.jobs] == [job.id for job in whole.workload.jobs]
    with pytest.raises(InvalidInput, match="no pod began"):
        export(served_week.found, "week", ["shop"])
    with pytest.raises(InvalidInput, match="no pod of shpo"):
        export(served_week.found, "week", ["shpo"])


@pytest.mark.parametrize("name", ["week.jsonl.gz", "week.jsonl", "week.parquet"])
def test_what_happened_is_kept_beside_the_trace(served_week: Week, tmp_path: Path, name: str) -> None:
    """Three files, which what-if finds again."""
    made = export(served_week.found, "week")
    paths = write(made, tmp_path / name)
    assert {path.name for path in paths.values()} == {name, "week.nodes.yaml", "week.happened.json"}
    workload, cluster, happened = opened(tmp_path / name, None)
    assert [job.id for job in workload.jobs] == [job.id for job in made.workload.jobs]
    assert len(cluster) == 3
    assert happened == list(made.happened)
    assert open_workload(tmp_path / name).jobs[0].user in ("ann", "bob")


def test_other_endings_are_refused(served_week: Week, tmp_path: Path) -> None:
    """The format is told by the name."""
    with pytest.raises(InvalidInput, match=r"week\.csv"):
        write(export(served_week.found, "week"), tmp_path / "week.csv")


def workload() -> Workload:
    """Four jobs of two tasks of ten seconds on a cluster that holds two of them."""
    stage = Stage("tasks", (1.0, GIBI), np.full(2, 10.0))
    jobs = tuple(Job(f"j{number}", 0.0, (stage,), Driver((0.5, GIBI))) for number in range(4))
    return Workload("four", jobs)


def test_policies_are_compared_and_the_replay_is_judged() -> None:
    """The policy in force comes first; its error is against what was observed."""
    happened = [Happened(f"j{number}", 0.0, 1.0, 20.0) for number in range(4)]
    found = compare(workload(), uniform(1, 5.0, 16 * GIBI), ["fair"], happened=happened, was="stock")
    assert list(found.policies) == ["kube", "fair"]
    assert found.was == "kube"
    assert found.errors["makespan"] == pytest.approx((found.policies["kube"].makespan - 20) / 20)
    assert found.jsonable()["replay_error"] == found.errors


def test_without_a_record_nothing_is_judged() -> None:
    """And only what was asked for is played."""
    found = compare(workload(), uniform(1, 5.0, 16 * GIBI), ["fair"])
    assert found.errors == {}
    assert list(found.policies) == ["fair"]


def test_an_unknown_policy_is_named_with_those_that_exist() -> None:
    """Before anything is played."""
    with pytest.raises(UnknownName, match="slackwater"):
        compare(workload(), uniform(1, 5.0, 16 * GIBI), ["nonesuch"])


def test_what_happened_is_summed_over_jobs() -> None:
    """First submission to last end, and means."""
    found = observed([Happened("a", 0.0, 2.0, 10.0), Happened("b", 5.0, 9.0, 25.0)])
    assert (found.makespan, found.completion, found.wait) == (25.0, 15.0, 3.0)


def test_a_trace_without_nodes_needs_a_cluster(tmp_path: Path) -> None:
    """The option is named."""
    parquet.write(workload(), tmp_path / "four.parquet")
    with pytest.raises(InvalidInput, match="--cluster"):
        opened(tmp_path / "four.parquet", None)


def test_pods_of_a_replay_take_as_long_to_start_as_they_did() -> None:
    """The mean over jobs of which it is known; nothing is known of old exports."""
    seen = [Happened("a", 0.0, 1.0, 9.0, 4.0), Happened("b", 0.0, 1.0, 9.0, 2.0), Happened("c", 0.0, 1.0, 9.0)]
    assert paced(seen) == {"startup": 3.0}
    assert paced(seen[2:]) == {}
    slow = [Happened(f"j{number}", 0.0, 31.0, 50.0, 30.0) for number in range(4)]
    machines = uniform(1, 5.0, 16 * GIBI)
    replay = {
        name: compare(workload(), machines, ["kube"], happened=found) for name, found in (("slow", slow), ("", []))
    }
    assert replay["slow"].policies["kube"].makespan > replay[""].policies["kube"].makespan + 25
