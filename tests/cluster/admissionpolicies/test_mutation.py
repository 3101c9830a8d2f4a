"""What the webhook writes into a new pod: scheduler, gate, declared requests, role, and lower requests of tasks."""

from typing import Any

import pytest

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.mutation import declared_amount, mutation
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.frameworks import builtin

Object = dict[str, Any]
GIB = 2**30
TASK = {names.ROLE: names.TASK}
ENFORCE = SlackPolicySpec.model_validate({"mode": "enforce"})
SCORE = SlackPolicySpec.model_validate({"mode": "score"})
OBSERVE = SlackPolicySpec()


def container(name: str = "main", **requests: str) -> Object:
    """A container with requests, as an API server shows it."""
    return {"name": name, "resources": {"requests": requests} if requests else {}}


def pod(labels: dict[str, str] | None = None, *containers: Object, **spec: Any) -> Object:
    """A pod in a review."""
    meta = {"name": "p", "labels": labels or {}, "annotations": spec.pop("annotations", {})}
    return {"metadata": meta, "spec": {"containers": list(containers) or [container(cpu="2", memory="3Gi")], **spec}}


def changes(body: Object, policy: SlackPolicySpec = ENFORCE) -> dict[str, Any]:
    """The new values by their paths."""
    patch = mutation(body, policy, builtin().rules())
    assert all(each["op"] == "add" for each in patch)
    return {each["path"]: each["value"] for each in patch}


def test_a_task_is_gated_marked_and_shrunk() -> None:
    """N = D ÷ c in requests; D, role and ceiling in annotations."""
    assert changes(pod(TASK)) == {
        "/metadata/annotations": {
            names.DECLARED_CPU: "2000m",
            names.DECLARED_MEMORY: str(3 * GIB),
            names.ADMITTED_ROLE: "task",
            names.SHRUNK: "200/150",
        },
        "/spec/schedulerName": "slackwater",
        "/spec/schedulingGates": [{"name": names.GATE}],
        "/spec/containers/0/resources/requests": {"cpu": "1000m", "memory": str(2 * GIB)},
    }


@pytest.mark.parametrize(
    ("labels", "role"),
    [
        ({names.ROLE: "driver"}, "driver"),
        ({}, "unknown"),
        ({names.ROLE: "boss", "batch.kubernetes.io/job-name": "j"}, "unknown"),
        ({"spark-app-selector": "s", "spark-role": "driver"}, "driver"),
    ],
    ids=["driver", "no label", "bad word", "spark driver"],
)
def test_only_known_tasks_are_shrunk(labels: dict[str, str], role: str) -> None:
    """Everybody else keeps the requests, and is held like a task."""
    changed = changes(pod(labels))
    assert set(changed) == {"/metadata/annotations", "/spec/schedulerName", "/spec/schedulingGates"}
    assert changed["/metadata/annotations"][names.ADMITTED_ROLE] == role
    assert changed["/metadata/annotations"][names.SHRUNK] == "100/100"


def test_labels_of_the_policy_come_before_the_table() -> None:
    """An administrator's own labels count first."""
    labels = [{"key": "house/part", "values": ["leader"]}]
    policy = SlackPolicySpec.model_validate({"mode": "enforce", "driverLabels": labels})
    changed = changes(pod({"house/part": "leader", "batch.kubernetes.io/job-name": "j"}), policy)
    assert changed["/metadata/annotations"][names.ADMITTED_ROLE] == "driver"


def test_mode_score_names_the_scheduler_only() -> None:
    """No gate, no lower requests."""
    assert set(changes(pod(TASK), SCORE)) == {"/metadata/annotations", "/spec/schedulerName"}


def test_mode_observe_changes_nothing() -> None:
    """The answer has no patch."""
    assert changes(pod(TASK), OBSERVE) == {}


def test_mode_observe_overwrites_what_was_forged() -> None:
    """It would be believed once the mode changes."""
    changed = changes(pod(TASK, annotations={names.SHRUNK: "900/900", "other": "kept"}), OBSERVE)
    assert set(changed) == {"/metadata/annotations"}
    assert changed["/metadata/annotations"][names.SHRUNK] == "100/100"
    assert changed["/metadata/annotations"]["other"] == "kept"


def test_gates_of_others_stay_and_ours_comes_once() -> None:
    """Ours comes last; where the creator wrote it, it keeps its place, as the policy's merge has it."""
    ours, other = {"name": names.GATE}, {"name": "example.com/wait"}
    assert changes(pod(TASK, schedulingGates=[other]))["/spec/schedulingGates"] == [other, ours]
    assert changes(pod(TASK, schedulingGates=[ours, other]))["/spec/schedulingGates"] == [ours, other]


def test_while_the_gate_is_open_a_task_comes_without_one() -> None:
    """Lowered and marked as ever; drivers, and tasks that ask for more than room, are held."""
    rules = builtin().rules()

    def gated(body: Object) -> bool:
        return any(each["path"] == "/spec/schedulingGates" for each in mutation(body, ENFORCE, rules, open_gate=True))

    assert not gated(pod(TASK))
    assert set(changes(pod(TASK))) - {each["path"] for each in mutation(pod(TASK), ENFORCE, rules, open_gate=True)} == {
        "/spec/schedulingGates"
    }
    assert gated(pod({names.ROLE: names.DRIVER}))
    assert gated(pod({}))
    assert all(gated(pod(TASK, annotations={key: "true"})) for key in names.ALWAYS_HELD)
    assert all(gated(pod({**TASK, key: "true"})) for key in names.ALWAYS_HELD)


def test_every_container_is_lowered_by_itself() -> None:
    """One that asks for nothing is left alone, and so is every other kind of resource."""
    body = pod(TASK, container("a", cpu="1m", memory="1"), container("b"), container("c", cpu="300m", gpu="2"))
    body["spec"]["initContainers"] = [container("i", memory="3")]
    changed = {path: value for path, value in changes(body).items() if path.endswith("requests")}
    assert changed == {
        "/spec/containers/0/resources/requests": {"cpu": "1m", "memory": "1"},
        "/spec/containers/2/resources/requests": {"cpu": "150m", "gpu": "2"},
        "/spec/initContainers/0/resources/requests": {"memory": "2"},
    }


def test_requests_of_the_pod_itself_are_lowered_and_declared() -> None:
    """They are what the scheduler reads."""
    changed = changes(pod(TASK, container(cpu="500m"), resources={"requests": {"cpu": "2"}}))
    assert changed["/spec/resources/requests"] == {"cpu": "1000m"}
    assert changed["/metadata/annotations"][names.DECLARED_CPU] == "2000m"


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container(cpu="1"), container(cpu="300m")]}, 1300),
        ({"containers": [container()]}, 0),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="4")]}, 4000),
        ({"containers": [container(cpu="3")], "initContainers": [container(cpu="2")]}, 3000),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [{**container(cpu="500m"), "restartPolicy": "Always"}, container(cpu="4")],
            },
            4500,
        ),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [{**container(cpu="500m"), "restartPolicy": "Always"}],
                "resources": {"requests": {"memory": "1Gi"}},
            },
            1500,
        ),
    ],
    ids=["sum", "nothing", "overhead", "heavy start", "light start", "sidecar beside a start", "sidecar"],
)
def test_what_is_declared(spec: Object, cpu: int) -> None:
    """The larger of the main phase and the heaviest start, sidecars beside both, and the runtime's overhead."""
    assert declared_amount(spec, "cpu") == cpu


@pytest.mark.parametrize(
    ("kind", "units", "parts"),
    [
        ("memory", GIB, [GIB // 2] * 2),
        ("memory", 4 * GIB, [GIB] * 4),
        ("cpu", 1000, [333, 333, 334]),
        ("cpu", 2, [1, 1]),
    ],
)
@pytest.mark.parametrize("percent", [101, 150, 400])
def test_lowered_containers_stay_within_the_lowered_pod(kind: str, units: int, parts: list[int], percent: int) -> None:
    """Each is rounded up; the API server refuses a pod whose containers ask for more than the pod as a whole."""
    unit = "m" if kind == "cpu" else ""
    containers = [container(f"c{number}", **{kind: f"{part}{unit}"}) for number, part in enumerate(parts)]
    ceiling = {"cpuPercent": percent, "memoryPercent": percent}
    policy = SlackPolicySpec.model_validate({"mode": "enforce", "ceiling": ceiling})
    made = changes(pod(TASK, *containers, resources={"requests": {kind: f"{units}{unit}"}}), policy)
    lowered = [made[f"/spec/containers/{number}/resources/requests"][kind] for number in range(len(parts))]
    whole = made["/spec/resources/requests"][kind]
    assert sum(int(each.removesuffix("m")) for each in lowered) <= int(whole.removesuffix("m")) <= units
