"""Whatever happens to a file: it is read, or refused with a sentence; never a crash."""

import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slackwater.errors import SlackwaterError
from slackwater_simulator.workload.generators.catalogue import generate
from slackwater_simulator.workload.readers import jsonl, parquet
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.workload import Workload
from support.examples import examples

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = ["swim.tsv", "tiny.swf", "rumen.json", "sls.json", "synth.json", "own.jsonl", "own.parquet"]
PIECES = [b"", b"0", b"-1", b"nan", b"1e999", b"null", b"{}", b"[", b'"', b"\n", b"\t", b"\xff", b";", b"true", b"x"]
PIECES += [b"9" * 5000, b"-" + b"9" * 5000, b"[" * 5000]


def content(name: str, folder: Path) -> bytes:
    """A good file in each format."""
    if not name.startswith("own"):
        return (SAMPLES / name).read_bytes()
    workload = generate("gen:admission?jobs=2")
    (jsonl if name.endswith("jsonl") else parquet).write(workload, folder / "good")
    return (folder / "good").read_bytes()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_file_is_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """One span of a good file is replaced by something else; with and without skipping."""
    good = content(name, tmp_path)
    start = data.draw(st.integers(0, len(good)))
    stop = start + data.draw(st.integers(0, 12))
    path = tmp_path / name
    path.write_bytes(good[:start] + data.draw(st.sampled_from(PIECES)) + good[stop:])
    for skip in (False, True):
        with suppress(SlackwaterError):
            assert sound(open_workload(path, skip_bad=skip))


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_gzip_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """What zlib, gzip and the end of the file say about it are three kinds of errors."""
    good = gzip.compress(content("tiny.swf", tmp_path))
    start = data.draw(st.integers(2, len(good)))
    stop = start + data.draw(st.integers(0, 30))
    path = tmp_path / "trace.swf.gz"
    path.write_bytes(good[:start] + data.draw(st.binary(max_size=30)) + good[stop:])
    with suppress(SlackwaterError):
        assert sound(open_workload(path))


def sound(workload: Workload) -> bool:
    """No number that would stop a run."""
    return all(
        np.isfinite(job.submit)
        and all(np.isfinite(stage.durations).all() and (stage.durations >= 0).all() for stage in job.stages)
        and all(np.isfinite(amount) and amount >= 0 for stage in job.stages for amount in stage.request)
        for job in workload.jobs
    )
