"""Random worlds through the real operator and the real extender, beside the stock scheduler (`make search`)."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from support.reporting import read_names
from support.search.generate import MIXED, ODD, OWNED, REWRITTEN, WILD, plan
from support.search.plan import WorldPlan
from support.search.play import Outcome, play

SECONDS = float(os.environ.get("SLACKWATER_SEARCH_SECONDS", "4"))  # of CPU; CI gives it three minutes
FOUND = Path(__file__).parent / "worlds.jsonl"


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
@pytest.mark.parametrize(
    "first",
    [0, WILD, MIXED, OWNED, REWRITTEN, ODD],
    ids=["plain", "wild", "gangs of two sizes", "owned", "rewritten", "odd"],
)
def test_random_worlds_hold_their_promises(first: int) -> None:
    """As many seeds as fit into a sixth of the time, always from the first on."""
    loop = asyncio.new_event_loop()
    until, wrong, seed = time.process_time() + SECONDS / 6, list[Outcome](), first
    try:
        while time.process_time() < until:
            outcome = play(plan(seed), loop)
            wrong += [outcome] if outcome.failures else []
            seed += 1
    finally:
        loop.close()
    assert [f"--seed {each.seed}: {each.failures[0]}" for each in wrong] == []


def test_worlds_that_are_left_to_make_deep_are_kept() -> None:
    """One of another seed would slip back among those that everybody plays; what is drawn at random is never left."""
    name = "tests/search/test_search.py::test_a_world_that_showed_a_bug_holds_now"
    kept = {f"{name}[{each.seed}]" for each in found()}
    left = read_names(Path(__file__).parents[1] / "deep.txt")
    assert {each for each in left if each.startswith(name)} <= kept
    assert not [each for each in left if "test_random_worlds" in each]


@pytest.mark.parametrize("world", found(), ids=lambda each: f"{each.seed}")
def test_a_world_that_showed_a_bug_holds_now(world: FoundWorld) -> None:
    """What was found stays found."""
    assert [str(failure) for failure in play(world.plan).failures] == [], world.found
