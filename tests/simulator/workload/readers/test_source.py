"""Legal ways to write the same file: with a byte order mark, or as one JSON list."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.formats import open_workload

SAMPLES = Path(__file__).parents[2] / "samples"
SLS = '{"job.start.ms": 0, "job.id": "NAME", "job.tasks": [{"duration.ms": 5000}]}'
ONE, TWO = SLS.replace("NAME", "one"), SLS.replace("NAME", "two")


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", ["rumen.json", "sls.json", "swim.tsv", "synth.json", "tiny.swf"])
def test_a_byte_order_mark_changes_nothing(tmp_path: Path, name: str, zipped: bool) -> None:
    """Editors on Windows write one before UTF-8."""
    plain = (SAMPLES / name).read_bytes()
    marked = b"\xef\xbb\xbf" + plain
    path = tmp_path / name
    path.write_bytes(gzip.compress(marked) if zipped else marked)
    assert [job.id for job in open_workload(path).jobs] == [job.id for job in open_workload(SAMPLES / name).jobs]


def test_jobs_may_stand_in_one_list(tmp_path: Path) -> None:
    """As `json.dump` of all jobs writes them; a broken one is named by its line."""
    path = tmp_path / "jobs.json"
    path.write_text(f"[\n{ONE},\n{TWO}\n]\n")
    assert [job.id for job in open_workload(path).jobs] == ["one", "two"]
    path.write_text(f"[\n{ONE},\n{TWO[:-1]}\n]\n")
    with pytest.raises(InvalidInput, match=r"jobs.json, line 4"):
        open_workload(path)
    path.write_text(f"[{ONE},\n{TWO}\n")
    with pytest.raises(InvalidInput, match="a list without its end"):
        open_workload(path)
