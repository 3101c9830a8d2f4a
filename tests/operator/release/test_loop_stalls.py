"""The whole loop on a cluster in memory: stalls and nodes short of memory."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_operator.clients.extenderclient import NodeUse
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import release_loop, turn, written
from support.fakes.memoryapi import GIB


def stalled(world: World, *, bare: bool, evict: bool = True) -> ReleaseLoop:
    """Two drivers on the only node, a task of each waits, and none fits."""
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": evict})
    for name in ("older", "younger"):
        owners = [] if bare else [owned("Controller", name)]
        boss = world.create(f"{name}-driver", cpu=4, role="driver", app=name, owners=owners)
        world.change(boss.uid, node="a", gates=(), phase="Running", started=world.now)
        world.create(f"{name}-task", cpu=4, app=name)
        world.now += 5
    return release_loop(world)


@dataclass
class Guarded(World):
    """A cluster whose disruption budgets refuse every eviction, with this status and these words."""

    status: int = 429
    words: str = ""
    asked: list[str] = field(default_factory=list)  # the namespaces of the pods

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """Evictions are refused, everything else as in any world."""
        if not path.endswith("/eviction"):
            return await super().write(method, path, body, content_type=content_type)
        self.asked.append(path.split("/")[4])
        return Answer(self.status, msgspec.json.encode({"message": self.words}))


def drivers(world: World) -> list[str]:
    """Driver pods that exist."""
    return sorted(pod.name for pod in world.pods.values() if pod.labels[names.ROLE] == names.DRIVER)


def test_a_stall_is_ended_by_evicting_the_youngest_driver() -> None:
    """Once; it is told by event and metric, and the task of the other driver runs in the room it left."""
    world = enforcing(node("a", cpu=8))
    made = stalled(world, bare=False)
    turn(made, world, 30)
    assert drivers(world) == ["older-driver"]
    assert [each for each in world.writes if "eviction" in each] == [
        "POST /api/v1/namespaces/team/pods/younger-driver/eviction"
    ]
    assert made.metrics.evictions.labels("default")._value.get() == 1
    told = [body for body in written(world, "/events") if body["reason"] == "Stalled"]
    assert sorted(body["involvedObject"]["name"] for body in told) == ["older-driver", "younger-driver"]
    assert (
        "held are 2 tasks of 2 apps, and none runs; no node of the 1 that they can use has room" in told[0]["message"]
    )
    assert {pod.name: pod.node for pod in world.pods.values()}["older-task"] == "a"


def test_tasks_that_a_finished_driver_left_behind_can_stall() -> None:
    """Nobody is left for them to wait for but room, and here none will ever come: that is told like any stall."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": False})
    boss = world.create("etl-driver", cpu=4, role="driver", app="etl")
    world.change(boss.uid, node="a", gates=(), phase="Running", started=world.now)
    world.create("etl-task", cpu=4, app="etl")
    other = world.create("other", cpu=8, namespace="plain", gates=(), scheduler="default-scheduler")
    world.change(other.uid, node="a", phase="Running", started=world.now)
    made = release_loop(world)
    turn(made, world, 2)
    world.finish(boss.uid)
    turn(made, world, 30)
    told = [body["message"] for body in written(world, "/events") if body["reason"] == "Stalled"]
    assert "held are 1 task of 1 app, and none runs" in told[0]


def test_no_driver_is_evicted_from_a_node_that_takes_nobody_for_a_while() -> None:
    """Seed 2041781: whoever waits could not use its room, and it lost what it had done. The stall is told."""
    world = enforcing(node("a", cpu=8))
    made = stalled(world, bare=False)
    pressure = ("node.kubernetes.io/memory-pressure", "", "NoSchedule")
    world.add_nodes(msgspec.structs.replace(world.nodes["a"], taints=(pressure,)))
    turn(made, world, 30)
    assert drivers(world) == ["older-driver", "younger-driver"]
    assert made.metrics.stalls.labels("default")._value.get() >= 1
    world.add_nodes(msgspec.structs.replace(world.nodes["a"], taints=()))
    turn(made, world, 30)
    assert drivers(world) == ["older-driver"]


def two_queues(world: World) -> ReleaseLoop:
    """Two namespaces, each with a queue of its own; a driver of each fills half of the only node, a task waits."""
    stall = {"afterSeconds": 10, "evictYoungestDriver": True}
    for namespace in ("team", "other"):
        world.namespace(namespace)
        world.configure("AdmissionQueue", f"of-{namespace}", namespaces=[namespace], stall=stall)
        owners = [owned("Controller", "boss", namespace=namespace)]
        boss = world.create("boss", cpu=4, role="driver", app="app", owners=owners, namespace=namespace)
        world.change(boss.uid, node="a", gates=(), phase="Running", started=world.now)
        world.create("task", cpu=4, app="app", namespace=namespace)
    return release_loop(world)


def test_queues_that_share_a_node_do_not_both_give_up_a_driver() -> None:
    """Both would be back a moment later, again and again; the task of the other queue runs in the room of one."""
    world = enforcing(node("a", cpu=8))
    turn(two_queues(world), world, 15)
    assert len(drivers(world)) == 1
    (left,) = (pod.namespace for pod in world.pods.values() if pod.name == "boss")
    assert {pod.namespace: pod.node for pod in world.pods.values() if pod.name == "task"}[left] == "a"


def test_where_one_queue_may_not_give_up_its_driver_the_other_is_asked() -> None:
    """A disruption budget of one of them keeps both standing still else."""
    world = Guarded(now=1000.0, status=429)
    world.configure("SlackPolicy", "default", mode="enforce")
    world.add_nodes(node("a", cpu=8))
    turn(two_queues(world), world, 45)
    assert set(world.asked) == {"team", "other"}


@pytest.mark.parametrize(("bare", "evict"), [(True, True), (False, False)], ids=["bare pods", "not asked to"])
def test_a_stall_is_only_told_where_nobody_may_be_evicted(bare: bool, evict: bool) -> None:
    """A driver that no controller brings back is never evicted, nor any where the queue does not say so."""
    world = enforcing(node("a", cpu=8))
    made = stalled(world, bare=bare, evict=evict)
    with capture_logs() as logs:
        turn(made, world, 30)
    assert drivers(world) == ["older-driver", "younger-driver"]
    assert made.metrics.stalls.labels("default")._value.get() >= 1
    assert "stall" in {each["event"] for each in logs}
    told = {body["involvedObject"]["name"] for body in written(world, "/events") if body["reason"] == "Stalled"}
    assert told == {"older-driver", "younger-driver"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "Cannot evict pod as it would violate the pod's disruption budget."),
        (500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."),
    ],
    ids=["a budget", "two budgets"],
)
def test_a_driver_that_a_budget_keeps_is_told_and_asked_again(status: int, words: str) -> None:
    """The stall goes on: each time that it lasted long enough the driver is asked; what was answered is an event."""
    world = Guarded(now=1000.0, status=status, words=words)
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(node("a", cpu=8))
    made = stalled(world, bare=False)
    turn(made, world, 30)
    assert drivers(world) == ["older-driver", "younger-driver"]
    assert 2 <= len(world.asked) <= 3
    told = [body for body in written(world, "/events") if body["reason"] == "NotEvicted"]
    assert [body["involvedObject"]["name"] for body in told] == ["younger-driver"]
    assert words in told[0]["message"]
    assert made.metrics.evictions.labels("default")._value.get() == 0


@pytest.mark.parametrize("evict", [True, False], ids=["asked to", "not asked to"])
def test_a_node_whose_memory_runs_out_is_relieved_where_its_queue_says_so(evict: bool) -> None:
    """The loop looks every ten seconds: one task goes, told by event and metric; the other stays."""
    world = enforcing(node("a", memory=32))
    world.configure("AdmissionQueue", "default", relief={"evictYoungestTask": evict})
    made = release_loop(world)
    for name in ("zero", "one"):
        world.create(name, app=name, owners=[owned("Job", name, group="batch")])
        turn(made, world, 3)
    world.uses = {uid: Resources(memory=15 * GIB) for uid in world.pods}
    for _ in range(30):
        full = 0.5 + 15 * len(world.pods)
        world.samples = {"a": NodeUse(Resources(memory=full * GIB), world.now - 1, False)}
        turn(made, world)
    assert sorted(pod.name for pod in world.pods.values()) == (["zero"] if evict else ["one", "zero"])
    told = [body["involvedObject"]["name"] for body in written(world, "/events") if body["reason"] == "Outgrown"]
    assert told == (["one"] if evict else [])
    assert made.metrics.task_evictions.labels("default", "evicted")._value.get() == len(told)
