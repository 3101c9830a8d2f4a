"""Our own trace format: what is written is read back, in both encodings."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # ships no types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers import jsonl, parquet
from slackwater_simulator.workload.readers.formats import detect, open_workload
from slackwater_simulator.workload.readers.schema import job_entry
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload
from support.examples import examples

numbers = st.floats(min_value=0, max_value=1e15, allow_nan=False).map(lambda x: x + 0.0)
moments = st.floats(min_value=0, max_value=1e11, allow_nan=False).map(lambda x: x + 0.0)  # a job's times add up
words = st.text(alphabet="abcxyz0189-_/ é", max_size=6)
requests = st.tuples(numbers, numbers)


@st.composite
def usages(draw: st.DrawFn, tasks: int) -> Usage | None:
    """Any use of that many tasks, or none."""
    if not draw(st.booleans()):
        return None
    levels = st.lists(numbers, min_size=tasks, max_size=tasks).map(np.array)
    points = draw(st.integers(1, 4))
    at = sorted(draw(st.tuples(*[st.floats(0, 1).map(lambda x: x + 0.0)] * points)))
    curves = [draw(st.tuples(*[numbers] * points)) for _ in range(2)]
    return Usage(draw(levels), draw(levels), tuple(at), curves[0], curves[1], draw(numbers))


@st.composite
def stages(draw: st.DrawFn, name: str, before: list[str]) -> Stage:
    """Any stage whose parents come earlier."""
    durations = np.array(draw(st.lists(moments, max_size=5)), dtype=np.float64)
    parents = tuple(draw(st.lists(st.sampled_from(before), unique=True))) if before else ()
    hosts = draw(st.sampled_from(["none", "some"]))
    return Stage(
        name,
        draw(requests),
        durations,
        parents,
        start_after=draw(st.floats(0, 1)),
        ramp=draw(st.booleans()),
        delay=draw(moments),
        shuffle=draw(moments),
        transfer=draw(numbers),
        transfers=draw(st.tuples(*[numbers] * len(parents))) if draw(st.booleans()) else (),
        usage=draw(usages(len(durations))),
        hosts=tuple(draw(st.tuples(words)) for _ in durations) if hosts == "some" else (),
        reduce=draw(st.booleans()),
        iteration=draw(st.integers(0, 9)),
    )


@st.composite
def jobs(draw: st.DrawFn, number: int) -> Job:
    """Any job."""
    names: list[str] = []
    made = []
    for index in range(draw(st.integers(0, 3))):
        made.append(draw(stages(f"s{index}", names)))
        names.append(f"s{index}")
    driver = Driver(draw(requests), draw(moments), draw(usages(1))) if draw(st.booleans()) else None
    return Job(
        f"job{number}",
        float(number),
        tuple(made),
        driver,
        draw(words),
        draw(words),
        draw(words),
        draw(st.integers(-9, 9)),
        draw(st.booleans()),
        draw(st.integers(0, 9)),
        draw(st.booleans()),
        draw(numbers),
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Any workload of a few jobs."""
    return Workload(
        draw(words),
        tuple(draw(jobs(number)) for number in range(draw(st.integers(0, 3)))),
        modelled=draw(st.sampled_from([(), (("usage", "borg (seed 0)"),)])),
        skipped=draw(st.integers(0, 3)),
        notes=draw(st.sampled_from([(), ("a note",)])),
    )


def plain(workload: Workload) -> object:
    """A workload as comparable values (arrays compare element by element)."""
    entries = json.dumps([job_entry(job) for job in workload.jobs])
    return replace(workload, jobs=()), entries


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workload=workloads())
def test_what_is_written_is_read_back(tmp_path: Path, name: str, workload: Workload) -> None:
    """Both encodings keep every field of every job."""
    path = tmp_path / name
    (parquet if name.endswith("parquet") else jsonl).write(workload, path)
    assert plain(open_workload(path)) == plain(workload)


def one_job(**changes: object) -> Workload:
    stage = Stage("map", (1.0, 2.0), np.array([3.0, 3.0, 3.0]))
    return Workload("w", (replace(Job("a", 0.0, (stage,)), **changes),))  # type: ignore[arg-type]  # any field


def test_equal_numbers_are_written_once(tmp_path: Path) -> None:
    """A thousand equal durations take one line of a few bytes."""
    path = tmp_path / "t.jsonl"
    jsonl.write(one_job(), path)
    assert json.loads(path.read_text().splitlines()[1])["stages"][0]["durations"] == {"value": 3.0, "count": 3}


def test_defaults_are_left_out(tmp_path: Path) -> None:
    """A line says only what is special about its job."""
    path = tmp_path / "t.jsonl"
    jsonl.write(one_job(), path)
    assert set(json.loads(path.read_text().splitlines()[1])) == {"id", "submit", "stages"}


HEAD = '{"format": "slackwater-trace", "version": 1}'
STAGE = '{"name": "map", "request": [1, 2], "durations": [1]'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param('{"id": "a"', "JSON", id="cut-off"),
        pytest.param('{"id": "a", "submit": 0}', "stages: it is missing", id="field-missing"),
        pytest.param('{"id": "a", "submit": 0, "stages": [], "submitted": 1}', "submitted", id="field-misspelt"),
        pytest.param('{"id": "a", "submit": -1, "stages": []}', "submit", id="negative"),
        pytest.param(f'{{"id": "a", "submit": 0, "stages": [{STAGE}, "parents": ["x"]}}]}}', "parent 'x'", id="parent"),
        pytest.param(
            f'{{"id": "a", "submit": 0, "stages": [{STAGE}, "parents": ["map"]}}]}}', "each other", id="circle"
        ),
        pytest.param(f'{{"id": "a", "submit": 0, "stages": [{STAGE}}}, {STAGE}}}]}}', "one name", id="same-name"),
        pytest.param(
            '{"id": "a", "submit": 0, "stages": [{"name": "m", "request": [1], "durations": [1]}]}',
            "request",
            id="kinds",
        ),
    ],
)
def test_broken_job_names_file_line_and_field(tmp_path: Path, line: str, said: str) -> None:
    """The same line is an error, or a counted skip."""
    path = tmp_path / "t.jsonl"
    path.write_text(f"{HEAD}\n{line}\n")
    with pytest.raises(InvalidInput, match=r"t.jsonl, line 2") as caught:
        open_workload(path)
    assert said in str(caught.value)
    assert open_workload(path, skip_bad=True).skipped == 1


def test_newer_version_is_refused_with_advice(tmp_path: Path) -> None:
    """A file of the future is not half understood."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"format": "slackwater-trace", "version": 2}\n')
    with pytest.raises(InvalidInput, match=r"version 2.*upgrade slackwater"):
        open_workload(path)


def test_parquet_without_our_columns_is_refused(tmp_path: Path) -> None:
    """Any other Parquet file is told apart."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(InvalidInput, match="no column 'job_id'"):
        open_workload(path)


def test_parquet_with_a_negative_duration_names_the_row(tmp_path: Path) -> None:
    """Numbers are checked in the binary encoding too."""
    path = tmp_path / "t.parquet"
    parquet.write(one_job(stages=(Stage("map", (1.0, 2.0), np.array([-1.0])),)), path)
    with pytest.raises(InvalidInput, match=r"t.parquet, row 1.*negative"):
        open_workload(path)


@pytest.mark.parametrize("level", [-0.5, np.inf, np.nan], ids=str)
@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_use_that_no_task_can_have_is_refused(tmp_path: Path, name: str, level: float) -> None:
    """One such number would spread over its node and everybody on it."""
    usage = Usage(np.array([level, 0.5, 0.5]), np.full(3, 0.5))
    stage = Stage("map", (1.0, 2.0), np.array([3.0, 3.0, 3.0]), usage=usage)
    (parquet if name.endswith("parquet") else jsonl).write(one_job(stages=(stage,)), tmp_path / name)
    with pytest.raises(InvalidInput, match=r"use|cpu"):
        open_workload(tmp_path / name)


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize(
    "at", [(1.0, 0.0), (0.0, 0.9, 0.2, 1.0), (0.0, 50.0, 100.0)], ids=["falling", "back and forth", "percent"]
)
def test_a_course_goes_from_left_to_right_through_one_life(
    tmp_path: Path, name: str, driver: bool, at: tuple[float, ...]
) -> None:
    """Between points in another order, or beyond the end of a life, nothing can be interpolated."""
    usage = Usage(np.full(1, 0.5), np.full(1, 0.5), at, (1.0,) * len(at), (1.0,) * len(at))
    stage = Stage("map", (1.0, 2.0), np.array([3.0]), usage=None if driver else usage)
    made = one_job(stages=(stage,), driver=Driver((1.0, 2.0), 0.0, usage) if driver else None)
    (parquet if name.endswith("parquet") else jsonl).write(made, tmp_path / name)
    with pytest.raises(InvalidInput, match="driver: .*ascend" if driver else "stage map: .*ascend"):
        open_workload(tmp_path / name)


def test_the_curves_of_a_driver_are_of_one_length(tmp_path: Path) -> None:
    """As those of a stage."""
    usage = Usage(np.full(1, 0.5), np.full(1, 0.5), (0.0, 1.0), (1.0,), (1.0, 1.0))
    jsonl.write(one_job(driver=Driver((1.0, 2.0), 0.0, usage)), tmp_path / "t.jsonl")
    with pytest.raises(InvalidInput, match="driver: curves of different length"):
        open_workload(tmp_path / "t.jsonl")


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
@pytest.mark.parametrize(
    ("submit", "seconds"), [(1.7e18, 10.0), (1.7e15, 10.0), (0.0, 1e14)], ids=["ns", "us", "duration"]
)
def test_times_at_which_seconds_can_no_longer_be_told_apart_are_refused(
    tmp_path: Path, name: str, submit: float, seconds: float
) -> None:
    """Nanoseconds since 1970: a task of ten seconds would begin and end in one moment."""
    stage = Stage("map", (1.0, 2.0), np.array([seconds]))
    (parquet if name.endswith("parquet") else jsonl).write(one_job(submit=submit, stages=(stage,)), tmp_path / name)
    with pytest.raises(InvalidInput, match="seconds from the start of the workload"):
        open_workload(tmp_path / name)


def test_seconds_and_milliseconds_since_1970_can_be_told_apart(tmp_path: Path) -> None:
    """They are late, and nothing is lost."""
    for submit in (1.7e9, 1.7e12):
        jsonl.write(one_job(submit=submit), tmp_path / "t.jsonl")
        assert open_workload(tmp_path / "t.jsonl").jobs[0].submit == submit


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"hello world\n", "begins with 'hello world", id="prose"),
        pytest.param(b'{"rack": "r1", "nodes": []}', "machines, not jobs", id="machines"),
        pytest.param(gzip.compress(b"x" * 50)[:20], "gzip data is damaged", id="cut-off-gzip"),
    ],
)
def test_unknown_content_is_refused_with_the_known_formats(tmp_path: Path, content: bytes, said: str) -> None:
    """The error says what was found and what can be read."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said):
        detect(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """And the error says what may stand there instead."""
    with pytest.raises(InvalidInput, match="gen:NAME"):
        open_workload(tmp_path / "absent")
