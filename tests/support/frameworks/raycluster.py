"""Objects of KubeRay as its documentation writes them, and a program that checks its own result."""

from __future__ import annotations

from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.imagefiles import RAY
from support.frameworks.playground import Object

CLUSTER = "ray.io/cluster"
RIGHT = "RESULT 20540"
SQUARES = """
import ray
ray.init(address="auto")
@ray.remote(num_cpus=1)
def square(x):
    return x * x
print("RESULT", sum(ray.get([square.remote(x) for x in range(40)])), flush=True)
"""


def container(name: str, cpu: str, memory: str) -> Object:
    """A container of Ray."""
    amounts = {"cpu": cpu, "memory": memory}
    return {
        "name": name,
        "image": RAY,
        "imagePullPolicy": "Never",
        "resources": {"requests": amounts, "limits": amounts},
    }


def clustered(*, dashboard: bool) -> Object:
    """The spec of a head that runs no tasks and two workers, as KubeRay's documentation writes it."""
    store = {"object-store-memory": "100000000"}
    head = {"num-cpus": "0", "include-dashboard": str(dashboard).lower(), **store}
    worker = {
        "groupName": "small",
        "replicas": 2,
        "minReplicas": 2,
        "maxReplicas": 2,
        "rayStartParams": store,
        "template": {"spec": {"containers": [container("ray-worker", "1", "1Gi")]}},
    }
    return {
        "rayVersion": layers.RAY,
        "headGroupSpec": {
            "rayStartParams": head,
            "template": {"spec": {"containers": [container("ray-head", "1", "2Gi")]}},
        },
        "workerGroupSpecs": [worker],
    }


def resource(kind: str, name: str, team: str, **spec: object) -> Object:
    """An object of KubeRay's."""
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name, "namespace": team}, "spec": spec}
