"""A piece of cluster that one end-to-end test has for itself: a namespace, simulated nodes and a queue."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.nodes import simulated
from slackwater_lab.processes.stealtime import Stopwatch

Object = dict[str, Any]
T = TypeVar("T")
LABEL = "slackwater-e2e"  # nodes and pods of one ground carry it, so that grounds do not meet
QUEUES = "/apis/slackwater.io/v1alpha1/admissionqueues"
POOLS = "/apis/slackwater.io/v1alpha1/reservationpools"
GATE = "slackwater.io/admission"
OURS = "slackwater"
PLAIN = "default-scheduler"


def until(what: str, probe: Callable[[], T], patience: float = 60.0, pause: float = 0.1) -> T:
    """Ask until the answer is true and return it; a deadline, never a sleep, is what keeps tests in step.

    Time that the host stole from this machine does not count.
    """
    watch = Stopwatch()
    while not (answer := probe()):
        assert watch.seconds < patience, f"{what}: not within {patience:g} s"
        time.sleep(pause)
    return answer


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a test plays. `name` is the namespace and the value of the label."""

    api: ApiClient
    name: str
    nodes: Sequence[str]
    made: list[str] = field(default_factory=list)  # cluster-wide objects to take away in the end

    @property
    def pods_path(self) -> str:
        """Where its pods are."""
        return f"/api/v1/namespaces/{self.name}/pods"

    def make(self, path: str, kind: str, spec: Mapping[str, Any]) -> None:
        """Create a custom resource of the ground's name, to be taken away with it."""
        body = {
            "apiVersion": "slackwater.io/v1alpha1",
            "kind": kind,
            "metadata": {"name": self.name},
            "spec": dict(spec),
        }
        self.api.create(path, body)
        self.made.append(f"{path}/{self.name}")

    # -- pods ------------------------------------------------------------------------------------------------------

    def pod(
        self,
        name: str,
        *,
        app: str = "",
        role: str = "task",
        cpu: str = "1",
        memory: str = "1Gi",
        use: tuple[str, str] | None = None,
        lasts: float | None = None,
        labels: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """A pod with one container. `use` is what it will really take of cpu and memory, `lasts` its run time."""
        marks = dict(notes or {})
        if use is not None:
            marks |= {"kwok.x-k8s.io/usage-cpu": use[0], "kwok.x-k8s.io/usage-memory": use[1]}
        if lasts is not None:
            marks["slackwater.io/lab-duration"] = f"{lasts:g}"
        known = {"slackwater.io/app": app or name} | ({"slackwater.io/role": role} if role else {})
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": marks, "labels": {**known, **(labels or {})}},
            "spec": {
                "containers": [container],
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "nodeSelector": {LABEL: self.name},
                **spec,
            },
        }

    def create(self, pods: Iterable[Object]) -> list[Object]:
        """Create pods, eight at a time; returns them as the API server admitted them."""
        with ThreadPoolExecutor(8) as pool:
            return [made for made in pool.map(lambda pod: self.api.create(self.pods_path, pod), pods) if made]

    def pods(self, **labels: str) -> list[Object]:
        """Its pods, by name."""
        chosen = ",".join(f"slackwater.io/{key}={value}" for key, value in labels.items())
        listed = self.api.find(self.pods_path, {"labelSelector": chosen}) or {"items": []}
        return sorted(listed["items"], key=lambda pod: str(pod["metadata"]["name"]))

    def get(self, name: str) -> Object:
        """One pod, which must exist."""
        pod: Object | None = self.api.find(f"{self.pods_path}/{name}")
        assert pod is not None, f"there is no pod {name}"
        return pod

    def use(self, name: str, cpu: str, memory: str) -> None:
        """Change what a running pod takes."""
        marks = {"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": memory}
        self.api.patch(f"{self.pods_path}/{name}", {"metadata": {"annotations": marks}}, STRATEGIC)

    def clear(self) -> None:
        """Delete all its pods and wait until they are gone."""
        self.api.delete(self.pods_path, {"gracePeriodSeconds": "0"})
        until("no pod is left", lambda: not self.pods(), 30)

    # -- what became of them ---------------------------------------------------------------------------------------

    def until_bound(self, count: int, patience: float = 60.0, **labels: str) -> list[Object]:
        """Wait until that many of its pods have a node; returns those."""

        def enough() -> list[Object]:
            found = bound(self.pods(**labels))
            return found if len(found) >= count else []

        try:
            return until(f"{count} pods of {self.name} are bound", enough, patience, 0.2)
        except AssertionError as late:
            raise AssertionError(f"{late}; {states(self.pods(**labels))}") from None

    def until_done(self, count: int, patience: float = 60.0, **labels: str) -> list[Object]:
        """Wait until that many of its pods have succeeded; returns those."""

        def enough() -> list[Object]:
            found = [pod for pod in self.pods(**labels) if phase(pod) == "Succeeded"]
            return found if len(found) >= count else []

        return until(f"{count} pods of {self.name} have succeeded", enough, patience, 0.2)


def bound(pods: Iterable[Object]) -> list[Object]:
    """Those that have a node."""
    return [pod for pod in pods if pod["spec"].get("nodeName")]


def phase(pod: Object) -> str:
    """The pod's phase."""
    return str(pod["status"].get("phase"))


def gated(pod: Object) -> bool:
    """Whether our gate holds it."""
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", []))


def states(pods: Iterable[Object]) -> str:
    """Where each pod stands, for people who look for the reason."""
    return ", ".join(
        f"{pod['metadata']['name']} {phase(pod)}"
        + (f" on {pod['spec']['nodeName']}" if bound([pod]) else "")
        + (" gated" if gated(pod) else "")
        + f" {pod['metadata'].get('annotations', {}).get('slackwater.io/reason', '')}".rstrip()
        for pod in pods
    )


def declared_cpu(pods: Iterable[Object]) -> float:
    """Σ of what pods asked for before it was lowered, in cores."""
    return sum(float(pod["metadata"]["annotations"]["slackwater.io/declared-cpu"].rstrip("m")) / 1000 for pod in pods)


def open_ground(api: ApiClient, name: str, count: int, shape: simulated.Shape, labels: Mapping[str, str]) -> Ground:
    """Make nodes, namespace and queue; the labels of the namespace say whether and how it is managed."""
    ground = Ground(api, name, simulated.names(count, name))
    simulated.create(api, ground.nodes, replace(shape, labels={LABEL: name, **shape.labels}))
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels)}})
    ground.make(QUEUES, "AdmissionQueue", {"namespaces": [name], "nodeSelector": {LABEL: name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until("the namespace has its account", lambda: api.find(account) is not None, 30)
    until("the nodes are Ready", lambda: set(ground.nodes) <= set(simulated.ready(api)), 60)
    return ground


def close_ground(ground: Ground) -> None:
    """Take everything away again."""
    ground.clear()
    for path in [*ground.made, f"/api/v1/namespaces/{ground.name}"]:
        ground.api.delete(path)
    simulated.delete(ground.api, ground.nodes)
