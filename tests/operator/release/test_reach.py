"""Capacity is what pods can reach: nodes that are tainted, cordoned or out of the selector let nobody in."""

from typing import Any

import msgspec
import pytest

from slackwater_cluster.watch.records import Constraints, NodeRecord, Tolerated
from support.builders.apps import Life
from support.fakes.cluster import Operator, World, enforcing, node

TAINT = (("nvidia.com/gpu", "present", "NoSchedule"),)
TOLERANT = Constraints(tolerations=(Tolerated("nvidia.com/gpu", "Exists", "", "NoSchedule"),))


def tainted(name: str, cpu: float = 32) -> NodeRecord:
    """A node that is kept for others."""
    return msgspec.structs.replace(node(name, cpu=cpu, memory=256), taints=TAINT)


def live(world: World, operator: Operator, lives: list[Life], seconds: int) -> int:
    """Let everything live until all is over or the time is up; returns the seconds it took."""
    for second in range(seconds):
        operator.step(0)
        world.schedule()
        world.now += 1
        for life in lives:
            life.step()
        if all(life.over for life in lives):
            return second
    return seconds


@pytest.mark.parametrize("pools", [False, True], ids=["no pool", "pool"])
@pytest.mark.parametrize("count", [8, 24])
def test_a_burst_of_apps_beside_tainted_nodes_ends(count: int, pools: bool) -> None:
    """Drivers that the sum over all nodes would admit fill the two nodes they can use, and no task ever runs."""
    world = enforcing(node("a", cpu=8), node("b", cpu=8), tainted("x"), tainted("y"))
    if pools:
        world.configure("ReservationPool", "default")
    lives = [Life(world, f"app-{number}", tasks=2, cpu=2, driver_cpu=2, seconds=5).begin() for number in range(count)]
    assert live(world, world.operator(), lives, 60 * count) < 60 * count


def capacity(world: World) -> dict[str, Any]:
    """What the round before last counted on."""
    operator = world.operator()
    operator.step()
    outlook = operator.releaser.outlook
    assert outlook is not None
    queue = outlook.snapshot.queues[0]
    return {"capacity": queue.capacity["cpu"], "free": queue.free["cpu"]}


def test_the_queue_is_worth_what_its_pods_reach() -> None:
    """The same number for budget, pools, status and dashboard; a tolerant app makes it larger while it is there."""
    world = enforcing(node("a", cpu=8), tainted("x"))
    assert capacity(world) == {"capacity": 8, "free": 8}
    able = world.create("able", app="able", cpu=16, constraints=TOLERANT)
    assert capacity(world)["capacity"] == 40
    world.delete(able)
    assert capacity(world)["capacity"] == 8


def test_a_cordoned_node_is_worth_nothing() -> None:
    """As one that is not Ready."""
    world = enforcing(node("a", cpu=8), msgspec.structs.replace(node("b", cpu=8), cordoned=True))
    assert capacity(world)["capacity"] == 8
