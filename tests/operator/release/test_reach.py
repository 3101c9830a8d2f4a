"""Capacity is what pods can reach: nodes that are tainted, cordoned or out of the selector let nobody in."""

from typing import Any

import msgspec
import pytest

from slackwater_cluster import names
from slackwater_cluster.objects.records import Constraints, NodeRecord, OwnerRef, PodRecord, Tolerated
from slackwater_operator.release.stallwatch import StallAction
from support.builders.apps import Life, live
from support.fakes.cluster import Operator, World, enforcing, node

TAINT = (("nvidia.com/gpu", "present", "NoSchedule"),)
TOLERATED = (Tolerated("nvidia.com/gpu", "Exists", "", "NoSchedule"),)
TOLERANT = Constraints(tolerations=TOLERATED)
DEVICES = Constraints(selector=(("devices", "yes"),), tolerations=TOLERATED)  # as a chart for GPU jobs has it


def tainted(name: str, cpu: float = 32) -> NodeRecord:
    """A node that is kept for others."""
    return msgspec.structs.replace(node(name, cpu=cpu, memory=256, devices="yes"), taints=TAINT)


@pytest.mark.parametrize("pools", [False, True], ids=["no pool", "pool"])
@pytest.mark.parametrize("count", [8, 24])
def test_a_burst_of_apps_beside_tainted_nodes_ends(count: int, pools: bool) -> None:
    """Drivers that the sum over all nodes would admit fill the two nodes they can use, and no task ever runs."""
    world = enforcing(node("a", cpu=8), node("b", cpu=8), tainted("x"), tainted("y"))
    if pools:
        world.configure("ReservationPool", "default")
    lives = [Life(world, f"app-{number}", tasks=2, cpu=2, driver_cpu=2, seconds=5).begin() for number in range(count)]
    assert live(world, world.operator(), lives, 60 * count) < 60 * count


def test_a_burst_of_first_runs_ends() -> None:
    """`spark-submit` announces no executors: as on the real nodes where six drivers of two cores left 1.8 each."""
    world = enforcing(node("a", cpu=7.8), node("b", cpu=7.8), tainted("x"), tainted("y"))
    spark = {"spark-app-selector": "", "spark-role": "driver"}
    drivers = []
    for number in range(8):
        labels = {**spark, "spark-app-selector": f"spark-{number}"}
        drivers.append(world.create(f"app-{number}-driver", cpu=2, role="driver", labels=labels))
    operator = world.operator()
    for _ in range(60):
        operator.step()
        world.schedule()
        running = [pod for pod in world.pods.values() if pod.node and not pod.done]
        for pod in [pod for pod in running if pod.labels["spark-role"] == "driver"]:
            _executor(world, pod)
    assert all(world.pods[pod.uid].done for pod in drivers)


def _executor(world: World, driver: PodRecord) -> None:
    """Spark's driver makes one executor once it runs, and ends when that has run for a second."""
    name = driver.name.replace("driver", "exec-1")
    mine = [pod for pod in world.pods.values() if pod.name == name]
    if not mine:
        boss = OwnerRef(
            kind="Pod", name=driver.name, uid=driver.uid, group="", controller=True, namespace=driver.namespace
        )
        labels = {**driver.labels, "spark-role": "executor"}
        world.create(name, cpu=2, role="task", labels=labels, owners=[boss])
    elif mine[0].node:
        world.finish(mine[0].uid, driver.uid)


def capacity(world: World) -> dict[str, Any]:
    """What the round before last counted on."""
    operator = world.operator()
    operator.step()
    result = operator.releaser.result
    assert result is not None
    queue = result.snapshot.queues[0]
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


def stalls(world: World, operator: Operator, seconds: int) -> list[StallAction]:
    """What the watch finds within so many seconds."""
    for _ in range(seconds):
        operator.step()
        world.schedule()
        result = operator.releaser.result
        assert result is not None
        if found := operator.stalls.look(result):
            return found
    return []


def standing(world: World, name: str, where: str, cpu: float) -> PodRecord:
    """A bare driver on a node, as spark-submit makes it, and one task of it that waits."""
    driver = world.create(f"{name}-driver", app=name, role="driver", cpu=cpu)
    world.change(driver.uid, node=where, gates=(), phase="Running", started=world.now)
    return driver


def test_a_stall_shows_although_the_rooms_of_nodes_add_up() -> None:
    """One core is free on each of four nodes, and a task wants two: no sum of rooms serves it."""
    world = enforcing(*(node(name, cpu=4) for name in "abcd"))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10})
    for name in "abcd":
        standing(world, f"app-{name}", name, 3)
        world.create(f"task-{name}", app=f"app-{name}", cpu=2)
    [action] = stalls(world, world.operator(), 30)
    assert action.stall.waiting == 4
    assert "no node of the 4" in action.stall.words


def test_a_stall_is_told_on_bare_drivers_too() -> None:
    """Nobody would bring them back, so none is given up; each learns of it."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    drivers = [standing(world, f"app-{number}", "a", 2) for number in range(2)]
    for number in range(2):
        world.create(f"task-{number}", app=f"app-{number}", cpu=2)
    [action] = stalls(world, world.operator(), 30)
    assert action.victim is None
    assert {pod.uid for _, pod in action.told} == {driver.uid for driver in drivers}


def test_a_driver_in_the_way_of_its_own_tasks_is_given_up_and_then_refused() -> None:
    """Seed 397: nobody knew its tasks; they fit no node beside it, and an app that could run waited behind it."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    driver = standing(world, "own", "a", 3)
    world.change(driver.uid, owners=(OwnerRef("Job", "own", "job", "batch", True, "team"),))
    task = world.create("task", app="own", cpu=2)
    world.create("other", app="other", cpu=2)
    operator = world.operator()
    [action] = stalls(world, operator, 30)
    assert action.victim is not None
    assert action.victim.uid == driver.uid
    assert action.eviction is not None
    assert action.eviction.blocked is not None
    assert (action.eviction.blocked[0], action.eviction.blocked[1].request) == ("team/own", task.declared)
    world.cache.gave_up(action.eviction.blocked, None, world.now)
    world.delete(driver)
    world.delete(task)
    world.create("again", app="own", role="driver", cpu=3)
    operator.step()
    assert operator.releaser.result is not None
    said = operator.releaser.result.round.verdicts["team/own"]
    assert said.refused
    assert "asks for 5 cpu at the least, but queue default has at most 4" in said.sentence
    assert "other" in {pod.name for pod in world.pods.values() if not pod.gates}


def running(world: World, name: str, *, app: str, **more: Any) -> PodRecord:
    """A task on node a that a controller would bring back."""
    made = world.create(
        name, app=app, cpu=3, owners=(OwnerRef("Job", app, f"job-{app}", "batch", True, "team"),), **more
    )
    world.change(made.uid, node="a", gates=(), phase="Running", started=world.now)
    return made


def test_a_later_stage_that_waits_for_a_held_one_hides_no_stall() -> None:
    """World 5202: the map was evicted, and the reduce that waits for it holds its room. The reduce has to go."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    reduce = running(world, "reduce", app="dag", stage="s1", annotations={names.PARENTS: "s0"})
    world.create("map", app="dag", cpu=2, stage="s0")
    [action] = stalls(world, world.operator(), 30)
    assert action.victim is not None
    assert action.victim.uid == reduce.uid
    assert "held are 1 task of 1 app, and what runs of them has to wait for those (1 task)" in action.stall.words


def test_half_a_gang_that_waits_for_the_rest_hides_no_stall() -> None:
    """World 5420: the rest fits no node, and whoever could run waits behind what the half holds."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    gang = {names.GANG: "true", names.TASKS: "2"}
    half = running(world, "half", app="gang", annotations=gang)
    world.create("rest", app="gang", cpu=3, annotations=gang)
    [action] = stalls(world, world.operator(), 30)
    assert action.victim is not None
    assert action.victim.uid == half.uid


def test_maps_that_run_are_movement_whatever_reduces_wait() -> None:
    """A stage that goes on will end, and then the next one does."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10})
    running(world, "map-1", app="dag", stage="s0")
    world.create("map-2", app="dag", cpu=2, stage="s0")
    world.create("reduce", app="dag", cpu=2, stage="s1", annotations={names.PARENTS: "s0"})
    assert stalls(world, world.operator(), 30) == []


def test_a_driver_that_its_gang_does_not_fit_beside_takes_another_node() -> None:
    """World 6037: five tasks at once fit beside the driver on the large node, not beside it on the small one."""
    world = enforcing(node("large", cpu=24), node("small", cpu=8))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    driver = standing(world, "gang", "small", 4)
    world.change(driver.uid, owners=(OwnerRef("Job", "gang", "job", "batch", True, "team"),))
    wanted = {names.GANG: "true", names.TASKS: "5"}
    tasks = [world.create(f"task-{number}", app="gang", cpu=5, annotations=wanted) for number in range(5)]
    operator = world.operator()
    [action] = stalls(world, operator, 30)
    assert action.victim is not None
    assert action.victim.uid == driver.uid
    assert action.eviction is not None
    assert action.eviction.blocked is not None
    assert action.eviction.blocked[1].together == 5
    world.cache.gave_up(action.eviction.blocked, None, world.now)
    world.delete(driver, *tasks)
    again = world.create("again", app="gang", role="driver", cpu=4)
    operator.step()
    world.schedule()
    assert world.pods[again.uid].node == "large"


def test_a_driver_that_is_held_with_its_gang_leaves_it_its_nodes() -> None:
    """The same where the tasks are there before their driver is bound, as after its eviction: it took the small one."""
    world = enforcing(node("large", cpu=24), node("small", cpu=8))
    wanted = {names.GANG: "true", names.TASKS: "5"}
    driver = world.create("driver", app="gang", role="driver", cpu=4, annotations=wanted)
    tasks = [world.create(f"task-{number}", app="gang", cpu=5, annotations=wanted) for number in range(5)]
    operator = world.operator()
    for _ in range(2):
        operator.step()
        world.schedule()
    assert world.pods[driver.uid].node == "large"
    assert sorted(world.pods[task.uid].node for task in tasks) == ["large"] * 4 + ["small"]


def test_of_two_drivers_in_each_others_way_one_is_given_up_once() -> None:
    """World 51917: the younger one came back at once, and was given up again and again; the older one never got on."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    pods = {"older": _blocked_gang(world, "older", 4, 7, 1), "younger": _blocked_gang(world, "younger", 2, 2, 3)}
    operator, said = world.operator(), {}
    for name, size in (("younger", 2), ("older", 4)):
        [action] = stalls(world, operator, 30)
        assert action.eviction is not None
        assert action.eviction.uid == pods[name][0].uid
        assert action.eviction.ahead == (f"team/{name}", ("team/older",) if name == "younger" else ("team/younger",))
        world.cache.gave_up(action.eviction.blocked, None, world.now)
        operator.stalls.reset(action.stall.queue)
        world.delete(*pods[name])
        world.create(f"{name}-again", app=name, role="driver", cpu=size)
        operator.step()
        assert operator.releaser.result is not None
        said[name] = operator.releaser.result.round.verdicts[f"team/{name}"].sentence
    assert "that tasks of its own app need" in said["younger"]
    assert "asks for 11 cpu at the least" in said["older"]
    operator.step()
    assert [pod.name for pod in world.pods.values() if not pod.gates] == ["younger-again"]


def test_the_driver_that_was_given_up_last_goes_last() -> None:
    """Two that wait for each other would both be held until their runs are forgotten."""
    world = enforcing(node("a", cpu=8))
    for name in ("first", "second"):
        world.create(name, app=name, role="driver", cpu=4)
    views = world.cache.views
    views.refresh()
    world.cache.gave_up(None, ("team/first", ("team/second",)), 1.0)
    assert views.histories.behind("team/first", views) == "team/second"
    world.cache.gave_up(None, ("team/second", ("team/first",)), 2.0)
    assert views.histories.behind("team/first", views) == ""
    assert views.histories.behind("team/second", views) == "team/first"


def _blocked_gang(world: World, app: str, driver: float, task: float, tasks: int) -> list[PodRecord]:
    """A driver on node a that a Job brings back, and the tasks of its gang, which wait."""
    boss = standing(world, app, "a", driver)
    world.change(boss.uid, owners=(OwnerRef("Job", app, app, "batch", True, "team"),))
    world.now += 1
    wanted = {names.GANG: "true", names.TASKS: str(tasks)}
    return [boss, *(world.create(f"{app}-{n}", app=app, cpu=task, annotations=wanted) for n in range(tasks))]


def test_a_driver_that_was_given_up_comes_back_after_those_it_was_given_up_for() -> None:
    """World 90299: its tasks fit beside it by what they declare, and nothing else kept it from coming back first."""
    world = enforcing(node("a", cpu=8))
    for number in range(4):
        world.create(f"other-{number}", app="other", cpu=2)
    world.create("again", app="own", role="driver", cpu=5)
    world.cache.views.refresh()
    world.cache.gave_up(None, ("team/own", ("team/gone", "team/other")), world.now)
    operator = world.operator()
    operator.step()
    assert {pod.name for pod in world.pods.values() if not pod.gates} == {f"other-{number}" for number in range(4)}
    assert operator.releaser.result is not None
    said = operator.releaser.result.round.verdicts["team/own"].sentence
    assert said == "waits behind team/other, which waits for room, for which a driver of this app was given up"
    world.cache.views.refresh()
    assert world.cache.views.histories.behind("team/own", world.cache.views) == "", "once the others have got on"


def test_who_was_given_up_is_forgotten_after_a_while() -> None:
    """The others may never get on, for reasons of their own."""
    world = enforcing(node("a", cpu=8))
    world.create("other", app="other", cpu=16)
    operator = world.operator()
    operator.step()
    world.cache.gave_up(None, ("team/own", ("team/other",)), world.now)
    assert world.cache.views.histories.behind("team/own", world.cache.views) == "team/other"
    world.now += 601
    operator.step()
    assert world.cache.views.histories.behind("team/own", world.cache.views) == ""


def test_tasks_that_run_elsewhere_do_not_hide_a_stall() -> None:
    """An app on the tainted nodes goes on; that helps nobody on the plain one."""
    world = enforcing(node("a", cpu=4), tainted("x", cpu=8))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10})
    standing(world, "stuck", "a", 3)
    world.create("waits", app="stuck", cpu=2)
    busy = world.create("busy", app="other", cpu=2, constraints=DEVICES)
    world.change(busy.uid, node="x", gates=(), phase="Running", started=world.now)
    assert [app for action in stalls(world, world.operator(), 30) for app, _ in action.told] == ["team/stuck"]


def test_tasks_that_end_between_two_looks_are_movement() -> None:
    """Very short tasks are never seen running, and yet nothing is stuck."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10})
    standing(world, "quick", "a", 3)
    world.create("large", app="quick", cpu=2)
    operator = world.operator()
    for number in range(30):
        done = world.create(f"short-{number}", app="quick", cpu=1)
        world.change(done.uid, node="a", gates=(), phase="Succeeded", finished=world.now)
        assert stalls(world, operator, 1) == []


def test_what_placement_refused_is_not_told_as_released() -> None:
    """Many apps, no node with room for any of their pods: whoever was tried last is still behind the gate."""
    world = enforcing(node("a", cpu=3), node("b", cpu=3))
    for name in ("a", "b"):
        taken = world.create(f"other-{name}", cpu=2, scheduler="default-scheduler", gates=())
        world.change(taken.uid, node=name, phase="Running")
    operator = world.operator(batch=1)
    for number in range(8):
        world.create(f"pod-{number}", app=f"app-{number}", cpu=1.5)
    operator.step()
    said = [operator.said(f"app-{number}") for number in range(8)]
    assert not world.released
    assert [each.app for each in said if each.reason == "released"] == []


def test_a_task_larger_than_every_node_it_can_use_is_told_that_it_never_fits() -> None:
    """An executor of 40 cores: the tainted node of 64 is none of its nodes, and no node ever has room for it."""
    world = enforcing(node("a", cpu=32), tainted("x", cpu=64))
    standing(world, "huge", "a", 1)
    world.create("executor", app="huge", cpu=40)
    operator = world.operator()
    operator.step()
    said = operator.said("huge")
    assert said.reason != "no-node-has-room"
    assert "40" in said.sentence
    assert "32" in said.sentence


@pytest.mark.parametrize("maximum", [{"cpu": "32"}, {"cpu": "32", "memory": "128Gi"}], ids=["cpu alone", "both"])
def test_kinds_that_a_stated_capacity_does_not_name_are_those_of_the_nodes(maximum: dict[str, str]) -> None:
    """Counted as nothing, no further driver would start while tasks wait."""
    world = enforcing(node("a", cpu=16), node("b", cpu=16))
    world.configure("AdmissionQueue", "q", capacity={"source": "stated", "maximum": maximum})
    world.create("first", role="driver", app="one")
    operator = world.operator()
    operator.step()
    world.schedule()
    for number in range(8):  # four run, four wait
        world.create(f"task-{number}", cpu=7, app="one")
    operator.step()
    world.schedule()
    second = world.create("second", role="driver", app="two")
    operator.step()
    assert not world.pods[second.uid].gates
