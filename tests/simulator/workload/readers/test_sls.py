"""SLS inputs, plain and SYNTH."""

from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.workload import MEBI

SAMPLES = Path(__file__).parents[2] / "samples"


def test_tasks_of_one_kind_and_size_form_a_stage() -> None:
    """Strings are numbers; missing sizes are SLS's own 1 GB and 1 core; counts repeat a task."""
    job = open_workload(SAMPLES / "sls.json").jobs[2]
    assert (job.id, job.submit, job.queue, job.user) == ("first", 0.5, "a", "u1")
    assert job.driver is not None
    assert job.driver.request == (2.0, 2048 * MEBI)
    maps, reduces = job.stages
    assert (maps.durations.tolist(), maps.request) == ([10.8, 2.0], (1.0, 1024 * MEBI))
    assert (reduces.durations.tolist(), reduces.request) == ([7.0, 7.0], (1.0, 3072 * MEBI))


def test_reduces_wait_for_all_maps() -> None:
    """SLS asks for reduces only when the last map is done."""
    reduces = open_workload(SAMPLES / "sls.json").jobs[2].stages[1]
    assert (reduces.parents, reduces.start_after) == (("map",), 1.0)


def test_host_names_the_node_without_its_rack() -> None:
    """`/rack1/node7` prefers node7; a task without host goes anywhere."""
    assert open_workload(SAMPLES / "sls.json").jobs[2].stages[0].hosts == (("node7",), ())


def test_request_delay_and_job_count_are_kept() -> None:
    """A DAG job's tasks ask after their own delay; job.count repeats the job."""
    jobs = open_workload(SAMPLES / "sls.json").jobs
    assert [job.id for job in jobs[:2]] == ["second_1", "second_2"]
    assert [(stage.name, stage.delay) for stage in jobs[0].stages] == [("map", 1.5), ("map-2", 0.0)]


def test_synth_classes_are_drawn_with_the_seed_and_marked() -> None:
    """Both spellings of classes give jobs; the same seed gives the same ones."""
    one, two, other = (open_workload(SAMPLES / "synth.json", seed=seed) for seed in (0, 0, 1))
    assert len(one.jobs) == 40
    assert {job.queue for job in one.jobs} == {"q1", "q2"}
    assert [job.submit for job in one.jobs] == [job.submit for job in two.jobs]
    assert [job.submit for job in one.jobs] != [job.submit for job in other.jobs]
    assert one.modelled == (("jobs", "SYNTH classes (rand_seed 7, seed 0)"),)


def test_synth_numbers_follow_their_means() -> None:
    """Maps of the flat class: 5 ± 1 tasks of about 10 s, submitted between 1 s and 60 s."""
    jobs = [job for job in open_workload(SAMPLES / "synth.json").jobs if job.queue == "q1"]
    assert all(1 <= job.submit <= 60 for job in jobs)
    maps = [job.stages[0] for job in jobs]
    assert sum(stage.tasks for stage in maps) / len(maps) == pytest.approx(5, abs=1)
    assert sum(stage.durations.mean() for stage in maps) / len(maps) == pytest.approx(10, rel=0.15)


def test_task_without_times_is_refused(tmp_path: Path) -> None:
    """The error names the file, the line of the job and the fields that were expected."""
    path = tmp_path / "jobs.json"
    path.write_text('{\n "job.start.ms": 0, "job.tasks": [{"container.type": "map"}]\n}\n')
    with pytest.raises(InvalidInput, match=r"jobs.json, line 1: .*container.end.ms.*expected an SLS job"):
        open_workload(path)


def test_task_that_ends_before_it_starts_is_refused(tmp_path: Path) -> None:
    """A negative duration is not a duration."""
    path = tmp_path / "jobs.json"
    path.write_text('{"job.start.ms": 0, "job.tasks": [{"container.start.ms": 5, "container.end.ms": 1}]}')
    with pytest.raises(InvalidInput, match="ends 4 ms before it starts"):
        open_workload(path)


@pytest.mark.parametrize(
    ("name", "jobs", "tasks"),
    [("inputsls", 2, 5), ("sls_dag", 2, 5), ("syn", 10, None)],
)
def test_examples_of_hadoop(traces: Path, name: str, jobs: int, tasks: int | None) -> None:
    """The examples shipped with the load simulator can be read."""
    workload = open_workload(traces / "hadoop-rumen" / f"{name}.json")
    assert len(workload.jobs) == jobs
    assert tasks is None or sum(job.tasks for job in workload.jobs) == tasks


@pytest.mark.parametrize("name", ["nodes.json", "nodes-with-resources.json", "19-jobs.topology.json.gz"])
def test_description_of_machines_is_told_apart(traces: Path, name: str) -> None:
    """Giving the node file instead of the workload is a common slip."""
    with pytest.raises(InvalidInput, match="machines, not jobs"):
        open_workload(traces / "hadoop-rumen" / name)
