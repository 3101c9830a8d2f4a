"""The garbage collector in a program that keeps a whole cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from slackwater_cluster.watch import garbage


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Leave the collector of the tests as it was. What is frozen stays so: it holds all tests, which are no garbage."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_collections_are_rarer_while_a_cluster_is_listed() -> None:
    """Some ten thousand new objects do not make it go over all that is held."""
    garbage.expect_many()
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    held = [[number] for number in range(20_000)]
    assert gc.get_stats()[0]["collections"] == before
    assert len(held) == 20_000


def test_what_was_listed_is_left_out_of_full_collections() -> None:
    """It stands apart from then on, and what comes later does not."""
    frozen = gc.get_freeze_count()
    held = [[number] for number in range(20_000)]
    garbage.set_apart()
    assert gc.get_freeze_count() >= frozen + len(held)
    later = [[number] for number in range(1_000)]
    assert any(each is later for each in gc.get_objects())
    assert not any(each is held for each in gc.get_objects())
