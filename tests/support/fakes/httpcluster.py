"""A small cluster over HTTP for tests of the commands: objects by path, and the extender behind the service proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from slackwater.ledger.types import RoomLine

Body = dict[str, Any]
GROUP = "/apis/slackwater.io/v1alpha1"
DEPLOYMENTS = "/apis/apps/v1/deployments"
PROXY = "/api/v1/namespaces/slackwater-system/services/https:slackwater-extender:https/proxy"


@dataclass
class Cluster:
    """Answers by path: a body, or (status, body). Patches are remembered."""

    answers: dict[str, Body | tuple[int, Body]] = field(default_factory=dict)
    patched: list[tuple[str, Any, str]] = field(default_factory=list)
    url: str = ""

    def put(self, path: str, *items: Body) -> None:
        """A list at a path."""
        self.answers[path] = {"items": list(items), "metadata": {}}

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig whose context names the namespace team-a."""
        path = folder / "kubeconfig"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path


@contextmanager
def served(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = cluster.answers.get(urlsplit(self.path).path, (404, {"message": f"{self.path} not found"}))
            self._say(*(found if isinstance(found, tuple) else (200, found)))

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            cluster.patched.append((self.path, body, self.headers["Content-Type"]))
            found = cluster.answers.get(f"PATCH {self.path}", {})
            self._say(*(found if isinstance(found, tuple) else (200, found)))

        def _say(self, status: int, body: Body) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    cluster.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()


def pod(name: str, *, app: str = "etl", node: str = "", gated: bool = True, parked: bool = False) -> Body:
    """A pod of team-a."""
    gates = [{"name": "other.io/gate"}, {"name": "slackwater.io/admission"}] if gated else []
    return {
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": f"u-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"slackwater.io/app": app, "slackwater.io/role": "task"},
            "annotations": {"slackwater.io/parked": "true"} if parked else {},
        },
        "spec": {"schedulingGates": gates} | ({"nodeName": node} if node else {}),
        "status": {"phase": "Running" if node else "Pending"},
    }


def tracked(name: str, *, held: int = 0, bound: int = 0, position: int | None = None) -> Body:
    """A TrackedApp of team-a."""
    status: Body = {
        "phase": "Waiting" if held else "Running",
        "reason": "pool-closed" if held else "complete",
        "message": "the large pool has 20.0 of 23.0 slots" if held else "no pod of this app is held",
        "pods": {"held": held, "bound": bound},
        "waitSeconds": 90 if held else None,
        "declared": {"cpu": "4", "memory": "8Gi"},
        "used": {"cpu": "1", "memory": "2Gi"},
        "efficiency": 0.25,
    }
    if position:
        status["position"] = position
    return {
        "metadata": {"name": name, "namespace": "team-a", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"app": name, "queue": "default"},
        "status": {key: value for key, value in status.items() if value is not None},
    }


def usual() -> Cluster:
    """Two nodes, a queue, a pool, an app that runs and one that waits."""
    made = Cluster()
    _put_apps(made)
    _put_nodes(made)
    _put_explanations(made)
    made.answers[f"{PROXY}/readyz"] = {"status": "ready", "reasons": []}
    made.answers["/version"] = {"gitVersion": "v1.36.4", "minor": "36"}
    made.put("/api/v1/namespaces", {"metadata": {"name": "team-a"}})
    made.put(
        "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases",
        {
            "metadata": {"name": "slackwater-operator"},
            "spec": {"holderIdentity": "op-1", "renewTime": "2999-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
        },
    )
    made.put(DEPLOYMENTS, deployment("watchdog", namespace="kube-system"))
    return made


def deployment(part: str, *, namespace: str = "slackwater-system", available: int = 1, refused: str = "") -> Body:
    """A Deployment of the chart."""
    failure = {"type": "ReplicaFailure", "status": "True", "message": refused}
    return {
        "metadata": {
            "name": f"slackwater-{part}",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/component": part},
        },
        "status": {"availableReplicas": available, "conditions": [failure] if refused else []},
    }


def _put_apps(made: Cluster) -> None:
    """Pods, their apps, and what governs them."""
    pods = [pod("etl-0"), pod("etl-1", gated=False, parked=True), pod("ran", node="n0", gated=False)]
    made.put("/api/v1/namespaces/team-a/pods", *pods)
    for body in pods:
        made.answers[f"/api/v1/namespaces/team-a/pods/{body['metadata']['name']}"] = body
    made.put(f"{GROUP}/trackedapps", tracked("etl", held=2, position=1), tracked("night", bound=3))
    made.answers[f"{GROUP}/namespaces/team-a/trackedapps"] = made.answers[f"{GROUP}/trackedapps"]
    queue = {
        "metadata": {"name": "default"},
        "spec": {"order": "fifo"},
        "status": {"capacity": {"cpu": "96"}, "reservation": {"cpu": "64"}, "budget": {"cpu": "22"}},
    }
    made.put(f"{GROUP}/admissionqueues", queue)
    made.answers[f"{GROUP}/admissionqueues/default"] = queue
    made.put(
        f"{GROUP}/reservationpools",
        {"metadata": {"name": "default"}, "spec": {}, "status": {"delta": 0.1, "total": 23}},
    )
    made.put(f"{GROUP}/slackpolicies", {"metadata": {"name": "default"}, "spec": {}, "status": {}})


def _put_nodes(made: Cluster) -> None:
    """What the extender says of the nodes."""
    nodes = [
        {
            "name": name, "open": name != "n1", "stale": False, "room": {"cpu": 9.0, "memory": 40 * 2**30},
            "allocatable": {"cpu": 16.0, "memory": 64 * 2**30}, "allowed": {"cpu": 14.0, "memory": 56 * 2**30},
            "declared": {"cpu": 12.0, "memory": 24 * 2**30}, "used": {"cpu": 2.0, "memory": 4 * 2**30},
            "estimate": {"cpu": 5.0, "memory": 16 * 2**30},
        }
        for name in ("n0", "n1")
    ]  # fmt: skip
    made.answers[f"{PROXY}/v1/nodes"] = {"kinds": ["cpu", "memory"], "nodes": nodes}


def _put_explanations(made: Cluster) -> None:
    """What the extender says of one node, and of two pods."""
    line = RoomLine(
        capacity=16.0, allocatable=16.0, allowed=14.0, real=16.0, used=2.0, learned=2.0, residual=3.0, reserved=12.0,
        known=6.0, estimate=5.0, declared=12.0, drivers=2.0, native=6.0, room=7.0, stale=False, requested=4.0,
        uncovered=0.0,
    ).told()  # fmt: skip
    made.answers[f"{PROXY}/v1/nodes/n0"] = {
        "name": "n0",
        "open": True,
        "resources": {"cpu": line},
        "pods": [
            {"uid": "u1", "pod": "team-a/ran", "role": "task", "state": "running", "declared": {"cpu": 2.0}},
            {"uid": "u2", "pod": "", "role": "driver", "state": "bound", "declared": {"cpu": 4.0}},
        ],
    }
    best = [{"node": "n0", "score": 9, "room": {}}]
    explained = {
        "app": "etl",
        "declared": {"cpu": 4.0},
        "native": {"cpu": 2.0},
        "decisions": [],
        "charged_on": "",
        "sentence": "it waits behind the gate",
        "refusal": "",
        "now": {"fitting": 1, "nodes": 2, "counts": {"slackwater: node not ready": 1}, "best": best},
    }
    made.answers[f"{PROXY}/v1/explain/team-a/etl-0"] = explained
    made.answers[f"{PROXY}/v1/explain/team-a/ran"] = explained | {"sentence": "it is on n0", "now": None}
