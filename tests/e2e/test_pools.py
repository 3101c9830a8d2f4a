"""Scenario 5: small jobs behind a large one."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import POOLS, Ground, phase, until

pytestmark = pytest.mark.lab


def test_small_jobs_pass_a_large_one_and_delta_moves(arena: Field, tell: Callable[[str], None]) -> None:
    """A job of 60 tasks came first; six jobs of one task are over within 30 s, before it is; the border moved."""
    with arena.ground("pools") as ground:
        ground.make(POOLS, "ReservationPool", {"queue": ground.name, "delta": {"initial": 0.3, "minimum": 0.2}})
        # Its pods come one by one, and 12 or so run at a time: small jobs have a pool of their own all the same.
        ground.create(ground.pod(f"large-{i:03}", app="large", use=("1", "1Gi"), lasts=12) for i in range(60))
        ground.until_bound(8, 30, app="large")
        began = time.monotonic()
        ground.create(ground.pod(f"small-{i}", app=f"small-{i}", use=("1", "1Gi"), lasts=2) for i in range(6))
        deltas: set[float] = set()
        until("every small job is over", lambda: _all_small_done(ground, deltas), 30, 0.3)
        small = time.monotonic() - began
        left = [pod for pod in ground.pods(app="large") if phase(pod) == "Pending"]
        assert left, "the large job did not outlast the small ones"
        until("delta has moved in the status", lambda: _moved(ground, deltas), 20, 0.3)
        tell(
            f"small jobs over after {small:.1f} s, {len(left)} of 60 large tasks still waiting; delta {sorted(deltas)}"
        )


def _all_small_done(ground: Ground, deltas: set[float]) -> bool:
    _moved(ground, deltas)
    return len([pod for pod in ground.pods() if "small" in pod["metadata"]["name"] and phase(pod) == "Succeeded"]) == 6


def _moved(ground: Ground, deltas: set[float]) -> bool:
    pool: dict[str, Any] = ground.api.find(f"{POOLS}/{ground.name}") or {}
    delta = pool.get("status", {}).get("delta")
    if delta is not None:
        deltas.add(round(delta, 3))
    return bool(deltas - {0.3})
