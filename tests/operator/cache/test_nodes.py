"""What pods request on nodes: capacity of queues, and room without the extender."""

from typing import Any

from slackwater.resources import Resources
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.nodes import NodeRequests
from support.fakes.cluster import enforcing, node
from support.fakes.memoryapi import GIB


def seat(name: str, where: str, cpu: float, queue: str = "", declared: float | None = None) -> PodRecord:
    """A pod on a node; its namespace is its queue."""
    native = Resources(cpu=cpu, memory=GIB)
    asked = Resources(cpu=declared or cpu, memory=GIB)
    return PodRecord(name=name, uid=name, namespace=queue, node=where, native=native, declared=asked)


def occupied(*pods: PodRecord) -> NodeRequests:
    """Two nodes of eight cores, and these pods."""
    made = NodeRequests(lambda pod: pod.namespace, lambda pod: bool(pod.namespace))
    made.set_nodes([node("a", cpu=8, pool="batch"), node("b", cpu=8)])
    for pod in pods:
        made.set(pod)
    return made


def capacity(made: NodeRequests, queue: str, selector: dict[str, str]) -> Resources:
    """C of a queue whose pods can use every node that it selects."""
    return made.shares(queue, selector, tuple(made.nodes), ("cpu", "memory")).capacity()


def test_capacity_is_what_others_leave() -> None:
    """Pods of this queue do not lower its own capacity; pods of nobody's and of other queues do."""
    made = occupied(seat("own", "a", 2, "q"), seat("other", "a", 1, "r"), seat("daemon", "b", 0.5))
    assert capacity(made, "q", {})["cpu"] == 16 - 1 - 0.5
    assert capacity(made, "r", {})["cpu"] == 16 - 2 - 0.5


def test_capacity_follows_pods_and_nodes() -> None:
    """Ends, arrivals and lost nodes count at once."""
    daemon = seat("daemon", "b", 2)
    made = occupied(daemon)
    assert capacity(made, "q", {})["cpu"] == 14
    made.drop(daemon)
    assert capacity(made, "q", {})["cpu"] == 16
    made.drop_nodes([node("b")])
    assert capacity(made, "q", {})["cpu"] == 8


def test_selector_and_readiness_limit_capacity() -> None:
    """Only Ready nodes with the labels count."""
    made = occupied()
    assert capacity(made, "q", {"pool": "batch"})["cpu"] == 8
    closed = node("a", cpu=8, pool="batch")
    made.set_nodes([type(closed)(name="a", uid="x", labels=closed.labels, allocatable=closed.allocatable, ready=False)])
    assert capacity(made, "q", {"pool": "batch"})["cpu"] == 0


def test_more_requested_than_allocatable_is_nothing_not_less() -> None:
    """A node that others overfill does not take capacity from the next one."""
    made = occupied(seat("huge", "a", 12))
    assert capacity(made, "q", {})["cpu"] == 8


def test_room_without_extender_counts_declared_in_full() -> None:
    """A shrunk pod counts what it declared: no overcommit without measurement."""
    made = occupied(seat("shrunk", "a", 1, "q", declared=2))
    assert made.free("a")["cpu"] == 6
    assert made.free("nowhere")["cpu"] == 0


def test_a_node_that_is_cleared_for_somebody_else_s_pod_is_taken() -> None:
    """What preempted pods leave is not ours, until the preemptor is nominated no more; a gate keeps no room."""
    asked = Resources(cpu=6)
    waits: dict[str, Any] = {"uid": "first", "native": asked, "declared": asked, "scheduler": "default-scheduler"}
    made = occupied(PodRecord(name="first", nominated="a", **waits))
    assert (made.free("a")["cpu"], made.free("b")["cpu"]) == (2, 8)
    made.set(PodRecord(name="first", node="b", nominated="a", **waits))
    assert (made.free("a")["cpu"], made.free("b")["cpu"]) == (8, 2)
    made.set(PodRecord(name="first", nominated="a", gates=("example.com/later",), **waits))
    assert (made.free("a")["cpu"], made.free("b")["cpu"]) == (8, 8)


def test_what_is_kept_of_nodes_and_queues_ends_with_them() -> None:
    """An autoscaler makes new names every hour."""
    known = NodeRequests(lambda _: "night", lambda _: True)
    for number in range(50):
        name = f"n{number}"
        known.set_nodes([node(name)])
        known.set(seat("p", name, 1, "night"))
        known.shares(f"q{number}", {}, (name,), ("cpu",))
        known.drop(seat("p", name, 1, "night"))
        known.drop_nodes([node(name)])
        known.keep_queues({"default"})
    assert not known._on
    assert not known._tallies


def test_a_pod_that_no_queue_serves_counts_with_what_it_declares() -> None:
    """Its namespace is managed, so its requests were lowered as all others are, and the node's room with them."""
    world = enforcing(node("a", cpu=8))
    world.namespace("else")
    world.configure("AdmissionQueue", "q", namespaces=["else"])
    pod = world.create("t", cpu=2, app="x", gates=(), node="a")
    lowered, asked = Resources(cpu=2, memory=GIB), Resources(cpu=4, memory=GIB)
    world.change(pod.uid, native=lowered, declared=asked, phase="Running")
    assert world.cache.node_requests.free("a")["cpu"] == 4
