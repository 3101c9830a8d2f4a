"""Room node by node in the operator's snapshot, and which nodes each group of pods reaches."""

import asyncio

import msgspec
import numpy as np

from slackwater.cycle.feasibility import fitting
from slackwater_cluster.objects.records import Constraints, Tolerated
from slackwater_operator.cache.snapshot import take_snapshot
from support.fakes.cluster import World, enforcing, node

TAINT = (("dedicated", "gpu", "NoSchedule"),)
TOLERANT = Constraints(tolerations=(Tolerated("dedicated", "Equal", "gpu", "NoSchedule"),))


def tainted() -> World:
    """A plain node of 4 cores and a tainted one of 32."""
    return enforcing(node("plain", cpu=4.0), msgspec.structs.replace(node("gpu", cpu=32.0), taints=TAINT))


def fits(world: World, *, asked: bool) -> dict[str, list[str]]:
    """The names of the nodes that could take a pod of each app now."""
    snapshot = take_snapshot(world.cache, world.now, asyncio.run(world.rooms()) if asked else None)
    assert snapshot.nodes is not None
    found = {}
    for app in snapshot.apps:
        mask = np.asarray(fitting(snapshot, snapshot.queues[0], app.groups[0]))
        found[app.id] = [name for name, fit in zip(snapshot.nodes.names, mask, strict=True) if fit]
    return found


def test_a_tainted_node_is_reached_by_those_who_tolerate_it() -> None:
    """The same with the extender's rooms and with declared sums."""
    world = tainted()
    world.create("small", app="small", cpu=2.0)
    world.create("large", app="large", cpu=8.0)
    world.create("able", app="able", cpu=8.0, constraints=TOLERANT)
    expected = {"team/small": ["plain"], "team/large": [], "team/able": ["gpu"]}
    assert fits(world, asked=True) == fits(world, asked=False) == expected


def test_a_taint_that_goes_lets_others_in() -> None:
    """What was kept about a node is looked at again once it changes."""
    world = tainted()
    world.create("large", app="large", cpu=8.0)
    assert fits(world, asked=True) == {"team/large": []}
    world.add_nodes(node("gpu", cpu=32.0))
    assert fits(world, asked=True) == {"team/large": ["gpu"]}


def test_what_flies_to_a_node_is_taken_from_it() -> None:
    """Without the extender nobody else counts a pod between its release and its bind."""
    world = enforcing(node("n", cpu=4.0))
    first = world.create("first", app="first", cpu=3.0)
    world.create("second", app="second", cpu=3.0)
    world.cache.begin(first.uid, world.now, "n")
    assert fits(world, asked=False)["team/second"] == []


def test_where_pods_that_are_gone_could_run_is_forgotten() -> None:
    """On nodes that never change every run may choose others, for years."""
    world = enforcing(*(node(f"n{number}") for number in range(3)))
    for run in range(50):
        wish = Constraints(selector=(("run", str(run)),))
        pod = world.create(f"pod-{run}", app=f"run-{run}", constraints=wish)
        assert fits(world, asked=False) == {f"team/run-{run}": []}
        world.delete(pod)
    assert len(world.cache.reach) <= 3
