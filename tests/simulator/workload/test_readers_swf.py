"""SWF logs become gangs of one-core tasks."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.formats import open_workload

SAMPLES = Path(__file__).parents[1] / "samples"
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
    assert workload.notes == ("1 job(s) without run time or processors left out",)


def test_nothing_is_modelled() -> None:
    """Memory that the log does not know is not made up."""
    workload = open_workload(SAMPLES / "tiny.swf")
    assert workload.modelled == ()
    assert workload.jobs[0].stages[0].request == (1.0, 0.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [pytest.param("1 2 3", "3 field(s)", id="short"), pytest.param(LINE.replace("83", "x"), "not a number", id="text")],
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
