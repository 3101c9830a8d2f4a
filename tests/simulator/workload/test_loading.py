"""What may be written where a workload is expected."""

from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.loading import default_cluster, load

SAMPLES = Path(__file__).parents[1] / "samples"


def test_limit_and_load_change_a_trace() -> None:
    """The first two jobs, twice as fast; both are told."""
    workload = load(f"{SAMPLES / 'swim.tsv'}?limit=2&load=2")
    assert [job.submit for job in workload.jobs] == [0.0, 5.0]
    assert "only the first 2 jobs" in workload.notes
    assert ("arrivals", "2 times as fast") in workload.modelled


def test_slow_start_says_when_stages_ask() -> None:
    """Reduces ask when every map is done; maps wait for nobody."""
    plain, late = load(f"{SAMPLES / 'swim.tsv'}"), load(f"{SAMPLES / 'swim.tsv'}?slow_start=1")
    shares = [
        {stage.start_after for job in each.jobs for stage in job.stages if stage.name == "reduce"}
        for each in (plain, late)
    ]
    assert shares == [{0.05}, {1.0}]


def test_usage_is_added_on_request() -> None:
    """A batch log does not know what its jobs use."""
    path = SAMPLES / "tiny.swf"
    assert load(str(path)).jobs[0].stages[0].usage is None
    assert load(f"{path}?usage=borg").jobs[0].stages[0].usage is not None


def test_generators_are_named_with_a_prefix_and_know_their_cluster() -> None:
    """`gen:` needs no file and no --cluster."""
    assert len(load("gen:admission?jobs=3").jobs) == 3
    assert default_cluster("gen:admission?jobs=3") == "8x8c12Gi"
    assert default_cluster("gen:admission?case=toy") == "1x4"
    assert default_cluster("gen:dress?case=figure1") == "1x6"


def test_a_parameter_of_a_generator_that_stands_there_twice_is_refused() -> None:
    """Nobody could tell which of them was played."""
    with pytest.raises(InvalidInput, match="gen:hour: case is there twice"):
        load("gen:hour?case=nine&case=hour")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("tiny.swf?limit=0", "above 0", id="zero-limit"),
        pytest.param("tiny.swf?load=2&load=2", "load is there twice", id="parameter-twice"),
        pytest.param("tiny.swf?load=fast", "above 0", id="load-text"),
        pytest.param("tiny.swf?load=1e-308", "jobs never arrive", id="load-nothing"),
        pytest.param("tiny.swf?slow_start=2", "at most 1", id="slow-start-beyond"),
        pytest.param("tiny.swf?usage=azure", "use one of: borg", id="unknown-usage"),
        pytest.param("tiny.swf?speed=2", "limit, load, slow_start, usage", id="unknown-parameter"),
    ],
)
def test_bad_parameters_are_refused(text: str, said: str) -> None:
    """Each refusal names what may be written."""
    with pytest.raises(InvalidInput, match=said):
        load(str(SAMPLES / text))


def test_trace_without_jobs_is_refused(tmp_path: Path) -> None:
    """There is nothing to play."""
    path = tmp_path / "empty.swf"
    path.write_text("; Version: 2.2\n")
    with pytest.raises(InvalidInput, match="holds no job"):
        load(str(path))


def test_trace_of_bad_lines_says_how_many_and_why(tmp_path: Path) -> None:
    """Who asked for bad lines to be skipped learns that none was good, and what is wrong with the first."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"format": "slackwater-trace", "version": 1}\n{"id": "a"}\n{"id": 2}\n')
    with pytest.raises(InvalidInput, match=r"holds no job: 2 .*skipped, .*bad.jsonl, line 2: submit: it is missing"):
        load(str(path), skip_bad=True)


def test_trace_needs_a_cluster() -> None:
    """Only generators know theirs."""
    with pytest.raises(InvalidInput, match="--cluster"):
        default_cluster("jobs.swf")
