"""SWIM logs become MapReduce jobs whose missing numbers are modelled and marked."""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.imputation import MapReduce
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.readers.swim import read

SAMPLES = Path(__file__).parents[2] / "samples"


def test_bytes_become_tasks_by_the_split_sizes() -> None:
    """600 MB of input are 3 maps of 256 MiB; 2.5 GB of shuffle are 3 reduces of 1 GiB."""
    jobs = read(SAMPLES / "swim.tsv").jobs
    assert [[stage.tasks for stage in job.stages] for job in jobs] == [[1], [3, 3], [1, 1]]
    assert [job.submit for job in jobs] == [0.0, 10.0, 12.0]


def test_durations_follow_the_bytes_of_a_task() -> None:
    """The geometric mean of many maps is base + bytes × rate."""
    model = MapReduce()
    share, counts = np.array([256 * 2.0**20]), np.array([20000])
    times = model.durations(model.map_base, share, counts, np.random.default_rng(1))
    assert np.exp(np.log(times).mean()) == pytest.approx(6.6 + 0.775 * 256, rel=0.01)


def test_everything_the_log_lacks_is_marked() -> None:
    """A report must be able to say what was not measured."""
    fields = [field for field, _ in read(SAMPLES / "swim.tsv", seed=3).modelled]
    assert fields == ["task counts", "durations", "shuffle", "requests", "drivers", "usage"]


def test_same_seed_same_workload_and_another_seed_another() -> None:
    """The models draw from the seed alone."""
    one, two, other = (read(SAMPLES / "swim.tsv", seed=seed).jobs[1].stages[0].durations for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("job1\t5\t5\t1\t2", "5 fields", id="too-few-fields"),
        pytest.param("job1\tfive\t5\t1\t2\t3", "not a number", id="text"),
        pytest.param("job1\t-5\t5\t1\t2\t3", "negative", id="negative"),
        pytest.param("job1\tnan\t5\t1\t2\t3", "negative or infinite", id="nan"),
        pytest.param("job1\t1.7e18\t0\t1\t2\t3", "cannot be told apart", id="nanoseconds"),
    ],
)
def test_broken_line_names_file_line_and_expectation(tmp_path: Path, line: str, said: str) -> None:
    """A person can open the file at that line and see what is wrong."""
    path = tmp_path / "log.tsv"
    path.write_text(f"job0\t0\t0\t1\t2\t3\n{line}\n")
    with pytest.raises(InvalidInput, match=r"log.tsv, line 2") as caught:
        open_workload(path)
    assert said in str(caught.value)
    assert "expected 6 tab-separated fields" in str(caught.value)


def test_skip_bad_counts_and_quotes_what_was_skipped(tmp_path: Path) -> None:
    """Skipping is asked for, counted and told."""
    path = tmp_path / "log.tsv.gz"
    path.write_bytes(gzip.compress(b"job0\t0\t0\t1\t2\t3\n\nbroken\njob2\t7\t0\t1\t2\t3\n"))
    workload = open_workload(path, skip_bad=True)
    assert [job.id for job in workload.jobs] == ["job0", "job2"]
    assert workload.skipped == 1
    assert "log.tsv.gz, line 3" in workload.notes[0]


@pytest.mark.parametrize(
    ("name", "jobs", "containers"),
    [pytest.param("FB-2009", 5894, 133_409, id="2009"), pytest.param("FB-2010", 24442, 4_498_985, id="2010")],
)
def test_real_facebook_days(traces: Path, name: str, jobs: int, containers: int) -> None:
    """The real logs give as many jobs as they have, about 4.5 million containers in 2010, within seconds."""
    began = time.process_time()
    workload = open_workload(traces / "swim-facebook" / f"{name}_samples_24_times_1hr_0.tsv.gz")
    assert time.process_time() - began < 15
    assert len(workload.jobs) == jobs
    assert sum(job.tasks + 1 for job in workload.jobs) == containers
