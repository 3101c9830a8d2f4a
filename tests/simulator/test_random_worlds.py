"""Random small worlds under every policy of the simulator: what must hold of each outcome (`make search-simulator`)."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from support.simsearch.generate import world
from support.simsearch.play import play
from support.simsearch.world import read, written

SECONDS = float(os.environ.get("SLACKWATER_SIMULATOR_SEARCH_SECONDS", "2"))  # of CPU
FOUND = [json.loads(line) for line in (Path(__file__).parent / "worlds.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.timeout(900)
def test_random_worlds_hold_their_promises() -> None:
    """As many seeds as fit into the time, always from the first on."""
    until, wrong, seed = time.process_time() + SECONDS, list[str](), 0
    while time.process_time() < until:
        wrong += [f"--seed {seed}: {failure}" for failure in play(world(seed)).failures]
        seed += 1
    assert wrong == []


@pytest.mark.parametrize("entry", FOUND, ids=lambda each: str(each["world"]["seed"]))
def test_a_world_that_showed_a_bug_holds_now(entry: dict[str, Any]) -> None:
    """What was found stays found."""
    assert [str(failure) for failure in play(read(entry["world"])).failures] == [], entry["found"]


def test_a_world_is_read_as_it_was_written() -> None:
    """So that one which shows a bug can be kept."""
    for seed in range(20):
        assert written(read(json.loads(written(world(seed))))) == written(world(seed))
