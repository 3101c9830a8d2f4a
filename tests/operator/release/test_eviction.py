"""Relief of nodes whose memory nears its limit: whom the operator asks to leave, when, and what it tells."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.clients.extenderclient import NodeUse, Usage
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.eviction import PressureRelief
from slackwater_operator.status.events import EventWriter
from support.fakes.cluster import World, node, owned
from support.fakes.memoryapi import GIB

BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


class Crowd(World):
    """A full node of 32 GiB. A pod that is evicted needs its time to end; `guarded` ones are not given up at all."""

    guarded: frozenset[str] = frozenset()
    broken_off = False

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """Evictions as an API server and a kubelet treat them, everything else as in any world."""
        if not path.endswith("/eviction") or self.broken(path):
            return await super().write(method, path, body, content_type=content_type)
        if self.broken_off:
            raise RuntimeError("the session is closed")
        self.writes.append(f"{method} {path}")
        name = body["metadata"]["name"]
        if name in self.guarded:
            return Answer(429, msgspec.json.encode({"message": BUDGET}))
        self.change(next(uid for uid, pod in self.pods.items() if pod.name == name), deleted=self.now)
        return Answer(201, b"{}")

    def run(self, name: str, used: float = 15, declared: float = 1, **more: Any) -> PodRecord:
        """A task that a controller made and that uses so many GiB, started a second after the one before it."""
        self.now += 1
        spec: dict[str, Any] = {"owners": [owned("Job", name, group="batch")], "gates": (), "app": name, **more}
        pod = self.create(name, memory=declared, **spec)
        self.change(pod.uid, node="a", phase="Running", started=self.now)
        self.uses[pod.uid] = Resources(memory=used * GIB)
        return pod

    def end(self, name: str) -> None:
        """Pods of that name are gone."""
        self.delete(*[pod for pod in self.pods.values() if pod.name == name])

    @property
    def asked(self) -> list[str]:
        """Whom the operator asked to leave, in order."""
        return [write.split("/")[-2] for write in self.writes if write.endswith("/eviction")]

    @property
    def told(self) -> list[dict[str, Any]]:
        """The events of it."""
        return [body for _, path, body in self.posted if path.endswith("/events")]


def crowd(*, mode: str = "enforce", **relief: Any) -> Crowd:
    """A managed namespace whose queue says what is done about memory."""
    world = Crowd()
    world.configure("SlackPolicy", "default", mode=mode)
    world.configure("AdmissionQueue", "batch", relief={"evictYoungestTask": True, **relief})
    world.namespace("team")
    world.add_nodes(node("a", cpu=64))
    return world


def reliever(world: World) -> PressureRelief:
    """The part under test, on the world's clock."""
    session, metrics = cast("Session", world), Metrics()
    announcer = EventWriter(session, metrics, world.clock, TokenBucket(100, 100, world.clock))
    return PressureRelief(world.cache, PodWriter(session), announcer, metrics, world.clock)


def look(made: PressureRelief, world: World, used: float = 31, *, age: float = 1, stale: bool = False) -> None:
    """Ten seconds pass; then the operator looks at a sample of node a that is so many seconds old."""
    world.now += 10
    sample = NodeUse(Resources(memory=used * GIB), world.now - age, stale)
    asyncio.run(made.run(Usage(world.uses, {"a": sample})))


def test_the_youngest_task_above_its_declared_request_is_evicted() -> None:
    """Not younger ones that keep to their word, nor a bare pod, a driver, or one whose role nobody knows."""
    world = crowd()
    made = reliever(world)
    for name in ("old", "young"):
        world.run(name)
    world.run("modest", used=2, declared=2)
    world.run("bare", owners=())
    world.run("driver", role="driver")
    world.run("unknown", role="")
    world.run("stranger", namespace="elsewhere")
    look(made, world)
    assert world.asked == ["young"]
    assert made.metrics.task_evictions.labels("batch", "evicted")._value.get() == 1


def test_the_event_tells_the_numbers() -> None:
    """What the task uses and declared, what the node uses and has, and where its limit is."""
    world = crowd()
    made = reliever(world)
    world.run("fat", used=12.5, declared=4)
    look(made, world)
    (event,) = world.told
    assert (event["reason"], event["type"], event["involvedObject"]["name"]) == ("Outgrown", "Warning", "fat")
    assert event["message"] == (
        "evicted: it uses 12.5 GiB of memory and declared 4 GiB; node a uses 31 GiB of 32 GiB (96.9 %, its queue's "
        "limit is 95 %), and this is the youngest task there that outgrew what it declared"
    )


@pytest.mark.parametrize(
    ("terms", "sample"),
    [
        pytest.param({"evictYoungestTask": False}, {}, id="not asked for"),
        pytest.param({"mode": "score"}, {}, id="not in mode enforce"),
        pytest.param({"mode": "observe"}, {}, id="looking on"),
        pytest.param({}, {"used": 30}, id="below the limit"),
        pytest.param({"memoryPercent": 99}, {}, id="below the queue's own limit"),
        pytest.param({}, {"stale": True}, id="samples are stale"),
        pytest.param({}, {"used": 0}, id="memory was not measured"),
        pytest.param({}, {"age": 11}, id="measured before this replica led"),
    ],
)
def test_nobody_is_evicted(terms: dict[str, Any], sample: dict[str, Any]) -> None:
    """Although a task that has outgrown its request runs there."""
    world = crowd(**terms)
    world.run("fat")
    made = reliever(world)
    look(made, world, **sample)
    assert world.asked == []
    assert world.told == []


def test_a_task_that_was_not_measured_stays() -> None:
    """The node's samples are fresh, those of its pods are missing."""
    world = crowd()
    made = reliever(world)
    world.run("fat")
    world.uses.clear()
    look(made, world)
    assert world.asked == []


def test_what_was_measured_before_its_start_is_not_held_against_a_pod() -> None:
    """A StatefulSet's pod is back under its name, and the samples still tell of the one before it."""
    world = crowd()
    made = reliever(world)
    world.now += 60
    world.run("web-0")
    look(made, world, age=10)
    assert world.asked == []


def test_one_peak_does_not_kill_a_crowd() -> None:
    """Nobody more while the first one leaves, nor by a sample from before its end; then the next, if need be."""
    world = crowd()
    made = reliever(world)
    for name in ("first", "second", "third"):
        world.run(name)
    for _ in range(3):
        look(made, world)
    assert world.asked == ["third"]
    world.end("third")
    look(made, world)
    look(made, world, age=12)
    assert world.asked == ["third"]
    look(made, world)
    assert world.asked == ["third", "second"]


def relieved() -> tuple[Crowd, PressureRelief]:
    """Two tasks had outgrown their requests; the younger was asked to leave, and is gone."""
    world = crowd()
    made = reliever(world)
    for name in ("first", "second"):
        world.run(name)
    look(made, world)
    world.end("second")
    return world, made


def test_memory_that_came_back_saves_the_others() -> None:
    """After the first one the node is no longer near its limit."""
    world, made = relieved()
    for _ in range(5):
        look(made, world, used=16)
    assert world.asked == ["second"]


def test_a_pod_that_ended_between_two_looks_is_waited_for_too() -> None:
    """It was asked to leave and is gone at once; the next sample was still taken before."""
    world, made = relieved()
    look(made, world, age=9)
    assert world.asked == ["second"]


def test_a_new_leader_waits_for_whom_the_old_one_evicted() -> None:
    """It sees a pod on its way out, and asks nobody else to leave meanwhile."""
    world = crowd()
    for name in ("first", "second"):
        world.run(name)
    look(reliever(world), world)
    successor = reliever(world)
    look(successor, world)
    assert world.asked == ["second"]
    world.end("second")
    look(successor, world)
    look(successor, world)
    assert world.asked == ["second", "first"]


def test_a_disruption_budget_is_obeyed_and_told() -> None:
    """The API server refuses: the pod stays, the event says why; it is tried again, once for each new sample."""
    world = crowd()
    world.guarded = frozenset({"fat"})
    made = reliever(world)
    world.run("fat")
    look(made, world)
    look(made, world, age=11)
    assert world.asked == ["fat"]
    assert made.metrics.task_evictions.labels("batch", "refused")._value.get() == 1
    assert world.told[0]["message"].startswith(f"refused (429: {BUDGET}): it uses 15 GiB of memory")
    look(made, world)
    assert world.asked == ["fat", "fat"]


def test_an_eviction_without_an_answer_is_repeated_later() -> None:
    """It may have been carried out: one sample is let pass, then the task that is still there is asked again."""
    world = crowd()
    world.broken = lambda path: path.endswith("/eviction")
    made = reliever(world)
    world.run("fat")
    look(made, world)
    assert made.metrics.task_evictions.labels("batch", "unanswered")._value.get() == 1
    world.broken = lambda _: False
    look(made, world)
    assert world.asked == []
    look(made, world)
    assert world.asked == ["fat"]


def test_an_eviction_that_breaks_off_is_repeated_later() -> None:
    """Whatever broke: the node was looked at no more for as long as the task that was asked stayed."""
    world = crowd()
    made = reliever(world)
    world.run("fat")
    world.broken_off = True
    look(made, world)
    assert made.metrics.task_evictions.labels("batch", "unanswered")._value.get() == 1
    world.broken_off = False
    for _ in range(4):
        look(made, world)
    assert world.asked == ["fat"]


def test_queues_that_share_a_node_keep_their_own_terms() -> None:
    """One gives tasks up at 80 %, the other never; the younger task of the other stays."""
    world = crowd()
    relief = {"evictYoungestTask": True, "memoryPercent": 80}
    world.configure("AdmissionQueue", "batch", namespaces=["team"], relief=relief)
    world.configure("AdmissionQueue", "other", namespaces=["guests"])
    world.namespace("guests")
    made = reliever(world)
    world.run("ours")
    world.run("theirs", namespace="guests")
    look(made, world, used=27)
    assert world.asked == ["ours"]


def test_nodes_are_asked_about_only_where_a_queue_wants_relief() -> None:
    """Off by default: then nothing more is asked of the extender."""
    assert reliever(crowd()).wanted
    assert not reliever(crowd(evictYoungestTask=False)).wanted
    assert not reliever(World()).wanted


def test_a_node_that_is_gone_is_forgotten() -> None:
    """One that comes back under its name starts afresh."""
    world = crowd()
    made = reliever(world)
    world.run("fat")
    look(made, world)
    world.lose_node("a")
    look(made, world)
    assert made._watches == {}


def test_an_eviction_that_waited_in_line_is_not_asked_for_where_nobody_wants_it_any_more() -> None:
    """The queue's owner switched it off meanwhile; and a task that ended marks no other one as not asked."""
    world = crowd()
    world.add_nodes(node("b", cpu=64))
    first, second = world.run("first", used=31), world.run("second", used=31)
    world.change(second.uid, node="b")
    relief, over, write = reliever(world), asyncio.Event(), world.write

    async def slow(method: str, path: str, body: Any, **more: Any) -> Answer:
        await over.wait()
        return await write(method, path, body, **more)

    world.write = slow  # type: ignore[method-assign]

    async def story() -> None:
        world.now += 10
        samples = {name: NodeUse(Resources(memory=31.5 * GIB), world.now - 1, False) for name in world.nodes}
        await relief.run(Usage(world.uses, samples))
        assert relief._asked == {"a": first.uid, "b": second.uid}
        relief._asked["a"] = "another"
        world.configure("AdmissionQueue", "batch", relief={"evictYoungestTask": False})
        over.set()
        await relief.lines.settle()

    asyncio.run(story())
    assert world.asked == ["first"]
    assert relief._asked == {"a": "another"}
