"""What the stock scheduler would finish is finished; what nobody could ever finish is refused and blocks nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.builders.apps import Life, live
from support.fakes.cluster import Operator, World, enforcing, node


def play(world: World, *lives: Life, seconds: int = 120) -> Operator:
    """Run the operator, a second per round, until all of them are over or time is up."""
    begun = [life.begin() for life in lives]
    with asyncio.Runner() as runner:
        operator = world.operator()
        operator.run = runner.run
        live(world, operator, begun, seconds)
    return operator


def app(world: World, name: str, **sizes: Any) -> Life:
    """An app that announces its tasks, which run for five seconds."""
    terms = {"seconds": 5, "gang": False, "announces": True, "priority": 0, "tasks": 2, **sizes}
    return Life(world, name, **terms)


def pooled(*sizes: float) -> World:
    """Nodes of these sizes under a queue with a pool."""
    world = enforcing(*(node(f"n{number}", cpu=size) for number, size in enumerate(sizes)))
    world.configure("AdmissionQueue", "default", order="fifo")
    world.configure("ReservationPool", "pool", queue="default")
    return world


@pytest.mark.parametrize(
    ("nodes", "driver", "task"),
    [([2.0], 1.0, 1.0), ([4.0], 1.0, 3.0), ([8.0, 8.0], 5.0, 6.0)],
    ids=["1 + 1 of 2", "1 + 3 of 4", "5 + 6 of 8 + 8"],
)
def test_a_lone_app_is_never_held_by_its_own_pool(nodes: list[float], driver: float, task: float) -> None:
    """L1: the driver filled the pool, and the only task waited behind it for ever."""
    world = pooled(*nodes)
    alone = app(world, "alone", driver_cpu=driver, cpu=task)
    play(world, alone)
    assert alone.over


def test_a_pod_as_large_as_a_node_runs_on_an_empty_one() -> None:
    """L2: a node of 16 cores takes a pod of 16."""
    world = pooled(16.0)
    pod = world.create("whole", cpu=16.0, app="whole")
    operator = world.operator()
    operator.step()
    world.schedule()
    assert world.pods[pod.uid].node == "n0"


def test_a_driver_that_fits_no_node_is_refused_and_holds_no_budget() -> None:
    """L3: ten cores in sum are not ten on one node; the app behind it goes."""
    world = enforcing(node("n0", cpu=8.0), node("n1", cpu=8.0))
    never = world.create("driver", cpu=10.0, role="driver", app="never")
    later = app(world, "later", driver_cpu=6.0, cpu=3.0)
    operator = play(world, later)
    assert later.over
    assert world.pods[never.uid].gates
    said = operator.said("never")
    assert said.reason == "larger-than-any-node"
    assert "asks for 10 cpu, and no node of queue default that it may use has more than 8" in said.sentence


@pytest.mark.parametrize("gang", [False, True], ids=["a pod", "a gang"])
def test_what_is_larger_than_everything_is_refused_and_blocks_nobody(gang: bool) -> None:
    """L4: apps without a driver are told at once, too."""
    world = pooled(8.0, 8.0)
    marks = {"slackwater.io/gang": "true", "slackwater.io/tasks": "5"} if gang else {}
    for number in range(5 if gang else 1):
        world.create(f"big-{number}", cpu=5.0 if gang else 9.0, app="big", annotations=marks)
    behind = app(world, "behind", driver_cpu=1.0, cpu=1.0)
    operator = play(world, behind)
    assert behind.over
    assert operator.said("big").reason in {"larger-than-any-node", "gang-larger-than-cluster", "infeasible"}


@pytest.mark.parametrize("kept", [True, False], ids=["the failed pod is kept", "the failed pod is deleted"])
def test_a_driver_that_failed_comes_again_with_more_memory(kept: bool) -> None:
    """The old 16 GiB and the new 20 GiB together are more than the node, and only the new ones are asked for."""
    world = enforcing(node("a", cpu=8, memory=32))
    operator = world.operator()
    first = world.create("etl-1", 1, 16.0, role="driver", app="etl")
    operator.step()
    world.schedule()
    world.finish(first.uid, phase="Failed")
    if not kept:
        world.delete(world.pods[first.uid])
    again = world.create("etl-2", 1, 20.0, role="driver", app="etl")
    operator.step()
    world.schedule()
    assert world.pods[again.uid].node == "a"
