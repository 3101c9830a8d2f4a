"""Rumen traces keep durations, sizes, data locations and measured use."""

import json
from pathlib import Path

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.workload import MEBI

SAMPLE = Path(__file__).parents[2] / "samples" / "rumen.json"


def test_jobs_count_from_the_first_submission() -> None:
    """The second object was submitted 5 s before the first."""
    jobs = open_workload(SAMPLE).jobs
    assert [(job.id, job.submit) for job in jobs] == [("job_2", 0.0), ("job_1", 5.0)]
    assert (jobs[1].user, jobs[1].queue, jobs[1].name) == ("ann", "etl", "sort")


def test_durations_are_those_of_the_successful_attempt() -> None:
    """A failed first try does not count; a reduce counts from the end of its shuffle."""
    maps, reduces = open_workload(SAMPLE).jobs[1].stages
    assert maps.durations.tolist() == [20.0, 10.0]
    assert reduces.durations.tolist() == [15.0]
    assert reduces.shuffle == 5.0  # 25 s in all, of which 20 s were waiting for the last map
    assert reduces.parents == ("map",)


def test_measured_use_becomes_levels_and_a_course() -> None:
    """10 CPU seconds in 20 s are half a core; the peak of 512 MiB is half of the gigabyte asked for."""
    usage = open_workload(SAMPLE).jobs[1].stages[0].usage
    assert usage is not None
    assert usage.cpu.tolist() == [0.5, 1.0]
    assert usage.memory.tolist() == [0.5, 0.5]
    assert usage.at == (0.25, 0.75)
    assert usage.memory_shape == (0.75, 1.0)
    assert np.allclose(usage.cpu_shape, (0.7, 1.3))


def test_sizes_and_places() -> None:
    """Container sizes win over the heap; backslashes in host names go."""
    maps, reduces = open_workload(SAMPLE).jobs[1].stages
    assert (maps.request[1], reduces.request[1]) == (1024 * MEBI, 2048 * MEBI)
    assert maps.hosts == (("node1.example",), ())
    assert open_workload(SAMPLE).jobs[0].stages[0].request[1] == 512 * MEBI


def test_task_without_any_attempt_is_modelled_and_said_so() -> None:
    """Its duration must come from somewhere, and the report says from where."""
    workload = open_workload(SAMPLE)
    assert workload.jobs[0].stages[0].durations[0] > 0
    assert ("durations of 1 task without a finished attempt", "rumen-19-jobs (seed 0)") in workload.modelled


def test_broken_object_is_named_by_its_line_and_the_next_one_found(tmp_path: Path) -> None:
    """After a broken object reading goes on at the next brace in the first column."""
    path = tmp_path / "jobs.json"
    good = SAMPLE.read_text()
    path.write_text('{\n  "jobID" : "x", "mapTasks" : [ { ]\n}\n' + good)
    with pytest.raises(InvalidInput, match=r"jobs.json, line 2"):
        open_workload(path)
    workload = open_workload(path, skip_bad=True)
    assert (len(workload.jobs), workload.skipped) == (2, 1)


def test_job_without_submission_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    """Valid JSON that is no Rumen job is a broken job."""
    path = tmp_path / "jobs.json"
    path.write_text('{\n"jobID": "x", "mapTasks": []\n}\n')
    with pytest.raises(InvalidInput, match=r"line 1: .*submitTime.*expected a Rumen job"):
        open_workload(path)


def test_real_traces(traces: Path) -> None:
    """19 production jobs with data locations, and 2 jobs with measured use."""
    big = open_workload(traces / "hadoop-rumen" / "19-jobs.trace.json.gz")
    small = open_workload(traces / "hadoop-rumen" / "2jobs2min-rumen-jh.json.gz")
    assert len(big.jobs) == 19
    assert sum(stage.tasks for job in big.jobs for stage in job.stages if stage.hosts) > 7000
    assert [job.tasks for job in small.jobs] == [96, 96]
    assert all(stage.usage is not None for job in small.jobs for stage in job.stages)


def task(**attempt: object) -> dict[str, object]:
    """A map of five seconds."""
    return {"finishTime": 6500, "attempts": [{"result": "SUCCESS", "startTime": 1500, "finishTime": 6500, **attempt}]}


def written(path: Path, *tasks: dict[str, object], **more: object) -> Path:
    """A file of one job."""
    path.write_text(json.dumps({**more, "jobID": "job_1", "submitTime": 1000, "mapTasks": list(tasks)}))
    return path


@pytest.mark.parametrize("bins", [[-1] * 12, [1.0, -1, 3.0], [1.0] * 5, []], ids=["all", "one", "fewer", "none"])
def test_use_that_is_not_known_in_full_is_left_out(tmp_path: Path, bins: list[float]) -> None:
    """−1 stands for not known, and bins of another number than those of the other tasks cannot be compared."""
    full = {"cpuUsages": [1.0] * 12, "physMemKbytes": [1.0] * 12}
    path = written(tmp_path / "a.json", task(**full), task(cpuUsages=bins, physMemKbytes=bins))
    [stage] = open_workload(path).jobs[0].stages
    assert stage.usage is None
    assert stage.durations.tolist() == [5.0, 5.0]


def test_a_job_whose_settings_come_first_is_recognised(tmp_path: Path) -> None:
    """A hundred kilobytes of settings stand before the tasks."""
    path = written(tmp_path / "a.json", task(), jobProperties={f"key{n}": "v" * 90 for n in range(1000)})
    assert [job.id for job in open_workload(path).jobs] == ["job_1"]


def test_names_may_stand_in_objects(tmp_path: Path) -> None:
    """Some writers wrap user and queue."""
    path = written(tmp_path / "a.json", task(), user={"userName": "ann"}, queue={"queueName": "etl"})
    [job] = open_workload(path).jobs
    assert (job.user, job.queue) == ("ann", "etl")
