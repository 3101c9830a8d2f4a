"""Pods of an app come one by one, in any order: nothing about the app is decided by the first that is seen."""

from __future__ import annotations

from slackwater.pools.pools import Category
from slackwater_cluster.watch.records import CustomRecord
from support.fakes.cluster import World, enforcing, node


def pooled(*names: str) -> World:
    """Nodes of ten CPUs under a pool."""
    world = enforcing(*(node(name, cpu=10) for name in names))
    world.configure("ReservationPool", "pool", queue="default")
    return world


def kind(world: World, app: str = "etl") -> Category | None:
    """The category of an app."""
    return world.cache.histories.category(f"team/{app}")


def test_an_app_becomes_large_as_its_pods_arrive() -> None:
    """The first of thirty pods looks like a small app; the small ones' pool is not filled with the others."""
    world = pooled(*"abcd")
    world.create("t0", app="etl")
    operator = world.operator()
    operator.step()
    assert kind(world) is Category.SMALL
    for number in range(1, 30):
        world.create(f"t{number}", app="etl")
    operator.step()
    assert kind(world) is Category.LARGE


def test_a_large_app_stays_large_while_its_pods_end() -> None:
    """One pod of thirty is left: the others do not make it a small app."""
    world = pooled(*"abcd")
    pods = [world.create(f"t{number}", app="etl") for number in range(30)]
    operator = world.operator()
    operator.step()
    world.schedule()
    world.delete(*(world.pods[pod.uid] for pod in pods[1:]))
    operator.step()
    assert kind(world) is Category.LARGE
    world.delete(world.pods[pods[0].uid])
    operator.step()
    world.create("again", app="etl")
    operator.step()
    assert kind(world) is Category.SMALL, "the next app of that name is judged by its own pods"


def test_categories_are_counted_on_the_nodes_there_are_now() -> None:
    """Three pods are large on one node, small on ten, and large again when nine are lost."""
    world = pooled("a")
    for number in range(3):
        world.create(f"t{number}", app="etl")
    operator = world.operator()
    operator.step()
    assert kind(world) is Category.LARGE
    world.add_nodes(*(node(name, cpu=10) for name in "bcdefghij"))
    operator.step()
    assert kind(world) is Category.SMALL
    for name in "bcdefghij":
        world.lose_node(name)
    operator.step()
    assert kind(world) is Category.LARGE


def test_without_a_pool_there_is_no_category() -> None:
    """And none is told of a pool that is gone."""
    world = pooled("a")
    world.create("t0", app="etl", gates=("other",))
    operator = world.operator()
    operator.step()
    assert kind(world) is Category.SMALL
    world.cache.governing.drop("ReservationPool", [CustomRecord(name="pool")])
    world.cache.govern()
    operator.step()
    assert kind(world) is None


def test_small_apps_do_not_wait_for_one_that_comes_pod_by_pod() -> None:
    """A hundred pods arrive one after the other and fill the nodes; a small app that comes then is before them."""
    world = pooled(*"abcd")
    operator = world.operator()
    for number in range(100):
        world.create(f"t{number}", app="large")
        if number % 10 == 0:
            operator.step(0.1)
            world.schedule()
    small = world.create("small", app="small")
    running = [pod for pod in world.pods.values() if pod.node]
    for pod in running[:2]:
        world.finish(pod.uid)
    operator.step()
    world.schedule()
    assert world.pods[small.uid].node, operator.said("small").sentence
