"""The cases of admission: every kind of pod that is tried, where it is created, and who creates it.

One table for the policy and for the webhook: `tests/operator/lab/test_policies.py` says what comes of each case, and
`tests/operator/lab/test_webhookcases.py` that both ways give the same pod.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from support.lab.session import MERGE

Object = dict[str, Any]
TASK = {"slackwater.io/role": "task"}
DRIVER = {"slackwater.io/role": "driver"}
FOREIGN = {"name": "example.com/wait"}
DAEMONS = "system:serviceaccount:kube-system:daemon-set-controller"

POLICIES = {
    "default": {
        "mode": "enforce",
        "driverLabels": [{"key": "house/part", "values": ["leader"]}],
        "taskLabels": [{"key": "house/part", "values": ["worker"]}],
    },
    "looks": {"mode": "observe"},
    "prefers": {"mode": "score"},
    "tighter": {"mode": "enforce", "ceiling": {"cpuPercent": 400, "memoryPercent": 300}},
    "easy": {"mode": "enforce"},
}
# Managed namespaces by the policy they name; "plain" is not managed.
NAMESPACES = {
    "team": "",
    "spelt": "default",
    "observed": "looks",
    "scored": "prefers",
    "tight": "tighter",
    "roomy": "easy",
    "lost": "nowhere",
}
PLAIN = "plain"
RUNTIME = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "heavy"},
    "handler": "heavy",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
}


class Case(NamedTuple):
    """A pod that is created."""

    pod: Object
    namespace: str = "team"
    user: str = ""  # "": the administrator


def container(name: str = "main", **requests: str) -> Object:
    """A container with requests."""
    return {"name": name, "image": "none", **({"resources": {"requests": requests}} if requests else {})}


def pod(name: str, labels: dict[str, str] | None = None, *containers: Object, **spec: Any) -> Object:
    """A pod to be created."""
    listed = list(containers) or [container(cpu="2", memory="3Gi")]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, "annotations": spec.pop("annotations", {})},
        "spec": {"containers": listed, **spec},
    }


def _limited(name: str, **limits: str) -> Object:
    return {"name": name, "image": "none", "resources": {"limits": limits}}


def _task_with_limits() -> Object:
    body = pod("task", TASK)
    body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "4", "memory": "4Gi"}
    return body


def _of_a_daemonset(name: str) -> Object:
    body = pod(name, TASK)
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "0-0-0", "controller": True}
    ]
    return body


def _many() -> Object:
    many = [container(f"c{i}", cpu="100m", memory="64Mi") for i in range(50)]
    inits = [container(f"i{i}", cpu="100m", memory="64Mi") for i in range(30)]
    return pod("many", TASK, *many, initContainers=inits)


SIDECAR = {**container("side", cpu="500m", memory="128Mi"), "restartPolicy": "Always"}
FORGED = {
    "slackwater.io/declared-cpu": "1m",
    "slackwater.io/admitted-role": "driver",
    "slackwater.io/shrunk": "9/9",
}

LABELS = {
    "spark driver": {"spark-app-selector": "s", "spark-role": "driver"},
    "spark executor": {"spark-app-selector": "s", "spark-role": "executor"},
    "spark-operator": {"sparkoperator.k8s.io/app-name": "s", "spark-role": "connect-server"},
    "spark-application": {"spark.operator/spark-app-name": "s", "spark-role": "executor"},
    "flink": {"app": "f", "type": "flink-standalone-kubernetes", "component": "taskmanager"},
    "stray component": {"component": "taskmanager"},
    "ray head": {"ray.io/cluster": "r", "ray.io/node-type": "head"},
    "ray's clean-up": {
        "ray.io/cluster": "r",
        "ray.io/node-type": "redis-cleanup",
        "batch.kubernetes.io/job-name": "j",
    },
    "submitter": {"ray.io/originated-from-cr-name": "r", "ray.io/originated-from-crd": "RayJob"},
    "mpi": {
        "training.kubeflow.org/job-name": "m",
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-role": "launcher",
    },
    "tf ps": {"training.kubeflow.org/job-name": "m", "training.kubeflow.org/replica-type": "ps"},
    "trainer": {
        "jobset.sigs.k8s.io/jobset-name": "t",
        "jobset.sigs.k8s.io/replicatedjob-name": "launcher",
    },
    "jobset": {"jobset.sigs.k8s.io/jobset-name": "t", "jobset.sigs.k8s.io/replicatedjob-name": "w"},
    "lws": {
        "leaderworkerset.sigs.k8s.io/name": "l",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    },
    "dask": {"dask.org/cluster-name": "d", "dask.org/component": "worker"},
    "argo": {"workflows.argoproj.io/workflow": "w"},
    "volcano": {"volcano.sh/job-name": "v", "volcano.sh/task-spec": "mpimaster"},
    "job": {"batch.kubernetes.io/job-name": "j"},
    "own word": {"batch.kubernetes.io/job-name": "j", "slackwater.io/role": "driver"},
    "bad word": {"batch.kubernetes.io/job-name": "j", "slackwater.io/role": "boss"},
    "policy's leader": {"house/part": "leader", "batch.kubernetes.io/job-name": "j"},
    "policy's worker": {"house/part": "worker"},
    "policy's other": {"house/part": "janitor"},
}

CASES: dict[str, Case] = {
    "task": Case(_task_with_limits()),
    "driver": Case(pod("keeps-driver", DRIVER)),
    "unknown": Case(pod("keeps-unknown")),
    "no labels at all": Case({**pod("bare"), "metadata": {"name": "bare"}}),
    "forged": Case(pod("spoof", TASK, annotations=FORGED)),
    "annotated": Case(pod("annotated", TASK, annotations={"example.com/mine": "kept"})),
    "three containers": Case(
        pod("three", TASK, container("a", cpu="1", memory="1Gi"), container("b"), container("c", cpu="300m"))
    ),
    "init containers": Case(
        pod(
            "starts",
            TASK,
            container(cpu="1", memory="1Gi"),
            initContainers=[SIDECAR, container("prepare", cpu="4", memory="256Mi")],
        )
    ),
    "sidecar only": Case(pod("beside", TASK, container(cpu="1"), initContainers=[SIDECAR])),
    "limits only": Case(pod("limits", TASK, _limited("m", cpu="2", memory="3Gi"))),
    "requests of the pod": Case(
        pod("whole", TASK, container(cpu="500m"), resources={"requests": {"cpu": "2", "memory": "3Gi"}})
    ),
    "containers that fill the pod": Case(
        pod(
            "full",
            TASK,
            *(container(f"c{i}", cpu="333m", memory="341Mi") for i in range(3)),
            resources={"requests": {"cpu": "999m", "memory": "1023Mi"}},
        )
    ),
    "names its node": Case(pod("bound", TASK, nodeName="somewhere")),
    "another scheduler": Case(pod("other", TASK, schedulerName="volcano")),
    "our scheduler": Case(pod("ours", TASK, schedulerName="slackwater")),
    "foreign gate": Case(pod("foreign", TASK, schedulingGates=[FOREIGN])),
    "our gate": Case(pod("gated", TASK, schedulingGates=[{"name": "slackwater.io/admission"}, FOREIGN])),
    "our gate last": Case(pod("late", TASK, schedulingGates=[FOREIGN, {"name": "slackwater.io/admission"}])),
    "tiny": Case(pod("tiny", TASK, container(cpu="1m", memory="1"))),
    "odd amounts": Case(pod("odd", TASK, container(cpu="0.3331", memory="1000000001"), container("b", cpu="7m"))),
    "gpu": Case(pod("gpu", TASK, _limited("m", **{"example.com/gpu": "2", "cpu": "2"}))),
    "forged owner": Case(_of_a_daemonset("forged-daemon")),
    "daemon": Case(_of_a_daemonset("real-daemon"), user=DAEMONS),
    "eighty containers": Case(_many()),
    "written as six times as much": Case(pod("escaped", TASK, {**container(cpu="2"), "args": ["<" * 720_000]})),
    "overhead": Case(pod("overhead", TASK, container(cpu="1", memory="1Gi"), runtimeClassName="heavy")),
    "observe": Case(pod("seen", TASK), "observed"),
    "observe, forged": Case(pod("liar", TASK, annotations={"slackwater.io/shrunk": "900/900"}), "observed"),
    "score": Case(pod("liked", TASK), "scored"),
    "tighter ceiling": Case(pod("quarter", TASK, container(cpu="2", memory="3Gi")), "tight"),
    "default by its name": Case(pod("named", TASK, container(cpu="2", memory="3Gi")), "spelt"),
    "open gate": Case(pod("passes", TASK), "roomy"),
    "open gate, foreign gate": Case(pod("passes-ours", TASK, schedulingGates=[FOREIGN]), "roomy"),
    "open gate, driver": Case(pod("leads", DRIVER), "roomy"),
    "open gate, unknown": Case(pod("nobody"), "roomy"),
    "open gate, gang": Case(pod("together", TASK, annotations={"slackwater.io/gang": "true"}), "roomy"),
    "open gate, paused by label": Case(pod("pauses", {**TASK, "slackwater.io/pause": "true"}), "roomy"),
    "policy does not exist": Case(pod("free", TASK), "lost"),
    "not managed": Case(pod("free", TASK), PLAIN),
    **{f"role: {name}": Case(pod("same", each)) for name, each in LABELS.items()},
}


def create(kube: Any, namespace: str, body: Object) -> Object:
    """Create a pod, which must succeed, and return it as stored."""
    answer = kube.post(f"/api/v1/namespaces/{namespace}/pods", body)
    assert answer.ok, answer.message
    stored: Object = answer.body
    return stored


def gates(stored: Object) -> list[str]:
    """The pod's scheduling gates."""
    return [gate["name"] for gate in stored["spec"].get("schedulingGates", [])]


def marks(stored: Object) -> dict[str, str]:
    """Our annotations without their prefix."""
    annotations = stored["metadata"].get("annotations", {})
    return {key.removeprefix("slackwater.io/"): value for key, value in annotations.items() if "slackwater.io/" in key}


def prepare(kube: Any) -> None:
    """Everything that the cases need; returns when admission acts."""
    for name, spec in POLICIES.items():
        body = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": name}, "spec": spec}
        assert kube.apply(body, "/apis/slackwater.io/v1alpha1/slackpolicies").ok
    opened = {"status": {"openGate": True}}
    assert kube.patch("/apis/slackwater.io/v1alpha1/slackpolicies/easy/status", opened, MERGE).ok
    for name, chosen in NAMESPACES.items():
        kube.namespace(name, slackwater_io__managed="true", **({"slackwater_io__policy": chosen} if chosen else {}))
    kube.namespace(PLAIN)
    assert kube.apply(RUNTIME, "/apis/node.k8s.io/v1/runtimeclasses").ok
    until_acting(kube)


def until_acting(kube: Any, *, acting: bool = True) -> None:
    """A new policy or webhook acts after one to three seconds, and one that was taken away for as long."""
    for _ in range(100):
        probe = kube.post("/api/v1/namespaces/team/pods?dryRun=All", pod("probe"))
        if probe.ok and bool(gates(probe.body)) == acting:
            return
        time.sleep(0.2)
    raise AssertionError("admission never acted" if acting else "admission never ceased to act")


def tidy(kube: Any) -> None:
    """Delete all pods: an operator of another test would release them."""
    for name in (*NAMESPACES, PLAIN):
        kube.delete(f"/api/v1/namespaces/{name}/pods")
