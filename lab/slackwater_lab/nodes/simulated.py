"""Simulated nodes: how many, how large, with which labels; and how to lose and find one."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.nodes.kwok import ANNOTATION

NODES = "/api/v1/nodes"
KIND = "slackwater.io/lab-node"  # label and taint: kwok or real
PLATFORM = {
    f"{prefix}kubernetes.io/{key}": value
    for prefix in ("", "beta.")
    for key, value in (("os", "linux"), ("arch", "amd64"))
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What each simulated node offers."""

    cpu: str = "16"
    memory: str = "64Gi"
    pods: int = 500
    labels: Mapping[str, str] = field(default_factory=dict)
    tainted: bool = False  # keeps pods that need a real kubelet away


def manifest(name: str, shape: Shape) -> dict[str, Any]:
    """A node that kwok will take care of. It is born Ready and labelled, which spares each node four writes."""
    amounts = {"cpu": shape.cpu, "memory": shape.memory, "pods": str(shape.pods), "ephemeral-storage": "1Ti"}
    taints = [{"key": KIND, "value": "kwok", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, KIND: "kwok", **PLATFORM, **shape.labels},
            "annotations": {ANNOTATION: "fake"},
        },
        "spec": {"taints": taints if shape.tainted else []},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": "kwok", "operatingSystem": "linux", "architecture": "amd64"},
            "phase": "Running",
        },
    }


def names(count: int, prefix: str = "node") -> list[str]:
    """Names that sort as they count."""
    width = max(3, len(str(count - 1)))
    return [f"{prefix}-{number:0{width}}" for number in range(count)]


def create(api: ApiClient, wanted: Iterable[str], shape: Shape) -> int:
    """Create those nodes that are not there yet; returns how many were made."""
    with ThreadPoolExecutor(8) as pool:
        made = pool.map(lambda name: api.create(NODES, manifest(name, shape)), wanted)
        return sum(1 for node in made if node is not None)


def delete(api: ApiClient, wanted: Iterable[str]) -> None:
    """Delete nodes; the controller manager then removes what ran there."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: api.delete(f"{NODES}/{name}"), wanted))


def lose(api: ApiClient, name: str) -> None:
    """Let a node fall silent: kwok lets go of it, and it is reported as the node controller would report it."""
    api.patch(f"{NODES}/{name}", {"metadata": {"annotations": {ANNOTATION: "lost"}}}, STRATEGIC)
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    api.patch(f"{NODES}/{name}/status", {"status": {"conditions": [unknown]}}, STRATEGIC)


def find_again(api: ApiClient, name: str) -> None:
    """Bring a lost node back."""
    api.patch(f"{NODES}/{name}", {"metadata": {"annotations": {ANNOTATION: "fake"}}}, STRATEGIC)


def ready(api: ApiClient) -> list[str]:
    """The names of the nodes that are Ready and free of the taints of new and silent nodes."""
    listed = api.find(NODES, {"resourceVersion": "0"}) or {"items": []}  # from the API server's memory
    return [node["metadata"]["name"] for node in listed["items"] if _is_ready(node)]


def _is_ready(node: Mapping[str, Any]) -> bool:
    # The taints go some seconds after the condition: a pod would still not be placed there.
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    conditions = {item["type"]: item["status"] for item in node["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and not tainted
