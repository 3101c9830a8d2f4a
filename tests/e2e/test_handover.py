"""Who leads next, and how long releases stop meanwhile: all operators killed at once, a leader that is told to stop."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from slackwater_cluster import names
from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.processes.stealtime import Stopwatch
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, bound, until

pytestmark = pytest.mark.lab
Tell = Callable[[str], None]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases"


def _work(ground: Ground, count: int = 160) -> None:
    """Short tasks, many more than fit at once: something could be released at any moment."""
    ground.create(
        ground.pod(f"task-{i:03}", app=f"app-{i % 4}", use=("900m", "100Mi"), lasts=2.0) for i in range(count)
    )


def _longest_pause(ground: Ground, seconds: float) -> float:
    """Look for so long; the longest time of ours in which no further pod was bound."""
    watch = Stopwatch()
    known, last, longest = len(bound(ground.pods())), 0.0, 0.0
    while (now := watch.seconds) < seconds:
        count = len(bound(ground.pods()))
        longest = max(longest, now - last)
        if count > known:
            known, last = count, now
        time.sleep(0.1)
    return longest


def _leader(arena: Field) -> str:
    return str(_lease(arena).get("spec", {}).get("holderIdentity") or "")


def _lease(arena: Field) -> dict[str, Any]:
    leases = arena.api.get(LEASES) or {"items": []}
    return next((each for each in leases["items"] if each["metadata"]["name"] == "slackwater-operator"), {})


def _turned(arena: Field) -> str:
    """When the leader's release loop last turned, as the Lease says."""
    return str(_lease(arena).get("metadata", {}).get("annotations", {}).get(names.TURNED, ""))


def test_the_lease_says_when_the_loop_of_its_leader_turned(arena: Field) -> None:
    """The watchdog goes by it: whoever leads and releases nothing is no leader."""
    until("the loop turns", lambda: _turned(arena) not in ("", names.NEVER), 60, 0.5)
    before = _turned(arena)
    until("it goes on turning", lambda: _turned(arena) > before, 15, 0.5)


def test_after_all_operators_were_killed_new_ones_go_on_within_fifteen_seconds(arena: Field, tell: Tell) -> None:
    """They have other names, as new pods have, so that the Lease of the dead must run out first."""
    lab = arena.own_lab()
    with arena.ground("killed-all", nodes=2, shape=Shape(cpu="8", memory="32Gi")) as ground:
        _work(ground)
        ground.until_bound(12, 60)
        for name in OPERATORS:
            arena.crew().kill(name)
        watch, known = Stopwatch(), len(bound(ground.pods()))
        try:
            for name in OPERATORS:
                lab.restart(name, {"SLACKWATER_OPERATOR_IDENTITY": f"{name}-new"})
            ready = watch.seconds
            until("releases go on", lambda: len(bound(ground.pods())) > known + 3, 60, 0.1)
            took = watch.seconds
            tell(f"bound again {took:.1f} s after all operators were killed ({ready:.1f} s of it their start)")
            assert took < 15
        finally:
            for name in OPERATORS:  # under their usual names
                arena.crew().kill(name)
                lab.restart(name)


def test_a_leader_that_is_told_to_stop_leaves_no_gap(arena: Field, tell: Tell) -> None:
    """As in an upgrade: it gives its Lease back, and the other one releases within five seconds."""
    lab = arena.own_lab()
    with arena.ground("handover", nodes=2, shape=Shape(cpu="8", memory="32Gi")) as ground:
        _work(ground)
        ground.until_bound(12, 60)
        leader = _leader(arena)
        usual = _longest_pause(ground, 4.0)
        try:
            lab.processes.stop(leader)
            pause = _longest_pause(ground, 10.0)
            assert _leader(arena) not in ("", leader)
            tell(f"longest time without a bind {pause:.1f} s around the hand-over, {usual:.1f} s before it")
            assert pause < 5
        finally:
            lab.restart(leader)
