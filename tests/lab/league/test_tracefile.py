"""Logs as workloads: what is read of a trace, and how it is made faster."""

import gzip
import json
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_lab.league.rounds import Turn
from slackwater_lab.league.tracefile import from_trace

HEAD = {"format": "slackwater-trace", "version": 1, "name": "nightly", "kinds": ["cpu", "memory"]}
STAGES = [
    {
        "name": "Map_1",
        "request": [2, 100],
        "durations": [20.0, 40.0],
        "usage": {"cpu": [0.2, 0.4], "memory": [1.0, 1.0]},
    },
    {
        "name": "reduce",
        "request": [1, 100],
        "durations": {"value": 30, "count": 3},
        "parents": ["Map_1"],
        "shuffle": 10,
        "delay": 5,
        "start_after": 0.5,
    },
]
JOB = {"id": "job/1", "submit": 60, "driver": {"request": [1, 50], "startup": 6}, "stages": STAGES}


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_a_trace_is_played_faster(tmp_path: Path, name: str) -> None:
    """Every time is divided; sizes stay; names become such that Kubernetes takes."""
    text = f"{json.dumps(HEAD)}\n\n{json.dumps(JOB)}\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    made = Turn(1, str(tmp_path / name), "stock", 10.0).jobs
    (play,) = made.plays
    maps, reduces = play.parts
    assert (made.name, play.id, play.submit, play.startup) == ("log", "job-1", 6.0, 0.6)
    assert (maps.name, maps.durations, maps.size.cpu) == ("map-1", (2.0, 4.0), 2)
    assert maps.size.used_cpu == pytest.approx(0.6)
    assert (reduces.durations, reduces.parents, reduces.delay) == ((4.0, 4.0, 4.0), ("map-1",), 0.5)
    assert (reduces.start_after, reduces.size.used_cpu) == (0.5, 1)


def test_another_file_is_refused(tmp_path: Path) -> None:
    """With where the format is described; so is a speed of nothing."""
    (tmp_path / "other.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(InvalidInput, match="trace-format"):
        from_trace(tmp_path / "other.jsonl")
    with pytest.raises(InvalidInput, match="speed"):
        from_trace(tmp_path / "other.jsonl", 0)
