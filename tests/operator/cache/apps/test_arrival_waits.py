"""Pods that wait for others of their app: a driver, the rest of a gang, the stages before their own."""

from __future__ import annotations

import pytest

from slackwater.admission.awaitedpods import GRACE
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from support.builders.apps import play
from support.fakes.cluster import World, enforcing, node, owned

# -- drivers that never come ------------------------------------------------------------------------------------------

WORKER = {"training.kubeflow.org/job-name": "fit", "training.kubeflow.org/job-role": "worker"}
FIT = {"training.kubeflow.org/job-name": "fit"}
OWNED = owned("PyTorchJob", "fit", group="kubeflow.org")


def worker(world: World, name: str) -> PodRecord:
    """A worker of a PyTorchJob."""
    return world.create(name, labels=WORKER, owners=[OWNED])


def running(world: World) -> set[str]:
    """The names of pods that run."""
    return {pod.name for pod in world.pods.values() if pod.node and not pod.done}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_driver_that_ended_well_and_was_deleted_is_not_waited_for(phase: str) -> None:
    """Its work is done; one that failed is made anew, and tasks wait for it as long as the app lives."""
    world = enforcing(node("a"))
    driver = world.create("driver", app="fit", labels=FIT, role=names.DRIVER)
    operator = world.operator()
    play(world, operator, 10)
    first = world.create("first", app="fit", labels=FIT)
    play(world, operator, 10)
    assert world.pods[first.uid].node
    world.finish(driver.uid, phase=phase)
    world.delete(world.pods[driver.uid])
    world.create("second", app="fit", labels=FIT)
    play(world, operator, 60)
    assert ("second" in running(world)) is (phase == "Succeeded")


def test_a_driver_that_was_told_to_go_is_waited_for_also_where_it_ended_well() -> None:
    """Its node was drained and it exits with 0: another one comes, and finds its room."""
    world = enforcing(node("a"))
    driver = world.create("driver", app="fit", labels=FIT, role=names.DRIVER)
    operator = world.operator()
    play(world, operator, 10)
    world.create("first", app="fit", labels=FIT)
    play(world, operator, 10)
    world.change(driver.uid, deleted=world.now + 30)
    world.finish(driver.uid, phase="Succeeded")
    world.delete(world.pods[driver.uid])
    world.create("second", app="fit", labels=FIT)
    play(world, operator, 60)
    assert "second" not in running(world)


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
    world.cache.learn(cluster, ())
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
