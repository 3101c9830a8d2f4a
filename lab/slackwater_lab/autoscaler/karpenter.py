"""Karpenter with its kwok provider: its machines are simulated nodes of the lab, made and removed by Karpenter alone.

Built from the Go module proxy. Two lines of source are changed, so that its servers listen on this machine only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slackwater_lab.peers import definitions
from slackwater_lab.peers.sources import GoSource, folder, path_of
from slackwater_lab.processes.waiting import answers, until_serving

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ApiClient
    from slackwater_lab.lab import Lab

_SERVERS = "pkg/operator/operator.go"
KARPENTER = GoSource(
    "karpenter",
    "sigs.k8s.io/karpenter",
    "v1.14.1",
    "./kwok",
    edits=tuple(
        (
            _SERVERS,
            f'fmt.Sprintf(":%d", options.FromContext(ctx).{port})',
            f'fmt.Sprintf("127.0.0.1:%d", options.FromContext(ctx).{port})',
        )
        for port in ("MetricsPort", "HealthProbePort")
    ),
)
METRICS, HEALTH = 2, 3  # ports
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODE_CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
POOL = "lab"
ZONE = "lab-a"


@dataclass(frozen=True, slots=True)
class MachinePool:
    """What Karpenter may make: machines of one size, so many cores of them in all."""

    cores: int = 16  # of one machine, for pods
    memory_gib: int = 64
    most_cores: int = 160  # of all machines together
    boot: int = 15  # seconds until a machine joins
    empty_after: int = 20  # seconds without work after which a machine goes
    policy: str = "WhenEmpty"  # WhenEmptyOrUnderutilized: also such whose pods would fit elsewhere, which ends them


def start(lab: Lab, pool: MachinePool) -> None:
    """Start Karpenter in a lab, with one pool of machines; it goes down with the lab."""
    source, ports = folder(KARPENTER), lab.site.ports
    definitions.install(lab.site, source / "pkg/apis/crds", "*.yaml")
    definitions.install(lab.site, source / "kwok/apis/crds", "*.yaml")
    types = lab.site.write("instance-types.json", json.dumps([instance_type(pool)]))
    settings = {
        "KUBECONFIG": str(lab.site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(ports.peer(METRICS)),
        "HEALTH_PROBE_PORT": str(ports.peer(HEALTH)),
        "INSTANCE_TYPES_FILE_PATH": types,
    }
    lab.processes.start("karpenter", [path_of(KARPENTER)], settings)
    health = f"http://127.0.0.1:{ports.peer(HEALTH)}/readyz"
    until_serving(lab.processes, "karpenter", lambda: answers(health))
    with lab.api() as api:
        definitions.create(api, NODE_CLASSES, node_class(pool))
        definitions.create(api, NODE_POOLS, node_pool(pool))


def instance_type(pool: MachinePool) -> dict[str, Any]:
    """The one kind of machine. Karpenter keeps a tenth of a core and 10 MiB of each for its kubelet."""
    where = {
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": ZONE,
    }
    requirements = [{"key": key, "operator": "In", "values": [value]} for key, value in where.items()]
    return {
        "name": f"lab-{pool.cores}x-amd64-linux",
        "offerings": [{"Price": 1.0, "Available": True, "Requirements": requirements}],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {
            "cpu": f"{1000 * pool.cores + 100}m",
            "memory": f"{1024 * pool.memory_gib + 10}Mi",
            "ephemeral-storage": "1Ti",
            "pods": "500",
        },
    }


def node_class(pool: MachinePool) -> dict[str, Any]:
    """How long a machine takes to boot."""
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": POOL},
        "spec": {"nodeRegistrationDelay": f"{pool.boot}s"},
    }


def node_pool(pool: MachinePool) -> dict[str, Any]:
    """The pool: which machines, how many, and when one goes."""
    asked = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "karpenter.sh/capacity-type": "on-demand"}
    spec = {
        "requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in asked.items()],
        "nodeClassRef": {"name": POOL, "kind": "KWOKNodeClass", "group": "karpenter.kwok.sh"},
        "expireAfter": "Never",
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": POOL},
        "spec": {
            "template": {"spec": spec},
            # Its own share of each machine counts here too.
            "limits": {"cpu": f"{round(pool.most_cores * (1000 * pool.cores + 100) / pool.cores)}m"},
            "disruption": {
                "consolidationPolicy": pool.policy,
                "consolidateAfter": f"{pool.empty_after}s",
                "budgets": [{"nodes": "100%"}],
            },
        },
    }


def asked_for(api: ApiClient) -> list[str]:
    """The names of all machines that Karpenter has asked for, whether they have joined or not."""
    listed = api.find(NODE_CLAIMS) or {"items": []}
    return [claim["metadata"]["name"] for claim in listed["items"]]
