"""Pods for a running lab, and what became of them."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.processes.stealtime import Stopwatch

PODS = "/api/v1/namespaces/default/pods"
Object = dict[str, Any]


def task(
    name: str,
    annotations: Mapping[str, str] | None = None,
    *,
    scheduler: str = "default-scheduler",
    cpu: str = "100m",
    **spec: Any,
) -> Object:
    """A pod with one container that is not restarted."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    wanted = {"restartPolicy": "Never", "schedulerName": scheduler, "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {"containers": [container], **wanted, **spec},
    }


def wait(api: ApiClient, name: str, probe: Callable[[Object], bool], patience: float = 30.0) -> Object:
    """The pod once the probe is true of it."""
    watch = Stopwatch()
    while True:
        pod: Object | None = api.find(f"{PODS}/{name}")
        if pod is not None and probe(pod):
            return pod
        if watch.seconds > patience:
            raise AssertionError(f"{name} is not as wanted after {patience} s: {pod and pod['status']}")
        time.sleep(0.1)


def phase(wanted: str) -> Callable[[Object], bool]:
    """A probe for the pod's phase."""
    return lambda pod: bool(pod["status"].get("phase") == wanted)
