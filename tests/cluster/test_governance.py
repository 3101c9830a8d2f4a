"""Which queue and pool a namespace has, the order in which apps get their turn, and queues that share nodes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster import names
from slackwater_cluster.governance import IMPLICIT, Governance
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord
from slackwater_operator.cache.snapshot import take_snapshot
from support.fakes.cluster import World, enforcing, node, owned


def order(world: World) -> list[str]:
    """Apps in the order in which their first pod was let go."""
    return list(dict.fromkeys(world.pods[uid].labels[names.APP] for uid in world.released))


def play(world: World, rounds: int) -> None:
    """Rounds in which everything that runs ends before the next one."""
    operator = world.operator(window=1)
    for _ in range(rounds):
        operator.step()
        world.schedule()
        world.finish(*(pod.uid for pod in world.pods.values() if pod.node and not pod.done))


def test_priority_comes_before_arrival() -> None:
    """The app of the higher PriorityClass came last and goes first."""
    world = enforcing(node("a", cpu=1))
    for name, priority in (("first", 0), ("second", 0), ("urgent", 1000)):
        world.create(f"{name}-0", app=name, priority=priority)
        world.now += 1
    play(world, 5)
    assert order(world) == ["urgent", "first", "second"]


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ({"order": "fifo"}, (8, 0)),
        ({"order": "fair"}, (4, 4)),
        ({"order": "fair", "weights": {"team": 3, "other": 1}}, (6, 2)),
    ],
    ids=["fifo", "fair", "weighted"],
)
def test_namespaces_share_by_weight(queue: dict[str, object], expected: tuple[int, int]) -> None:
    """Eight places for twelve tasks of each of two namespaces; the first came first."""
    world = enforcing(node("a", cpu=8))
    world.namespace("other")
    world.configure("AdmissionQueue", "default", **queue)
    for namespace in ("team", "other"):
        for number in range(12):
            world.create(f"{namespace}-{number}", app=namespace, namespace=namespace)
        world.now += 1
    operator = world.operator()
    for _ in range(4):
        operator.step()
        world.schedule()
    bound = [pod.namespace for pod in world.pods.values() if pod.node]
    assert (bound.count("team"), bound.count("other")) == expected


def test_two_queues_on_the_same_nodes_do_not_fill_them_twice() -> None:
    """What one queue's pods request is no capacity of the other's; both get their turn, and no node is overfull."""
    world = enforcing(node("a", cpu=4), node("b", cpu=4))
    world.namespace("other")
    world.configure("AdmissionQueue", "one", namespaces=["team"])
    world.configure("AdmissionQueue", "two", namespaces=["other"])
    for number in range(10):
        world.create(f"t{number}", app="etl")
        world.create(f"o{number}", app="web", namespace="other")
    operator = world.operator()
    for _ in range(4):
        operator.step()
        world.schedule()
    bound = [pod.namespace for pod in world.pods.values() if pod.node]
    assert len(bound) == 8
    assert bound.count("team") == bound.count("other") == 4
    assert all(world.left(name)["cpu"] >= 0 for name in world.nodes)
    capacity = {queue.name: queue.capacity["cpu"] for queue in take_snapshot(world.cache, world.now, None).queues}
    assert capacity == {"one": 8 - bound.count("other"), "two": 8 - bound.count("team")}


def test_drained_app_ends_what_it_began() -> None:
    """The annotation `drain` on an app: started, it goes on; not started, it waits."""
    world = enforcing(node("a", cpu=1))
    for name in ("begun", "later"):
        for number in range(2):
            world.create(f"{name}-{number}", app=name)
        world.now += 1
    operator = world.operator()
    operator.step()
    world.schedule()
    for pod in list(world.pods.values()):
        world.change(pod.uid, annotations={**pod.annotations, names.PAUSE: "drain"})
    for _ in range(4):
        world.finish(*(pod.uid for pod in world.pods.values() if pod.node and not pod.done))
        operator.step()
        world.schedule()
    assert order(world) == ["begun"]
    assert len(world.released) == 2
    assert operator.said("later").reason == "paused"


def _record(name: str, **spec: Any) -> CustomRecord:
    return CustomRecord(name=name, spec=spec)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.none() | st.just("broken") | st.lists(st.sampled_from(["team", "other", "third"]), max_size=2),
        ),
        max_size=8,
    )
)
def test_the_queue_of_a_namespace_follows_every_change(changes: list[tuple[str, list[str] | str | None]]) -> None:
    """The first by name of those that name it, else of those that name nobody; a broken one changes nothing."""
    governing, queues = Governance(), dict[str, list[str]]()
    for name, namespaces in changes:
        if namespaces is None:
            governing.drop("AdmissionQueue", [_record(name)])
            queues.pop(name, None)
        else:
            governing.set("AdmissionQueue", [_record(name, namespaces=namespaces)])
            if not isinstance(namespaces, str):
                queues[name] = namespaces
    for namespace in ("team", "other", "unnamed"):
        naming = sorted(name for name, of in queues.items() if namespace in of)
        taking = sorted(name for name, of in queues.items() if not of)
        expected = next(iter([*naming, *taking]), "") if queues else IMPLICIT
        assert governing.queue_of(namespace) == expected
        assert governing.queue_for(namespace) == governing.queue(expected)


def test_the_first_pool_by_name_guards_a_queue() -> None:
    """Until it is gone; a queue that no pool names has none."""
    governing = Governance()
    governing.set("ReservationPool", [_record("y", queue="batch"), _record("x", queue="batch")])
    assert (governing.pool_of("batch"), governing.pool_of("other")) == ("x", "")
    governing.drop("ReservationPool", [_record("x")])
    assert governing.pool_of("batch") == "y"


def test_a_claim_to_be_a_daemon_jumps_no_queue() -> None:
    """A tenant may patch a DaemonSet into the owners of a held pod: it stays held, and counts as what it declares."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "all", state="paused")
    pod = world.create("p", cpu=1, app="etl")
    world.change(pod.uid, owners=(owned("DaemonSet", "mine", group="apps"),))
    operator = world.operator()
    for _ in range(10):
        operator.step()
    assert world.released == []


@pytest.mark.parametrize(
    ("written", "ours"),
    [({}, False), ({"gates": (names.GATE,)}, True), ({"annotations": {names.DECLARED_CPU: "4"}}, True)],
    ids=["a daemon's", "held", "sealed"],
)
def test_a_daemon_is_a_pod_that_our_admission_left_alone(written: dict[str, object], ours: bool) -> None:
    """It writes to no pod of the DaemonSet controller, so where it wrote the owner reference is somebody else's."""
    world = enforcing(node("a"))
    pod = world.create("p", gates=(), node="a")
    world.change(pod.uid, owners=(owned("DaemonSet", "agent", group="apps"),), annotations={}, gates=())
    world.change(pod.uid, **written)
    assert world.cache.governing.manages(world.pods[pod.uid]) is ours


def test_the_watchdogs_namespace_is_never_managed() -> None:
    """Wherever the chart puts it, and whatever that namespace's labels say: as the admission policies have it."""
    governance = Governance("slackwater-system", "rescue")
    every = ("kube-system", "slackwater-system", "rescue", "team")
    governance.set_namespaces(NamespaceRecord(name=name, labels={names.MANAGED: "true"}) for name in every)
    assert governance.managed_namespaces() == ["team"]
