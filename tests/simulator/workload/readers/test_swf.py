"""SWF logs become gangs of one-core tasks."""

import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers import parquet
from slackwater_simulator.workload.readers.formats import open_workload

SAMPLES = Path(__file__).parents[2] / "samples"
LINE = "1 0 -1 83 1 -1 -1 -1 1200 -1 -1 1 1 -1 -1 1 -1 -1"


def test_fields_are_read() -> None:
    """Processors, run time, memory in KB per processor, user, queue and the user's estimate."""
    job = open_workload(SAMPLES / "tiny.swf").jobs[1]
    assert (job.id, job.submit, job.user, job.queue, job.gang, job.estimate) == (
        "2",
        3.0,
        "user2",
        "queue2",
        True,
        60.0,
    )
    assert job.stages[0].durations.tolist() == [10.0] * 4
    assert job.stages[0].request == (1.0, 1024.0 * 1024)
    assert job.driver is None


def test_zero_second_jobs_stay_and_cancelled_ones_are_noted() -> None:
    """A job that ran for 0 s ran; one without run time never did."""
    workload = open_workload(SAMPLES / "tiny.swf")
    assert [job.id for job in workload.jobs] == ["1", "2", "3"]
    assert workload.notes == ("1 job without run time or processors left out",)


def test_nothing_is_modelled() -> None:
    """Memory that the log does not know is not made up."""
    workload = open_workload(SAMPLES / "tiny.swf")
    assert workload.modelled == ()
    assert workload.jobs[0].stages[0].request == (1.0, 0.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("1 2 3", "3 fields", id="short"),
        pytest.param(LINE.replace("83", "x"), "not a number", id="text"),
        pytest.param(LINE.replace("83 1", "83 0.5"), "processor count", id="part-of-a-processor"),
        pytest.param(LINE.replace("83 1", "83 2.5"), "processor count", id="processors-and-a-half"),
        pytest.param(LINE.replace("1 0", "1 1.7e18", 1), "submit time", id="nanoseconds"),
    ],
)
def test_broken_line_is_named_or_skipped(tmp_path: Path, line: str, said: str) -> None:
    """The same line is an error, or a counted skip."""
    path = tmp_path / "log.swf"
    path.write_text(f"; Version: 2.2\n{LINE}\n{line}\n")
    with pytest.raises(InvalidInput, match=r"log.swf, line 3") as caught:
        open_workload(path)
    assert said in str(caught.value)
    skipped = open_workload(path, skip_bad=True)
    assert (len(skipped.jobs), skipped.skipped) == (1, 1)


def test_log_of_comments_only_is_an_empty_workload(tmp_path: Path) -> None:
    """No job is not an error of the reader."""
    path = tmp_path / "log.swf"
    path.write_text("; Version: 2.2\n")
    assert open_workload(path).jobs == ()


def test_real_grid_log(traces: Path) -> None:
    """LCG-2005: 188,041 single-processor jobs, 521 of zero seconds, in order of submission."""
    began = time.process_time()
    jobs = open_workload(traces / "swf-lcg" / "LCG-2005.swf.gz").jobs
    assert time.process_time() - began < 15
    assert len(jobs) == 188_041
    assert sum(job.stages[0].durations[0] == 0 for job in jobs) == 521
    assert all(a.submit <= b.submit for a, b in pairwise(jobs))


def test_parts_of_a_checkpointed_job_are_not_played_as_jobs(tmp_path: Path) -> None:
    """Status 2, 3 and 4 are parts of a job whose whole has status 0 or 1; without such a line they are all there is."""
    whole = "1 5 -1 30 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1"
    parts = ["1 5 -1 10 4 -1 -1 4 -1 -1 2 1 1 -1 1 -1 -1 -1", "1 -1 -1 20 4 -1 -1 4 -1 -1 3 1 1 -1 1 -1 -1 -1"]
    alone = "2 9 -1 7 4 -1 -1 4 -1 -1 4 1 1 -1 1 -1 -1 -1"
    path = tmp_path / "log.swf"
    path.write_text("\n".join(["; Version: 2.2", whole, *parts, alone]))
    workload = open_workload(path)
    assert [(job.id, job.submit, job.stages[0].durations[0]) for job in workload.jobs] == [("1", 5, 30), ("2", 9, 7)]
    assert workload.notes == ("2 lines about parts of checkpointed jobs left out: each job is played once",)


def test_jobs_of_one_id_are_told_apart(tmp_path: Path) -> None:
    """Each gets a name of its own, and a note says so; a Parquet trace keeps them apart too."""
    path = tmp_path / "log.swf"
    path.write_text("; c\n" + "\n".join([LINE, LINE.replace("83", "5"), LINE.replace("1 0", "2 0", 1)]))
    workload = open_workload(path)
    assert [job.id for job in workload.jobs] == ["1", "1#2", "2"]
    assert workload.notes == ("1 job whose id another job has is called ID#2, ID#3 and so on",)
    twins = replace(workload, jobs=(workload.jobs[0], replace(workload.jobs[1], id="1")))
    parquet.write(twins, tmp_path / "log.parquet")
    assert [job.id for job in open_workload(tmp_path / "log.parquet").jobs] == ["1", "1#2"]
