"""Native requests, counted as kube-scheduler counts them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster.objects import wire
from slackwater_cluster.pods.requests import MOST, MOST_CORES, native
from support.builders import objects

GI = 2**30


def container(cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"name": more.pop("name", "c"), "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def read(pod: dict[str, Any]) -> wire.Pod:
    return msgspec.convert(pod, wire.Pod)


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [container("1"), container("500m")]}, 1.5, id="containers-add-up"),
        pytest.param({"initContainers": [container("3")], "containers": [container("1")]}, 3, id="larger-init-wins"),
        pytest.param({"initContainers": [container("2"), container("3")], "containers": [container("1")]}, 3, id="max"),
        pytest.param({"initContainers": [container("1", **SIDECAR)], "containers": [container("1")]}, 2, id="sidecar"),
        pytest.param(
            {"initContainers": [container("1", **SIDECAR), container("4")], "containers": [container("1")]},
            5,
            id="init-runs-beside-earlier-sidecar",
        ),
        pytest.param(
            {"initContainers": [container("4"), container("1", **SIDECAR)], "containers": [container("1")]},
            4,
            id="later-sidecar-is-not-beside-init",
        ),
        pytest.param({"overhead": {"cpu": "250m"}}, 1.25, id="overhead-added"),
        pytest.param({"resources": {"requests": {"cpu": "4"}}}, 4, id="pod-level-replaces"),
        pytest.param(
            {"resources": {"requests": {"cpu": "4"}}, "overhead": {"cpu": "1"}}, 5, id="pod-level-plus-overhead"
        ),
        pytest.param({"containers": [{"name": "bare"}]}, 0, id="no-requests"),
        pytest.param({"containers": None}, 0, id="bookmark-nulls"),
    ],
)
def test_cpu_counts_as_the_scheduler_counts(spec: dict[str, Any], cpu: float) -> None:
    """Sums, maxima, sidecars, overhead and pod-level requests."""
    assert native(read(objects.pod(spec=spec)))["cpu"] == pytest.approx(cpu)


RESIZES = pytest.mark.parametrize(
    ("conditions", "cpu"),
    [
        pytest.param([], 3.0, id="asked-more-than-allocated"),
        pytest.param([{"type": "PodResizePending", "reason": "Infeasible"}], 2.0, id="infeasible-ask-ignored"),
        pytest.param([{"type": "PodResizePending", "reason": "Deferred"}], 3.0, id="deferred-ask-counts"),
    ],
)


@RESIZES
def test_resize_counts_the_largest_of_asked_allocated_and_actuated(conditions: list[Any], cpu: float) -> None:
    """A resize under way must not be undercounted."""
    seen = {"name": "main", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "2"}}
    status = {"containerStatuses": [seen], "conditions": conditions}
    assert native(read(objects.pod(cpu="3", status=status)))["cpu"] == cpu


@RESIZES
def test_a_resize_of_the_pod_as_a_whole_counts_likewise(conditions: list[Any], cpu: float) -> None:
    """Since 1.36 by default: what the node still holds for it is nobody else's."""
    status = {"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "2"}, "conditions": conditions}
    spec = {"resources": {"requests": {"cpu": "3"}}}
    assert native(read(objects.pod(spec=spec, status=status)))["cpu"] == cpu


def test_kinds_of_any_name_are_counted() -> None:
    """GPUs and other extended resources count like cpu."""
    needs = {"requests": {"cpu": "1", "nvidia.com/gpu": "2", "memory": "1Gi"}}
    asked = native(read(objects.pod(spec={"containers": [{"name": "c", "resources": needs}]})))
    assert asked == Resources(cpu=1, memory=GI, **{"nvidia.com/gpu": 2})


def test_pod_without_spec_asks_nothing() -> None:
    """A bookmark's object is no pod."""
    assert not native(wire.Pod())


@pytest.mark.parametrize(
    "kind",
    [
        "ephemeral-storage",
        "hugepages-2Mi",
        "attachable-volumes-csi-x",
        pytest.param("deviceclass.resource.kubernetes.io/gpu.example.com", id="of a DeviceClass"),
    ],
)
@pytest.mark.parametrize("overhead", [{}, {"cpu": "100m"}], ids=["one container", "with overhead"])
def test_kinds_that_the_scheduler_looks_after_alone_are_left_out(kind: str, overhead: dict[str, str]) -> None:
    """No table of nodes has them: a pod that asks for some of it would be larger than any node."""
    asked = {"resources": {"requests": {"cpu": "1", kind: "1Gi"}}}
    spec = {"containers": [{"name": "main", **asked}], **({"overhead": overhead} if overhead else {})}
    assert set(native(read({"spec": spec}))) == {"cpu"}


@pytest.mark.parametrize("containers", [1, 3])
def test_a_pod_counts_with_no_more_than_any_machine_will_have(containers: int) -> None:
    """Sums over pods keep all others to a millicore and a byte when a pod of 9E cores comes and goes."""
    asked = native(
        read(objects.pod(spec={"containers": [container("9E", "8E", name=f"c{i}") for i in range(containers)]}))
    )
    assert (asked["cpu"], asked["memory"]) == (MOST_CORES, MOST)
    for kind, others in (("cpu", 14.001), ("memory", 14.0 * GI + 1)):
        assert others + asked[kind] - asked[kind] == pytest.approx(others, abs=1e-9)
