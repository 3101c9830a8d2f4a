"""Where nobody waits and half of the cluster is free, tasks come without a gate; the first that waits closes it."""

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, bound, gated, until

pytestmark = pytest.mark.lab
POLICY = "/apis/slackwater.io/v1alpha1/slackpolicies/default"


def test_the_gate_opens_where_nobody_waits_and_closes_with_the_first_who_does(arena: Field) -> None:
    """Sixteen cores: four tasks pass, a driver is held, and when more than half is taken, so are tasks."""
    lab = arena.own_lab()
    with arena.ground("open", nodes=2) as ground:
        arena.until_measured(ground)
        arena.api.delete(ground.made.pop())  # its queue selects nodes, and only a nomination brings pods there
        try:
            arena.stop_operators()
            lab.restart("operator", {"SLACKWATER_OPERATOR_OPEN_NODES": "1"})
            until("the gate is open", lambda: _is_open(arena), 40, 0.2)
            passed = ground.create(ground.pod(f"early-{i}", app="early") for i in range(4))
            assert not any(map(gated, passed))
            ground.until_bound(4, 30)
            assert all(pod["metadata"]["annotations"]["slackwater.io/shrunk"] == "200/150" for pod in passed)
            (driver,) = ground.create([ground.pod("lead", app="led", role="driver")])
            assert gated(driver)
            ground.until_bound(5, 30)
            ground.create(ground.pod(f"crowd-{i:02}", app="crowd", cpu="3") for i in range(12))
            until("the gate is closed", lambda: not _is_open(arena), 30, 0.1)
            late = until("a task is held", lambda: _held(ground, "late"), 20, 0.3)
            assert all(map(gated, late))
            ground.clear()
            until("the gate is open again", lambda: _is_open(arena), 60, 0.3)
        finally:
            arena.stop_operators()
            lab.repair()
    until("the gate is closed in a small cluster", lambda: not _is_open(arena), 60, 0.3)


def _is_open(arena: Field) -> bool:
    return bool((arena.api.find(POLICY) or {}).get("status", {}).get("openGate"))


def _held(ground: Ground, name: str) -> list[dict[str, object]]:
    """A task that is created now, if it is held: the API server may be behind what was written."""
    made = ground.create([ground.pod(f"{name}-{len(ground.pods())}", app=name)])
    return [pod for pod in made if gated(pod) and not bound([pod])]
