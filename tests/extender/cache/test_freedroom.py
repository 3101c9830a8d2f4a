"""Whoever waits for room is told when some may have come free."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from slackwater_extender.cache.freedroom import FreedRoom
from slackwater_extender.sampler.measurement import SampleRound
from support.builders import objects
from support.fakes.extender import World, world


def crowded() -> World:
    """A node with a pod on it, and one with a reservation."""
    made = world(objects.node("n", cpu="14"))
    made.show(objects.pod("old", cpu="4", node="n", phase="Running", status=objects.running()))
    made.show(objects.pod("new", cpu="4"))
    made.post("/v1/place", {"pods": [{"uid": "uid-batch-new"}]})
    return made


CHANGES: dict[str, Callable[[World], object]] = {
    "a pod ends": lambda made: made.show(objects.pod("old", cpu="4", node="n", phase="Succeeded")),
    "a pod is deleted": lambda made: made.gone(objects.pod("old", cpu="4", node="n")),
    "a reservation is taken back": lambda made: made.post("/v1/unreserve", {"uids": ["uid-batch-new"]}),
    "a node comes": lambda made: made.nodes(objects.node("other", cpu="14")),
    "samples come": lambda made: made.parts.sampling.apply(SampleRound(), made.parts.cache.ledger),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_each_way_in_which_room_comes_free_has_a_new_number(change: Callable[[World], object]) -> None:
    """A reader that asks with the last number is answered."""
    made = crowded()
    before = made.get("/v1/freed")["next"]
    change(made)
    assert made.get("/v1/freed")["next"] != before


def test_what_takes_room_has_none() -> None:
    """A pod that is bound, or asked about, frees nothing."""
    made = crowded()
    before = made.get("/v1/freed")["next"]
    made.show(objects.pod("third", cpu="4", node="n"))
    made.filter(objects.pod("fourth", cpu="4"), "n")
    assert made.get("/v1/freed")["next"] == before


def test_a_reader_waits_until_room_comes_free() -> None:
    """It is answered at that moment, and not when its time is over."""
    freed = FreedRoom()
    threading.Timer(0.05, freed.note).start()
    began = time.monotonic()
    assert freed.after(0, 10.0) == 1
    assert time.monotonic() - began < 5.0
    assert freed.after(1, 0.01) == 1
