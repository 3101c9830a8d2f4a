"""Churn without end: nothing that the programs hold grows, and ledger and cluster agree (`make soak`: six days)."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator

import pytest

from slackwater_operator.settings import Settings
from support.logs import quietly
from support.soak.cluster import SoakCluster
from support.soak.sizes import grown, largest, sizes
from support.soak.soak import Soak


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all rounds."""
    made = asyncio.new_event_loop()
    with quietly():
        yield made
    made.close()


def test_churn_leaves_nothing_behind(loop: asyncio.AbstractEventLoop) -> None:
    """Once as many apps end as come, containers and objects keep their size."""
    cluster = SoakCluster(rate=1200, seed=1, series=6, once=0.0, kept=60, event=120)
    soak = Soak(cluster, loop, restarts=0, settings=Settings(keep_finished=60))
    (first,) = soak.play(0.15, every=0.15)
    (last,) = soak.play(0.1, every=0.1)
    assert last.done > first.done + 40
    assert first.drift + last.drift == []
    assert grown(first.sizes, last.sizes) == []
    assert grown(first.objects, last.objects) == []


def test_restarts_and_a_stop_of_the_soak_lose_nothing(loop: asyncio.AbstractEventLoop) -> None:
    """Operator and extender start anew in turn; then everything is read from a file and goes on."""
    soak = Soak(SoakCluster(rate=600, seed=2), loop, restarts=600)
    (before,) = soak.play(0.1, every=0.1)
    assert before.restarts >= 2
    again = Soak(pickle.loads(pickle.dumps(soak.cluster)), loop, restarts=600)
    (after,) = again.play(0.05, every=0.05)
    assert after.done > before.done
    assert before.drift + after.drift == []


class Hoarder:
    """A part of a program that forgets nothing."""

    def __init__(self) -> None:
        self.apps: dict[str, list[int]] = {}


Hoarder.__module__ = "slackwater_operator.hoarder"


def test_what_is_hoarded_is_found_by_class_and_field() -> None:
    """Whatever the field is called, and however deep it lies."""
    hoarder = Hoarder()
    before = sizes({"parts": [hoarder]})
    hoarder.apps |= {f"app-{number}": [number] for number in range(100)}
    assert grown(before, sizes({"parts": [hoarder]})) == ["Hoarder.apps grew from 0 to 200"]


def test_days_are_compared_by_the_largest_that_a_container_was() -> None:
    """One hour with more pods than the same hour of the day before is no growth."""
    assert largest([{"pods": 300, "apps": 2}, {"pods": 180}]) == {"pods": 300, "apps": 2}
