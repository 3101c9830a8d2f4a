"""What the process tells the allocator and the collector."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from slackwater_extender.processmemory import PATIENCE, SWITCH, ProcessMemory, give_back


@pytest.fixture
def memory() -> Iterator[ProcessMemory]:
    """The process as it was, afterwards. What is frozen stays so: it holds all tests, which are no garbage."""
    interval = sys.getswitchinterval()
    yield ProcessMemory()
    sys.setswitchinterval(interval)
    gc.enable()


def test_nothing_is_collected_until_the_cluster_is_listed(memory: ProcessMemory) -> None:
    """Then what was listed is kept out of every further collection."""
    frozen = gc.get_freeze_count()
    memory.begin()
    assert not gc.isenabled()
    assert sys.getswitchinterval() == pytest.approx(SWITCH)
    memory.tick(listed=False)
    assert not gc.isenabled()
    memory.tick(listed=True)
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


def test_a_cluster_that_cannot_be_listed_does_not_fill_the_memory(memory: ProcessMemory) -> None:
    """After two minutes garbage is collected all the same."""
    memory.begin()
    for _ in range(PATIENCE + 1):
        memory.tick(listed=False)
    assert gc.isenabled()


def test_giving_back_is_no_error_where_nobody_knows_how() -> None:
    """On systems without glibc nothing happens."""
    assert not give_back("libnone.so.0")
