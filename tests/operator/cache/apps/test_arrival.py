"""Pods of an app come one by one, in any order: nothing about the app is decided by the first that is seen."""

from __future__ import annotations

from itertools import permutations

import pytest

from slackwater.admission.awaitedpods import GRACE
from slackwater.cycle.appsize import TaskNeed
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.objects.records import CustomRecord, PodRecord
from support.fakes.cluster import Operator, World, enforcing, node, owned


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


# -- drivers that never come ------------------------------------------------------------------------------------------

WORKER = {"training.kubeflow.org/job-name": "fit", "training.kubeflow.org/job-role": "worker"}
OWNED = owned("PyTorchJob", "fit", group="kubeflow.org")


def worker(world: World, name: str) -> PodRecord:
    """A worker of a PyTorchJob."""
    return world.create(name, labels=WORKER, owners=[OWNED])


def running(world: World) -> set[str]:
    """The names of pods that run."""
    return {pod.name for pod in world.pods.values() if pod.node and not pod.done}


def play(world: World, operator: Operator, seconds: float) -> None:
    """Rounds and bindings for so long, every five seconds."""
    until = world.now + seconds
    while world.now < until:
        operator.step(5.0)
        world.schedule()


def test_workers_without_a_driver_go_after_the_grace_period() -> None:
    """A PyTorchJob may have workers only: nobody else will come, and they need not wait for ever."""
    world = enforcing(node("a"))
    operator = world.operator()
    worker(world, "w0")
    play(world, operator, GRACE - 10)
    worker(world, "w1")
    assert not running(world)
    assert operator.said("training/fit").reason == "waiting-for-driver"
    play(world, operator, 15)
    assert running(world) == {"w0", "w1"}, "the time counts from the first task"


def test_a_driver_that_was_seen_is_waited_for() -> None:
    """It is gone and will be made anew: its workers wait for it, however long that takes."""
    world = enforcing(node("a"))
    operator = world.operator()
    master = world.create(
        "master", role="driver", labels={**WORKER, "training.kubeflow.org/job-role": "master"}, owners=[OWNED]
    )
    worker(world, "w0")
    world.cache.views.refresh()
    world.delete(master)
    play(world, operator, 3 * GRACE)
    assert not running(world)
    world.create("again", role="driver", labels={**WORKER, "training.kubeflow.org/job-role": "master"}, owners=[OWNED])
    play(world, operator, 10)
    assert running(world) == {"again", "w0"}


RAY = {"ray.io/cluster": "rc", "ray.io/is-ray-node": "yes"}
CLEANUP = {**RAY, "ray.io/node-type": "redis-cleanup", "batch.kubernetes.io/job-name": "rc-redis-cleanup"}


def test_who_is_no_task_waits_for_no_driver() -> None:
    """KubeRay cleans up Redis in a pod of a deleted cluster, whose head never returns."""
    world = enforcing(node("a"))
    operator = world.operator()
    cluster, job = owned("RayCluster", "rc", group="ray.io"), owned("Job", "rc-redis-cleanup", group="batch")
    head = world.create("head", role="driver", labels={**RAY, "ray.io/node-type": "head"}, owners=[cluster])
    worker = world.create("w0", role="task", labels={**RAY, "ray.io/node-type": "worker"}, owners=[cluster])
    play(world, operator, 10)
    assert running(world) == {"head", "w0"}
    world.delete(world.pods[head.uid])
    world.change(worker.uid, deleted=world.now)
    world.create("cleanup", role="unknown", labels=CLEANUP, owners=[job])
    world.cache.learn(job, (cluster,))
    play(world, operator, 10)
    assert "cleanup" in running(world), "nor for the end of a worker"


def test_executors_of_a_driver_that_has_an_owner_wait_for_nobody() -> None:
    """Driver and executors are one app, whoever made the driver."""
    world = enforcing(node("a"))
    operator = world.operator()
    flow, spark = owned("Workflow", "flow", group="argoproj.io"), {"spark-app-selector": "s"}
    driver = world.create("driver", role="driver", labels={**spark, "spark-role": "driver"}, owners=[flow])
    world.cache.learn(flow, ())
    play(world, operator, 10)
    world.create("e0", labels={**spark, "spark-role": "executor"}, owners=[owned("Pod", "driver", driver.uid)])
    play(world, operator, 10)
    assert running(world) == {"driver", "e0"}


# -- gangs ------------------------------------------------------------------------------------------------------------

GANG = {names.GANG: "true", names.TASKS: "4"}


def test_a_gang_of_two_sizes_goes_when_all_of_it_is_there() -> None:
    """Three small tasks and a large one, one after the other: the announced number counts over both kinds."""
    world = enforcing(node("a"))
    operator = world.operator()
    for number in range(3):
        world.create(f"t{number}", app="gang", annotations=GANG)
        operator.step()
        assert not world.released
        assert operator.said("gang").reason == "gang-incomplete"
    world.create("large", cpu=2, app="gang", annotations=GANG)
    operator.step()
    assert len(world.released) == 4


@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 1.0, 2.0)], ids=["equal", "of two sizes"])
def test_a_gang_that_its_driver_makes_goes_whole(sizes: tuple[float, ...]) -> None:
    """The driver runs and makes its tasks one after the other: none goes before the last is there."""
    world = enforcing(node("a"))
    operator = world.operator()
    world.create("driver", role="driver", app="gang", annotations=GANG)
    play(world, operator, 5)
    assert running(world) == {"driver"}
    for number, cpu in enumerate(sizes):
        assert running(world) == {"driver"}
        world.create(f"t{number}", cpu=cpu, app="gang", annotations=GANG)
        play(world, operator, 5)
    assert len(running(world)) == 5


def test_the_rest_of_a_gang_goes_on_though_the_others_are_gone() -> None:
    """Three have ended and are gone, the fourth is made anew: it waits for others to come, but not for ever."""
    world = enforcing(node("a"))
    operator = world.operator()
    pods = [world.create(f"t{number}", app="gang", annotations=GANG) for number in range(4)]
    play(world, operator, 5)
    world.create("again", app="gang", annotations=GANG)
    world.cache.views.refresh()
    world.delete(*(world.pods[pod.uid] for pod in pods))
    play(world, operator, GRACE)
    assert not running(world)
    play(world, operator, 10)
    assert running(world) == {"again"}, operator.said("gang").sentence


# -- stages -----------------------------------------------------------------------------------------------------------

STRICT = {names.DAG: "strict"}


def test_a_strict_stage_waits_for_parents_that_have_not_come_yet() -> None:
    """The reduce is seen first: it goes after its maps, which come ten seconds later."""
    world = enforcing(node("a"))
    operator = world.operator()
    world.create("reduce", app="dag", stage="reduce", annotations={**STRICT, names.PARENTS: "map"})
    play(world, operator, 10)
    assert not running(world)
    assert operator.said("dag").reason == "waiting-for-parents"
    world.create("map", app="dag", stage="map", annotations=STRICT)
    play(world, operator, 5)
    assert running(world) == {"map"}
    play(world, operator, 10)
    assert running(world) == {"map", "reduce"}


def test_a_strict_stage_goes_after_the_grace_period() -> None:
    """Nobody makes the stage that its label names: it goes, and a sentence says what it waited for."""
    world = enforcing(node("a"))
    operator = world.operator()
    world.create("reduce", app="dag", stage="reduce", annotations={**STRICT, names.PARENTS: "map"})
    play(world, operator, GRACE)
    assert not running(world)
    play(world, operator, 10)
    assert running(world) == {"reduce"}
    assert "stage 'reduce' waits for map, of which no pod has come" in operator.said("dag").sentence


def test_parents_that_came_and_went_are_not_waited_for() -> None:
    """The maps have ended, and their pods are gone, before the reduce is made."""
    world = enforcing(node("a"))
    operator = world.operator()
    pods = [world.create(name, app="dag", stage=name, annotations=STRICT) for name in ("map", "other")]
    play(world, operator, 5)
    world.create("reduce", app="dag", stage="reduce", annotations={**STRICT, names.PARENTS: "map"})
    world.delete(world.pods[pods[0].uid])
    play(world, operator, 5)
    assert "reduce" in running(world)
    assert not world.cache.views["team/dag"].problems


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
