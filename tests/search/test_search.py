"""Random worlds through the real operator and the real extender, beside the stock scheduler (`make search`)."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from support.search.generate import plan
from support.search.plan import WorldPlan
from support.search.play import Outcome, play

SECONDS = float(os.environ.get("SLACKWATER_SEARCH_SECONDS", "20"))  # of CPU; CI gives it three minutes
FOUND = Path(__file__).parent / "worlds.jsonl"
# Known to happen, and being mended: `make search` shows them, the test does not fail on them yet.
BEING_MENDED = {"idle room", "held for ever", "refused", "priority", "lost to evictions"}


class FoundWorld(msgspec.Struct):
    """A world that once showed a bug."""

    found: str
    seed: int
    plan: WorldPlan


def found() -> list[FoundWorld]:
    """Every world in which something was found, made small."""
    lines = FOUND.read_bytes().splitlines() if FOUND.exists() else []
    return [msgspec.json.decode(line, type=FoundWorld) for line in lines]


@pytest.mark.timeout(900)
def test_random_worlds_hold_their_promises() -> None:
    """As many seeds as fit into the time, always from the first on."""
    loop = asyncio.new_event_loop()
    until, failed, seed = time.process_time() + SECONDS, list[Outcome](), 0
    try:
        while time.process_time() < until and not failed:
            outcome = play(plan(seed), loop)
            failed += [outcome] if {each.kind for each in outcome.failures} - BEING_MENDED else []
            seed += 1
    finally:
        loop.close()
    assert not failed, f"python -m support.search --seed {failed[0].seed} --shrink: {failed[0].failures[0]}"
    assert seed > 5


@pytest.mark.parametrize("world", found(), ids=lambda each: f"{each.seed}")
def test_a_world_that_showed_a_bug_holds_now(world: FoundWorld) -> None:
    """What was found stays found."""
    assert [str(failure) for failure in play(world.plan).failures] == [], world.found
