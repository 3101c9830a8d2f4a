"""A lab with two real nodes, where real frameworks run; tainted simulated nodes stand beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.frameworks import imagefiles, operators, spark
from slackwater_lab.lab import Lab
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import built

Object = dict[str, Any]
GATE = "slackwater.io/admission"
TRACKED = "/apis/slackwater.io/v1alpha1/namespaces/{}/trackedapps"


@dataclass
class Playground:
    """The lab, and what a test wants of it."""

    lab: Lab
    api: ApiClient
    loaded: set[str] = field(default_factory=set)
    nodes: tuple[str, ...] = ("real-1", "real-2")  # those that pods may use

    def load(self, *images: str) -> None:
        """Bring images of frameworks to the nodes."""
        for name in images:
            if name not in self.loaded:
                self.lab.real.load(imagefiles.make(name, print))
                self.loaded.add(name)

    def team(self, name: str, *, managed: bool = True) -> str:
        """A namespace in which Spark may make pods; Slackwater's business or not."""
        labels = {"slackwater.io/managed": "true"} if managed else {}
        operators.create(
            self.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        operators.create(self.api, *spark.rights(name))
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until("the namespace has its account", lambda: self.api.find(account) is not None, 60)
        return name

    def pods(self, namespace: str, **labels: str) -> list[Object]:
        """Pods with these labels; `_` in a key stands for `-`."""
        wanted = ",".join(f"{key.replace('_', '-')}={value}" for key, value in labels.items())
        listed = self.api.find(f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": wanted} if wanted else {})
        return list((listed or {"items": []})["items"])

    def log(self, pod: Object) -> str:
        """What a pod printed; nothing where there is no log of it."""
        metadata = pod["metadata"]
        try:
            return self.api.text(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log")
        except Unavailable:
            return ""

    def tracked(self, namespace: str) -> dict[str, Object]:
        """TrackedApps by their app."""
        listed = self.api.find(TRACKED.format(namespace)) or {"items": []}
        return {item["spec"]["app"]: item for item in listed["items"]}

    def cordon(self, *names: str, closed: bool) -> None:
        """Close these nodes for new pods, or open them again; all nodes, where none is named."""
        for name in names or self.nodes:
            self.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": closed}}, STRATEGIC)

    def evict(self, pod: Object) -> None:
        """Ask for an eviction, as a drain does."""
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        self.api.post(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction", body)

    def kill(self, pod: Object) -> None:
        """Take a pod away at once, as where its node is lost."""
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        self.api.delete(path, {"gracePeriodSeconds": "0"})

    def run(self, pod: Object, *command: str) -> str:
        """What a command printed that was run in a pod."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        kubectl = [built("kubectl"), f"--kubeconfig={self.lab.site.kubeconfig}", "exec", "-n", namespace, name, "--"]
        return run([*kubectl, *command])

    @contextmanager
    def closed(self) -> Iterator[None]:
        """All nodes are closed for new pods meanwhile."""
        self.cordon(closed=True)
        try:
            yield
        finally:
            self.cordon(closed=False)

    def clear(self, namespace: str) -> None:
        """Delete every pod, so that the next test finds the nodes empty."""
        self.api.delete(f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": "1"})
        until("the pods are gone", lambda: not self.pods(namespace), 300)


def until(what: str, probe: Callable[[], object], patience: float, pause: float = 1.0) -> float:
    """Ask until the answer is true; returns the seconds it took."""
    start = time.monotonic()
    while not probe():
        assert time.monotonic() - start < patience, f"{what}: not within {patience:.0f} s"
        time.sleep(pause)
    return time.monotonic() - start


def phase(pod: Object) -> str:
    """The pod's phase, `Gated` while we hold it."""
    gated = pod.get("spec", {}).get("schedulingGates")
    return "Gated" if gated else str(pod.get("status", {}).get("phase", ""))


def role(pod: Object) -> str:
    """The role that was fixed at its creation."""
    return str(notes(pod).get("slackwater.io/admitted-role", ""))


def notes(pod: Object) -> Mapping[str, str]:
    """Its annotations."""
    found: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    return found


def requests(pod: Object) -> Mapping[str, str]:
    """What its first container requests now."""
    found: Mapping[str, str] = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    return found
