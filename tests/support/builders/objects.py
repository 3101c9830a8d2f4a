"""Builders of Kubernetes objects as the API server sends them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def pod(
    name: str = "pod",
    namespace: str = "batch",
    *,
    uid: str = "",
    cpu: str = "1",
    memory: str = "1Gi",
    node: str = "",
    phase: str = "Pending",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owners: list[Object] | None = None,
    scheduler: str = "slackwater",
    spec: Object | None = None,
    status: Object | None = None,
    meta: Object | None = None,
) -> Object:
    """A pod with one container."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{namespace}-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels or {},
            "annotations": annotations or {},
            "ownerReferences": owners or [],
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:metadata": {}}}],
            **(meta or {}),
        },
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
            **({"nodeName": node} if node else {}),
            **(spec or {}),
        },
        "status": {"phase": phase, **(status or {})},
    }


def declared(cpu: str, memory: str, shrunk: str = "200/150", role: str = "task") -> dict[str, str]:
    """The annotations that the admission policy seals."""
    return {
        "slackwater.io/declared-cpu": cpu,
        "slackwater.io/declared-memory": memory,
        "slackwater.io/admitted-role": role,
        "slackwater.io/shrunk": shrunk,
    }


def running(started: str = "2026-01-01T00:01:00Z") -> Object:
    """The status of a pod whose container runs since then."""
    return {"containerStatuses": [{"name": "main", "state": {"running": {"startedAt": started}}}]}


def node(
    name: str = "node-1",
    *,
    cpu: str = "16",
    memory: str = "64Gi",
    ready: bool = True,
    labels: dict[str, str] | None = None,
    address: str = "10.0.0.1",
    spec: Object | None = None,
    more: dict[str, str] | None = None,
) -> Object:
    """A node with the same capacity and allocatable."""
    offers = {"cpu": cpu, "memory": memory, "pods": "110", **(more or {})}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": spec or {},
        "status": {
            "capacity": offers,
            "allocatable": offers,
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        },
    }


def namespace(name: str = "batch", *, managed: bool = True, policy: str = "") -> Object:
    """A namespace, managed unless told otherwise."""
    labels = {"kubernetes.io/metadata.name": name}
    if managed:
        labels["slackwater.io/managed"] = "true"
    if policy:
        labels["slackwater.io/policy"] = policy
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels}}
