"""Pods of an app come one by one, in any order: nothing about the app is decided by the first that is seen."""

from __future__ import annotations

from itertools import permutations

import pytest

from slackwater.cycle.appsize import TaskNeed
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.objects.records import CustomRecord
from support.builders.apps import play
from support.fakes.cluster import World, enforcing, node, owned


def pooled(*names: str) -> World:
    """Nodes of ten CPUs under a pool."""
    world = enforcing(*(node(name, cpu=10) for name in names))
    world.configure("ReservationPool", "pool", queue="default")
    return world


def kind(world: World, app: str = "etl") -> Category | None:
    """The category of an app."""
    return world.cache.views.histories.category(f"team/{app}")


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


# -- drivers by ownership ---------------------------------------------------------------------------------------------


def test_a_pod_that_owned_pods_is_a_driver_for_its_life() -> None:
    """Its children are gone for now: it is no task, and its next children are."""
    world = enforcing(node("a"))
    boss = world.create("boss", role="", gates=())
    child = world.create("child", owners=[owned("Pod", "boss", uid=boss.uid)], role="")
    for _ in range(2):
        world.cache.views.refresh()
        assert world.cache.views["team/pod/boss"].groups[0].role is Role.DRIVER
        world.delete(child)
        world.change(boss.uid, labels={"touched": "yes"})
        world.cache.views.refresh()
        assert [group.role for group in world.cache.views["team/pod/boss"].groups] == [Role.DRIVER]
        child = world.create("child", owners=[owned("Pod", "boss", uid=boss.uid)], role="")


# -- a name used again ------------------------------------------------------------------------------------------------


def test_a_name_used_again_is_judged_by_its_own_pods() -> None:
    """Finished pods of last night are there still: age, start, size and category of that run are none of tonight's."""
    world = pooled(*"abcd")
    operator = world.operator()
    size = {names.TASKS: "30", names.TASK_CPU: "1"}
    old = [world.create(f"t{number}", app="nightly", annotations=size) for number in range(3)]
    play(world, operator, 5)
    world.finish(*(pod.uid for pod in old))
    assert kind(world, "nightly") is Category.LARGE
    world.now += 86_400
    began = world.now
    world.create("new", app="nightly")
    world.cache.views.refresh()
    each = world.cache.views["team/nightly"]
    assert (each.submitted, each.started, each.size, each.counts.done) == (began, False, None, 0)
    operator.step()
    assert kind(world, "nightly") is Category.SMALL


def test_a_name_used_again_at_once_is_a_new_run_where_nothing_is_left() -> None:
    """The last pod is gone and the next one there, told in one breath."""
    world = pooled(*"abcd")
    operator = world.operator()
    old = [world.create(f"t{number}", app="nightly") for number in range(30)]
    operator.step(60.0)
    assert kind(world, "nightly") is Category.LARGE
    world.delete(*(world.pods[pod.uid] for pod in old))
    world.create("new", app="nightly")
    operator.step()
    assert kind(world, "nightly") is Category.SMALL


def test_stages_and_retries_are_one_run() -> None:
    """A stage a minute after the last, and a retry an hour after, made by the same object."""
    world = enforcing(node("a"))
    job = owned("Workflow", "w", group="argoproj.io")
    world.cache.learn(job, ())
    for pause, owner in ((60.0, ()), (60.0, ()), (3600.0, (job,))):
        pod = world.create(f"t{world.now:g}", app="etl", owners=(job,) if owner or world.now == 1000.0 else ())
        world.finish(pod.uid)
        world.now += pause
    world.create("last", app="etl", owners=(job,))
    world.cache.views.refresh()
    each = world.cache.views["team/etl"]
    assert (each.submitted, each.started, each.counts.done) == (1000.0, True, 3)


def test_a_driver_that_is_gone_was_at_work_until_then() -> None:
    """Seed 189: tasks ended long ago, the driver lived on, was evicted and is made anew: that is one run."""
    world = enforcing(node("a"))
    driver = world.create("driver", app="etl", role=names.DRIVER)
    task = world.create("task", app="etl")
    world.cache.views.refresh()
    world.finish(task.uid)
    world.now += 3600.0
    world.cache.views.refresh()
    world.delete(world.pods[driver.uid])
    world.create("driver-2", app="etl", role=names.DRIVER)
    world.cache.views.refresh()
    each = world.cache.views["team/etl"]
    assert (each.counts.done, each.began) == (1, 1000.0)


def test_tasks_that_a_driver_kept_out_are_forgotten_with_its_run() -> None:
    """A driver that comes back within minutes is placed by them; the one of the next night is not."""
    world = enforcing(node("a"))
    operator = world.operator()
    need = TaskNeed(Resources(cpu=4.0), "", "default")
    world.cache.gave_up(("team/etl", need), None, world.now)
    operator.step(300.0)
    world.create("driver", role="driver", app="etl")
    operator.step(0.0)
    assert world.cache.views.histories.blocked("team/etl") == need
    play(world, operator, 900)
    assert world.cache.views.histories.blocked("team/etl") == need, "its run goes on"
    world.finish(*world.pods)
    play(world, operator, 5)
    world.now += 86_400
    operator.step()
    assert world.cache.views.histories.blocked("team/etl") is None


# -- what pods say of the whole ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_largest_size_counts_and_any_pod_can_pause(order: tuple[int, ...]) -> None:
    """Whichever pod comes first."""
    said = [{names.TASKS: "3"}, {names.TASKS: "many", names.PAUSE: "drain"}, {names.TASKS: "7", names.PAUSE: "true"}]
    world = enforcing(node("a"))
    for number in order:
        world.create(f"t{number}", app="etl", annotations={**said[number], names.ITERATIVE: str(number)})
    world.cache.views.refresh()
    each = world.cache.views["team/etl"]
    assert each.size is not None
    assert (each.size.tasks, each.pause, each.stages) == (7, "true", 2)
    assert any("'many'" in problem for problem in each.problems)
