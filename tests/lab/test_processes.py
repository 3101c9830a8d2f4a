"""The lab stops exactly what it started."""

import json
import os
import time
from pathlib import Path

import pytest

from slackwater_lab.processes.processes import Processes, birth


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def test_a_started_process_runs_until_it_is_stopped(processes: Processes) -> None:
    """Stopping ends it and forgets it."""
    started = processes.start("sleeper", ["sleep", "60"])
    assert started.alive
    processes.stop("sleeper")
    assert not started.alive
    assert processes.all() == []


def test_starting_twice_gives_the_same_process(processes: Processes) -> None:
    """What already runs is left alone."""
    first = processes.start("sleeper", ["sleep", "60"])
    assert processes.start("sleeper", ["sleep", "60"]) == first
    processes.stop("sleeper")


def test_a_reused_process_id_is_never_touched(processes: Processes, tmp_path: Path) -> None:
    """A record whose birth does not match belongs to a process that is gone; the present owner of the id lives."""
    stranger = processes.start("stranger", ["sleep", "60"])
    record = {"name": "old", "pid": stranger.pid, "born": "another-boot:1", "command": ["sleep", "60"]}
    (tmp_path / "pids" / "old.json").write_text(json.dumps(record))
    processes.stop("old")
    assert stranger.alive
    processes.stop("stranger")


def test_a_process_that_ignores_the_request_is_made_to_end(processes: Processes) -> None:
    """After the grace time it is killed."""
    started = processes.start("stubborn", ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"])
    limit = time.monotonic() + 5.0
    while "ready" not in processes.tail("stubborn") and time.monotonic() < limit:
        time.sleep(0.02)
    processes.stop("stubborn", grace=0.2)
    assert not started.alive


def test_children_end_with_their_parent(processes: Processes) -> None:
    """The whole group is told, so that workers of a server do not stay behind."""
    processes.start("parent", ["sh", "-c", "sleep 60 & echo $!; wait"])
    limit = time.monotonic() + 5.0
    while not (said := processes.tail("parent")) and time.monotonic() < limit:
        time.sleep(0.02)
    processes.stop("parent")
    while birth(int(said)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert birth(int(said)) is None


def test_a_killed_process_can_be_started_again(processes: Processes) -> None:
    """A crash keeps the record, and the next start replaces it."""
    first = processes.start("sleeper", ["sleep", "60"])
    processes.kill("sleeper")
    assert not first.alive
    second = processes.start("sleeper", ["sleep", "60"])
    assert second.pid != first.pid
    processes.stop("sleeper")


def test_the_environment_and_the_log_reach_the_process(processes: Processes) -> None:
    """Settings are passed by environment; what a process says is kept for error messages."""
    started = processes.start("speaker", ["sh", "-c", "echo $GREETING >&2"], {"GREETING": "slack water"})
    os.waitpid(started.pid, 0)
    assert processes.tail("speaker") == "slack water"
    processes.stop("speaker")


def test_a_process_that_is_gone_has_no_birth() -> None:
    """Process ids above the kernel's limit never exist."""
    assert birth(2**22 + 1) is None


@pytest.mark.parametrize("text", ["", '{"name": "a", "pi', "[]"], ids=["empty", "half", "no record"])
def test_a_record_that_cannot_be_read_keeps_no_other_from_being_stopped(
    processes: Processes, tmp_path: Path, text: str
) -> None:
    """A disk was full when it was written: the rest is listed and stopped, and its name can be used again."""
    started = processes.start("other", ["sleep", "60"])
    next(tmp_path.rglob("other.json")).with_name("lost.json").write_text(text)
    assert processes.all() == [started]
    assert processes.start("lost", ["sleep", "60"]).alive
    for each in processes.all():
        processes.stop(each.name)
    assert not processes.all()
