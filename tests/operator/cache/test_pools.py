"""Pools, forecasts and their accuracy between rounds."""

import pytest

from slackwater_cluster import names
from slackwater_cluster.customresources import ReservationPoolSpec
from slackwater_operator.cache.phases import Accuracy, EndedSlots
from slackwater_operator.cache.pools import bounds, demand, restored
from support.fakes.cluster import enforcing, node
from support.fakes.loop import release_loop, turn


@pytest.mark.parametrize(
    ("status", "delta"),
    [({"delta": 0.4}, 0.4), ({}, 0.1), ({"delta": "x"}, 0.1), ({"delta": 7}, 0.1)],
    ids=["kept", "never written", "no number", "out of range"],
)
def test_border_survives_a_restart(status: dict[str, object], delta: float) -> None:
    """The status field is the memory; what cannot be read starts anew."""
    assert restored(ReservationPoolSpec(), status).delta == delta


def test_border_stays_within_its_owners_bounds() -> None:
    """A border from before the bounds were set is moved into them."""
    spec = ReservationPoolSpec.model_validate({"delta": {"initial": 0.2, "minimum": 0.2, "maximum": 0.3}})
    assert bounds(spec) == (0.2, 0.3)
    assert restored(spec, {"delta": 0.9}).delta == 0.3


def test_empty_cluster_is_open_as_soon_as_its_room_is_known() -> None:
    """An extender that is just starting tells of no room; a second later the pools have all there is."""
    world = enforcing(*(node(name, cpu=10) for name in "abcd"))
    world.configure("ReservationPool", "pool", queue="default")
    pods = [world.create(f"t{number}", app="etl") for number in range(3)]
    operator = world.operator()
    known, world.nodes = world.nodes, {}  # the extender has not listed them yet
    operator.step()
    world.nodes = known
    assert operator.said("etl").reason != "released"
    operator.step()
    assert world.released == [pod.uid for pod in pods], operator.said("etl").sentence


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "known from its last run"])
def test_completed_driver_gives_its_slots_back(announced: bool) -> None:
    """Its executors are gone and it stays for people to read: a gang of the empty cluster starts."""
    world = enforcing(node("a", cpu=4), node("b", cpu=4))
    world.configure("ReservationPool", "pool", queue="default")
    size = {names.TASKS: "3", names.TASK_CPU: "2", names.TASK_MEMORY: "1Gi"} if announced else {}
    boss = world.create("etl-1-driver", cpu=1, role="driver", app="etl-1", annotations=size)
    operator = world.operator()
    operator.step()
    world.schedule()
    tasks = [world.create(f"etl-1-{number}", cpu=2, app="etl-1") for number in range(3)]
    for _ in range(3):
        operator.step()
        world.schedule()
    world.finish(boss.uid)
    world.cache.views.refresh()
    world.delete(*(world.pods[pod.uid] for pod in tasks))
    for number in range(2):
        world.create(f"g{number}", cpu=2, app="gang", annotations={names.GANG: "true", names.TASKS: "2"})
    operator.step()
    world.schedule()
    assert [pod.name for pod in world.pods.values() if pod.node and not pod.done] == ["g0", "g1"], operator.said(
        "gang"
    ).sentence


def test_unknown_size_counts_as_unknown() -> None:
    """A driver alone, without a word about its tasks, has no demand that could be compared."""
    world = enforcing(node("a"))
    world.create("driver", role="driver", app="etl")
    world.cache.views.refresh()
    each = world.cache.views["team/etl"]
    assert demand(each, each.groups[0].request) is None


def test_accuracy_compares_what_came_with_what_was_said() -> None:
    """Four were expected, one came: off by three."""
    accuracy = Accuracy()
    accuracy.predict(0.0, 1.0, 4.0, base=10.0)
    accuracy.settle(0.5, base=10.0)
    assert accuracy.count == 0
    accuracy.settle(1.0, base=11.0)
    assert (accuracy.count, accuracy.mean) == (1, 3.0)


def test_where_nothing_was_said_and_nothing_came_nothing_is_learned() -> None:
    """An idle hour makes earlier forecasts no better, and moves no number."""
    accuracy = Accuracy(mean=3.0, count=1)
    accuracy.predict(0.0, 1.0, 0.0, base=10.0)
    accuracy.settle(2.0, base=10.0)
    assert (accuracy.count, accuracy.mean) == (1, 3.0)


def test_slots_of_tasks_that_ended_stay_counted_when_their_app_is_gone() -> None:
    """Two tasks of half a slot, one more after its pod is deleted; then the app goes, and comes again."""
    ended = EndedSlots()
    for tasks, finished in (([("a", 0.5)], 2), ([("a", 0.0)], 3), ([], 0), ([("a", 0.5)], 1)):
        ended.count(tasks, {"a": finished})
    assert ended.total == 2.0


def test_what_an_app_ended_outside_of_a_pool_gives_it_no_slots() -> None:
    """One joins with 400 ended tasks, ends one more, leaves, ends nine and comes back; a new one ends two at once."""
    ended = EndedSlots()
    turns = [
        ([], {"moved": 400}, 0.0),
        ([("moved", 1.0)], {"moved": 400}, 0.0),
        ([("moved", 1.0)], {"moved": 401}, 1.0),
        ([], {"moved": 410}, 1.0),
        ([("moved", 1.0)], {"moved": 410}, 1.0),
        ([("moved", 1.0), ("new", 1.0)], {"moved": 410, "new": 2}, 3.0),
    ]
    for tasks, finished, total in turns:
        ended.count(tasks, finished)
        assert ended.total == total


def test_forecasts_of_a_pool_are_judged_by_its_own_tasks() -> None:
    """Tasks of another queue end, and their pods are deleted: a pool that forecast nothing was right."""
    world = enforcing(node("a", cpu=64))
    world.namespace("other")
    world.configure("AdmissionQueue", "default")
    world.configure("AdmissionQueue", "other", namespaces=["other"])
    world.configure("ReservationPool", "pool", queue="default")
    made = release_loop(world)
    world.create("idle-0", app="idle", cpu=1)
    pods = [world.create(f"w{number}", app="work", namespace="other", cpu=1) for number in range(20)]
    turn(made, world, 5)
    world.finish(*(pod.uid for pod in pods))
    turn(made, world, 5)
    world.delete(*(world.pods[pod.uid] for pod in pods))
    turn(made, world, 5)
    state = world.cache.queues.pool_states["pool"]
    assert (state.accuracy.mean, state.ended.total) == (0.0, 0.0)
    world.finish(*(pod.uid for pod in world.pods.values() if pod.node))
    turn(made, world, 5)
    assert state.ended.total > 0
