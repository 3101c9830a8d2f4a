"""What happens to pods at their creation on a real API server: gate, scheduler, declared requests, shrink."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater_cluster.apps.frameworks import builtin, policy_rules, role_by_labels

pytestmark = pytest.mark.lab

GATE = "slackwater.io/admission"
GIB = 2**30
TASK = {"slackwater.io/role": "task"}
DRIVER = {"slackwater.io/role": "driver"}
Object = dict[str, Any]


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


def policy(name: str, mode: str, **spec: Any) -> Object:
    """A SlackPolicy."""
    return {
        "apiVersion": "slackwater.io/v1alpha1",
        "kind": "SlackPolicy",
        "metadata": {"name": name},
        "spec": {"mode": mode, **spec},
    }


def create(kube: Any, namespace: str, body: Object) -> Object:
    """Create a pod, which must succeed, and return it as stored."""
    answer = kube.post(f"/api/v1/namespaces/{namespace}/pods", body)
    assert answer.ok, answer.message
    stored: Object = answer.body
    return stored


def requests(stored: Object, index: int = 0, field: str = "containers") -> dict[str, str]:
    """The requests of one container."""
    found: dict[str, str] = stored["spec"][field][index].get("resources", {}).get("requests", {})
    return found


def marks(stored: Object) -> dict[str, str]:
    """Our annotations without their prefix."""
    annotations = stored["metadata"].get("annotations", {})
    return {key.removeprefix("slackwater.io/"): value for key, value in annotations.items() if "slackwater.io/" in key}


def gates(stored: Object) -> list[str]:
    """The pod's scheduling gates."""
    return [gate["name"] for gate in stored["spec"].get("schedulingGates", [])]


@pytest.fixture(scope="module")
def team(kube: Any) -> Iterator[str]:
    """A managed namespace under the default policy, in force."""
    where = "/apis/slackwater.io/v1alpha1/slackpolicies"
    labels = [{"key": "house/part", "values": ["worker"]}]
    leaders = [{"key": "house/part", "values": ["leader"]}]
    assert kube.apply(policy("default", "enforce", driverLabels=leaders, taskLabels=labels), where).ok
    assert kube.apply(policy("looks", "observe"), where).ok
    assert kube.apply(policy("prefers", "score"), where).ok
    assert kube.apply(policy("tighter", "enforce", ceiling={"cpuPercent": 400, "memoryPercent": 300}), where).ok
    for name, chosen in {"team": "", "observed": "looks", "scored": "prefers", "tight": "tighter"}.items():
        kube.namespace(name, slackwater_io__managed="true", **({"slackwater_io__policy": chosen} if chosen else {}))
    kube.namespace("lost", slackwater_io__managed="true", slackwater_io__policy="nowhere")
    kube.namespace("plain")
    _until_in_force(kube)
    yield "team"
    for name in ("team", "observed", "scored", "tight", "lost", "plain"):
        kube.delete(f"/api/v1/namespaces/{name}/pods")  # an operator of another test would release them


def _until_in_force(kube: Any) -> None:
    """A new policy acts after one to three seconds."""
    for attempt in range(100):
        if gates(create(kube, "team", pod(f"probe-{attempt}"))):
            return
        time.sleep(0.2)
    raise AssertionError("the mutating policy never acted")


def test_task_is_gated_marked_and_shrunk(kube: Any, team: str) -> None:
    """A known task: N = D ÷ c, D and role in annotations, limits kept."""
    body = pod("task", TASK)
    body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "4", "memory": "4Gi"}
    stored = create(kube, team, body)
    assert gates(stored) == [GATE]
    assert stored["spec"]["schedulerName"] == "slackwater"
    assert requests(stored) == {"cpu": "1", "memory": str(2 * GIB)}
    assert stored["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "4", "memory": "4Gi"}
    assert marks(stored) == {
        "declared-cpu": "2000m", "declared-memory": str(3 * GIB), "admitted-role": "task", "shrunk": "200/150",
    }  # fmt: skip


@pytest.mark.parametrize(("labels", "role"), [(DRIVER, "driver"), ({}, "unknown")], ids=["driver", "unknown"])
def test_drivers_and_unknown_pods_keep_their_requests(kube: Any, team: str, labels: dict[str, str], role: str) -> None:
    """Only pods positively known as tasks are shrunk."""
    stored = create(kube, team, pod(f"keeps-{role}", labels))
    assert requests(stored) == {"cpu": "2", "memory": "3Gi"}
    assert (marks(stored)["admitted-role"], marks(stored)["shrunk"]) == (role, "100/100")
    assert gates(stored) == [GATE]


def test_spoofed_annotations_are_overwritten(kube: Any, team: str) -> None:
    """A tenant cannot declare what the policy declares."""
    forged = {
        "slackwater.io/declared-cpu": "1m",
        "slackwater.io/admitted-role": "driver",
        "slackwater.io/shrunk": "9/9",
    }
    stored = create(kube, team, pod("spoof", TASK, annotations=forged))
    assert marks(stored)["declared-cpu"] == "2000m"
    assert marks(stored)["admitted-role"] == "task"
    assert marks(stored)["shrunk"] == "200/150"


def test_three_containers_one_without_requests(kube: Any, team: str) -> None:
    """Each container is shrunk by itself; one that asks for nothing is left alone."""
    body = pod("three", TASK, container("a", cpu="1", memory="1Gi"), container("b"), container("c", cpu="300m"))
    stored = create(kube, team, body)
    assert requests(stored, 0)["cpu"] == "500m"
    assert requests(stored, 1) == {}
    assert requests(stored, 2) == {"cpu": "150m"}
    assert marks(stored)["declared-cpu"] == "1300m"


def test_init_containers_and_sidecars(kube: Any, team: str) -> None:
    """D is the larger of the main phase and the heaviest start, sidecars beside both."""
    inits = [
        {**container("side", cpu="500m", memory="128Mi"), "restartPolicy": "Always"},
        container("prepare", cpu="4", memory="256Mi"),
    ]
    stored = create(kube, team, pod("starts", TASK, container(cpu="1", memory="1Gi"), initContainers=inits))
    assert marks(stored)["declared-cpu"] == "4500m"
    assert marks(stored)["declared-memory"] == str(GIB + 128 * 2**20)
    assert requests(stored, 0, "initContainers")["cpu"] == "250m"
    assert requests(stored, 1, "initContainers")["cpu"] == "2"


def test_limits_only(kube: Any, team: str) -> None:
    """The API server's defaulting fills requests from limits first, and the policy sees them."""
    body = pod("limits", TASK, {"name": "m", "image": "none", "resources": {"limits": {"cpu": "2", "memory": "3Gi"}}})
    stored = create(kube, team, body)
    assert requests(stored) == {"cpu": "1", "memory": str(2 * GIB)}


def test_pod_level_resources(kube: Any, team: str) -> None:
    """Requests on the pod itself are shrunk too, and they are what is declared."""
    body = pod("whole", TASK, container(cpu="500m"), resources={"requests": {"cpu": "2", "memory": "3Gi"}})
    stored = create(kube, team, body)
    assert stored["spec"]["resources"]["requests"] == {"cpu": "1", "memory": str(2 * GIB)}
    assert marks(stored)["declared-cpu"] == "2000m"


def test_pods_that_name_their_node_are_left_alone(kube: Any, team: str) -> None:
    """A gate beside nodeName would be refused by validation."""
    stored = create(kube, team, pod("bound", TASK, nodeName="somewhere"))
    assert (gates(stored), marks(stored)) == ([], {})


def test_pods_of_another_scheduler_are_left_alone(kube: Any, team: str) -> None:
    """Who chose a scheduler keeps it."""
    stored = create(kube, team, pod("other", TASK, schedulerName="volcano"))
    assert (gates(stored), marks(stored), stored["spec"]["schedulerName"]) == ([], {}, "volcano")


def test_foreign_gates_are_kept(kube: Any, team: str) -> None:
    """Ours comes beside the gate of another controller."""
    stored = create(kube, team, pod("foreign", TASK, schedulingGates=[{"name": "example.com/wait"}]))
    assert sorted(gates(stored)) == ["example.com/wait", GATE]


def test_tiny_requests_never_become_zero(kube: Any, team: str) -> None:
    """Rounded up: 1m stays 1m."""
    stored = create(kube, team, pod("tiny", TASK, container(cpu="1m", memory="1")))
    assert requests(stored) == {"cpu": "1m", "memory": "1"}


def test_extended_resources_are_untouched(kube: Any, team: str) -> None:
    """GPUs are never shrunk."""
    gpu = {"name": "m", "image": "none", "resources": {"limits": {"example.com/gpu": "2", "cpu": "2"}}}
    stored = create(kube, team, pod("gpu", TASK, gpu))
    assert requests(stored) == {"cpu": "1", "example.com/gpu": "2"}


DAEMON = "system:serviceaccount:kube-system:daemon-set-controller"


def _daemon_pod(name: str) -> Object:
    body = pod(name, TASK)
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "0-0-0", "controller": True}
    ]
    return body


def test_forged_daemonset_owner_is_still_managed(kube: Any, team: str) -> None:
    """An owner reference alone exempts nobody."""
    assert gates(create(kube, team, _daemon_pod("forged-daemon"))) == [GATE]


def test_daemonset_controller_is_exempt(kube: Any, team: str) -> None:
    """The controller itself is believed."""
    with kube.acting_as(DAEMON, "system:serviceaccounts", "system:serviceaccounts:kube-system") as controller:
        assert gates(create(controller, team, _daemon_pod("real-daemon"))) == []


@pytest.fixture
def controllers(lab: Any) -> None:
    """The controllers under names of their own, as every installer of clusters starts them."""
    flag = "--use-service-account-credentials=true"
    started = lab.processes.find("controller-manager")
    if flag not in started.command:
        lab.processes.stop("controller-manager")
        lab.processes.start("controller-manager", [*started.command, flag])


@pytest.mark.usefixtures("controllers")
def test_real_daemonset_end_to_end(kube: Any, team: str) -> None:
    """A DaemonSet in a managed namespace runs on every node, ungated and unshrunk."""
    labels = {"app": "agent", **TASK}
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container(cpu="100m")]}},
        },
    }
    where = f"/apis/apps/v1/namespaces/{team}/daemonsets"
    assert kube.post(where, body).ok
    for _ in range(150):
        status = kube.get(f"{where}/agent").body.get("status", {})
        if status.get("numberReady") == 3:
            break
        time.sleep(0.2)
    assert status["numberReady"] == 3
    stored = kube.get(f"/api/v1/namespaces/{team}/pods", labelSelector="app=agent").body["items"][0]
    assert (gates(stored), requests(stored), marks(stored)) == ([], {"cpu": "100m"}, {})
    kube.delete(f"{where}/agent", propagationPolicy="Background")


def test_eighty_containers_stay_within_the_cost_limit(kube: Any, team: str) -> None:
    """A pod of 50 containers and 30 init containers is still admitted."""
    many = [container(f"c{i}", cpu="100m", memory="64Mi") for i in range(50)]
    inits = [container(f"i{i}", cpu="100m", memory="64Mi") for i in range(30)]
    stored = create(kube, team, pod("many", TASK, *many, initContainers=inits))
    assert requests(stored, 49)["cpu"] == "50m"
    assert marks(stored)["declared-cpu"] == "5000m"


def test_runtime_class_overhead_counts(kube: Any, team: str) -> None:
    """Overhead is part of what is declared, and is not shrunk."""
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "heavy"},
        "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    }
    assert kube.apply(runtime, "/apis/node.k8s.io/v1/runtimeclasses").ok
    stored = create(kube, team, pod("overhead", TASK, container(cpu="1", memory="1Gi"), runtimeClassName="heavy"))
    assert stored["spec"]["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert requests(stored)["cpu"] == "500m"
    assert (marks(stored)["declared-cpu"], marks(stored)["declared-memory"]) == ("1250m", str(GIB + 120 * 2**20))


def test_observe_leaves_pods_unchanged(kube: Any, team: str) -> None:
    """Nothing of the pod is touched."""
    stored = create(kube, "observed", pod("seen", TASK))
    assert (gates(stored), marks(stored), requests(stored)["cpu"]) == ([], {}, "2")
    assert stored["spec"]["schedulerName"] == "default-scheduler"


def test_observe_corrects_forged_annotations(kube: Any, team: str) -> None:
    """Forged annotations would be believed once the mode changes; they are overwritten with the truth."""
    stored = create(kube, "observed", pod("liar", TASK, annotations={"slackwater.io/shrunk": "900/900"}))
    assert marks(stored)["shrunk"] == "100/100"
    assert (gates(stored), requests(stored)["cpu"], stored["spec"]["schedulerName"]) == ([], "2", "default-scheduler")


def test_score_names_the_scheduler_and_holds_nothing(kube: Any, team: str) -> None:
    """Mode score: our scheduler, the declared requests, no gate, no shrink."""
    stored = create(kube, "scored", pod("liked", TASK))
    assert stored["spec"]["schedulerName"] == "slackwater"
    assert (gates(stored), requests(stored)["cpu"]) == ([], "2")
    assert (marks(stored)["admitted-role"], marks(stored)["shrunk"]) == ("task", "100/100")


def test_namespace_chooses_its_policy(kube: Any, team: str) -> None:
    """Of several SlackPolicies only the one the namespace names acts, once."""
    stored = create(kube, "tight", pod("quarter", TASK, container(cpu="2", memory="3Gi")))
    assert requests(stored) == {"cpu": "500m", "memory": str(GIB)}
    assert marks(stored)["shrunk"] == "400/300"


@pytest.mark.parametrize("namespace", ["lost", "plain"], ids=["policy does not exist", "not managed"])
def test_without_a_policy_pods_pass_unchanged(kube: Any, team: str, namespace: str) -> None:
    """No SlackPolicy of that name, or no managed label: the pod is as it was written."""
    stored = create(kube, namespace, pod("free", TASK))
    assert (gates(stored), marks(stored), requests(stored)["cpu"]) == ([], {}, "2")


def test_limit_range_speaks_after_us(kube: Any, team: str) -> None:
    """A LimitRange judges the shrunk pod: its user is told about a request never written (a documented limit)."""
    kube.namespace("limited", slackwater_io__managed="true")
    limit = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "least"},
        "spec": {"limits": [{"type": "Container", "min": {"cpu": "1500m"}, "max": {"cpu": "8"}}]},
    }
    assert kube.post("/api/v1/namespaces/limited/limitranges", limit).ok
    time.sleep(1)
    answer = kube.post("/api/v1/namespaces/limited/pods", pod("low", TASK))
    assert answer.status == 403
    assert "minimum cpu usage per Container is 1500m" in answer.message


LABELS = {
    "spark driver": {"spark-app-selector": "s", "spark-role": "driver"},
    "spark executor": {"spark-app-selector": "s", "spark-role": "executor"},
    "spark-operator": {"sparkoperator.k8s.io/app-name": "s", "spark-role": "connect-server"},
    "flink": {"app": "f", "type": "flink-standalone-kubernetes", "component": "taskmanager"},
    "stray component": {"component": "taskmanager"},
    "ray head": {"ray.io/cluster": "r", "ray.io/node-type": "head"},
    "submitter": {"ray.io/originated-from-cr-name": "r", "ray.io/originated-from-crd": "RayJob"},
    "mpi": {
        "training.kubeflow.org/job-name": "m",
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-role": "launcher",
    },
    "tf ps": {"training.kubeflow.org/job-name": "m", "training.kubeflow.org/replica-type": "ps"},
    "trainer": {
        "jobset.sigs.k8s.io/jobset-name": "t",
        "trainer.kubeflow.org/trainjob-ancestor-step": "trainer",
        "jobset.sigs.k8s.io/replicatedjob-name": "launcher",
    },
    "jobset": {"jobset.sigs.k8s.io/jobset-name": "t", "jobset.sigs.k8s.io/replicatedjob-name": "launcher"},
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


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_policy_and_resolver_give_the_same_role(kube: Any, team: str, labels: dict[str, str]) -> None:
    """Made from one table, the API server and the operator agree on every kind of pod."""
    rules = (*policy_rules([("house/part", ["leader"])], [("house/part", ["worker"])]), *builtin().rules())
    answer = kube.post(f"/api/v1/namespaces/{team}/pods?dryRun=All", pod("same", labels))
    assert answer.ok, answer.message
    assert marks(answer.body)["admitted-role"] == role_by_labels(labels, rules)
