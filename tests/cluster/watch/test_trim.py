"""Records keep what decisions need, and equal parts are one object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slackwater_cluster.objects import wire as shapes
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from support.builders import objects


def trimmed(thing: dict[str, Any]) -> PodRecord:
    return trim.pod(msgspec.convert(thing, shapes.Pod, strict=False))


def test_pod_keeps_identity_place_and_requests() -> None:
    """The fields a ledger entry is made of."""
    record = trimmed(
        objects.pod(
            "a", "ns", cpu="1", memory="1Gi", node="n1", phase="Running", annotations=objects.declared("2", "2Gi")
        )
    )
    assert (record.key, record.uid, record.node, record.phase) == ("ns/a", "uid-ns-a", "n1", "Running")
    assert record.native["cpu"] == 1
    assert record.declared["cpu"] == 2
    assert record.declared["memory"] == pytest.approx(1.5 * 2**30)


def test_age_counts_from_the_latest_container_start() -> None:
    """A restarted container makes the pod young again."""
    states = [
        {"name": "a", "state": {"running": {"startedAt": "2026-01-01T00:00:10Z"}}},
        {"name": "b", "state": {"waiting": {}}, "lastState": {"terminated": {"startedAt": "2026-01-01T00:00:30Z"}}},
    ]
    record = trimmed(
        objects.pod(status={"containerStatuses": states}, meta={"creationTimestamp": "2026-01-01T00:00:00Z"})
    )
    assert record.started - record.created == 30


def test_a_pod_whose_containers_wait_has_not_started() -> None:
    """Bound is not running: an image pull takes its time."""
    record = trimmed(objects.pod(node="n1", status={"containerStatuses": [{"name": "a", "state": {"waiting": {}}}]}))
    assert record.started == 0


def test_scheduling_condition_tells_why() -> None:
    """The operator moves a nomination when a pod has been Unschedulable for a while."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": "2026-01-01T00:00:05Z",
    }
    record = trimmed(objects.pod(status={"conditions": [condition]}))
    assert (record.unscheduled, record.scheduled) == ("Unschedulable", 0)


def test_gates_parking_and_daemons_are_recognised() -> None:
    """Flags the filter asks for."""
    gated = trimmed(objects.pod(spec={"schedulingGates": [{"name": "slackwater.io/admission"}, {"name": "other"}]}))
    parked = trimmed(objects.pod(annotations={"slackwater.io/parked": "timeout"}))
    daemon = trimmed(objects.pod(owners=[{"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]))
    mirror = trimmed(objects.pod(annotations={"kubernetes.io/config.mirror": "x"}))
    assert (gated.gated, parked.parked, daemon.daemon, mirror.mirror) == (True, True, True, True)
    assert (daemon.gated, gated.parked, parked.daemon, daemon.mirror) == (False, False, False, False)


def test_foreign_annotations_are_dropped() -> None:
    """A pod may carry kilobytes of them."""
    record = trimmed(objects.pod(annotations={"big": "x" * 1000, "slackwater.io/app": "a"}))
    assert dict(record.annotations) == {"slackwater.io/app": "a"}


def test_equal_parts_are_shared() -> None:
    """Siblings hold one owner tuple, one constraint, one amount."""
    spec = {"nodeSelector": {"pool": "batch"}, "tolerations": [{"key": "batch", "operator": "Exists"}]}
    owners = [{"kind": "Pod", "name": "driver", "uid": "d", "controller": True, "apiVersion": "v1"}]
    one, two = (trimmed(objects.pod(name, spec=spec, owners=owners)) for name in ("a", "b"))
    assert one.owners is two.owners
    assert one.constraints is two.constraints
    assert one.native is two.native


def test_empty_objects_become_empty_records() -> None:
    """Null everywhere is legal on the wire."""
    wire = msgspec.json.decode(
        b'{"metadata":{"name":"x","uid":"u","labels":null},"spec":null,"status":null}', type=shapes.Pod
    )
    assert trim.pod(wire).name == "x"
    node = msgspec.json.decode(b'{"metadata":{"name":"x"},"spec":{},"status":{"conditions":null}}', type=shapes.Node)
    assert not trim.node(node).open


@pytest.mark.parametrize(
    ("ready", "spec", "is_open"),
    [(True, {}, True), (False, {}, False), (True, {"unschedulable": True}, False)],
    ids=["ready", "lost", "cordoned"],
)
def test_node_is_open_when_ready_and_not_cordoned(ready: bool, spec: dict[str, Any], is_open: bool) -> None:
    """A lost or cordoned node takes nobody."""
    record = trim.node(msgspec.convert(objects.node(ready=ready, spec=spec), shapes.Node))
    assert record.open is is_open
    assert record.allocatable["cpu"] == 16


def test_a_node_counts_with_its_first_kinds_by_name_and_always_with_the_usual_ones() -> None:
    """Whoever has a kubelet's token may write thousands, and each is a column of all nodes."""
    made_up = {f"made/up-{number:04}": "1" for number in range(2000)}
    status = {"allocatable": made_up | {"cpu": "16", "pods": "110"}, "capacity": made_up | {"memory": "64Gi"}}
    record = trim.node(msgspec.convert({"metadata": {"name": "n"}, "status": status}, shapes.Node))
    first = {f"made/up-{number:04}" for number in range(trim.MOST_OFFERED)}
    assert set(record.allocatable) == {"cpu", "pods", *first}
    assert set(record.capacity) == {"memory", *first}


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        pytest.param({"status": {"qosClass": "Guaranteed"}}, True, id="Guaranteed"),
        pytest.param({"status": {"qosClass": "Burstable"}}, False, id="Burstable"),
        pytest.param({"spec": {"priorityClassName": "system-node-critical"}}, True, id="critical to its node"),
        pytest.param({"spec": {"priorityClassName": "system-cluster-critical"}}, False, id="critical to the cluster"),
    ],
)
def test_pods_that_the_kernel_kills_last_are_known(fields: dict[str, Any], last: bool) -> None:
    """As a kubelet sets oom_score_adj."""
    assert trimmed(objects.pod(**fields)).guaranteed is last


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        ("The node was low on resource: memory. Threshold quantity: 100Mi, available: 98Mi. ", "memory"),
        (
            "The node was low on resource: ephemeral-storage. Threshold quantity: 5Gi, available: 4Gi.",
            "ephemeral-storage",
        ),
        ("Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ", ""),
        ("The node had condition: [MemoryPressure]. ", ""),
        (None, ""),
    ],
)
def test_it_is_known_of_what_a_node_was_low_when_a_pod_was_evicted(words: str | None, lacking: str) -> None:
    """As kubelets write it; a pod that was never let in, or outgrew its own limit, says nothing of its node."""
    assert trimmed(objects.pod(phase="Failed", status={"reason": "Evicted", "message": words})).lacking == lacking


def test_a_pod_that_leaves_politely_when_evicted_is_known_as_evicted() -> None:
    """It ends with exit code 0: its phase is Succeeded, and only a condition tells what the kubelet did."""
    words = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 100612Ki. "
    target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": words}
    shutdown = {**target, "message": "Pod was terminated in response to imminent node shutdown."}
    evicted = trimmed(objects.pod(phase="Succeeded", status={"conditions": [target]}))
    ended = trimmed(objects.pod(phase="Succeeded", status={"conditions": [shutdown]}))
    assert (evicted.lacking, ended.lacking) == ("memory", "")
