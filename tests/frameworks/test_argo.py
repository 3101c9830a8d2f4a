"""Argo Workflows: its real controller runs a DAG on simulated nodes, which play the steps' containers by the clock."""

import time
from collections.abc import Iterator

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.nodes.simulated import Shape
from support.frameworks.playground import Object, Playground, phase, role, until
from support.frameworks.results import Recorder, Row
from support.frameworks.simulated import simulated

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "argo-team"
OF_WORKFLOW = "workflows.argoproj.io/workflow"
PARALLEL = 3
LIMITS: dict[str, Object] = {"timeout": {"timeout": "10s"}, "template": {"activeDeadlineSeconds": 10}}
VERSION = operators.version("argo")


@pytest.fixture(scope="module")
def argo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Two simulated nodes of 2 cores, and Argo's controller."""
    with simulated(["argo"], TEAM, Shape(cpu="2", memory="8Gi"), tmp_path_factory.mktemp("argo")) as made:
        yield made


def step(name: str, seconds: int = 3, **more: object) -> Object:
    """A template of one container; simulated nodes end its pod after so many seconds."""
    container = {
        "image": "none",
        "command": ["work"],
        "resources": {"requests": {"cpu": "1", "memory": "256Mi"}},
    }
    metadata = {"annotations": {"slackwater.io/lab-duration": str(seconds)}}
    return {"name": name, "metadata": metadata, "container": container, **more}


def workflow(name: str, *templates: Object, **more: object) -> Object:
    """A Workflow whose entry point is the first template."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"entrypoint": templates[0]["name"], "templates": list(templates), **more},
    }


def status(argo: Playground, name: str) -> Object:
    """What the controller says of a Workflow."""
    found = argo.api.find(f"/apis/argoproj.io/v1alpha1/namespaces/{TEAM}/workflows/{name}") or {}
    said: Object = found.get("status", {})
    return said


def ended(argo: Playground, name: str) -> str:
    """How a Workflow ended; "" while it has not."""
    said = str(status(argo, name).get("phase", ""))
    return said if said in ("Succeeded", "Failed", "Error") else ""


def pods(argo: Playground, name: str) -> list[Object]:
    """The pods of a Workflow."""
    return argo.pods(TEAM, **{OF_WORKFLOW: name})


def test_a_dag_with_parallel_steps_runs_as_one_app(argo: Playground, recorder: Recorder) -> None:
    """One step, six side by side of which three may run at a time, one that joins them: held first, then all end."""
    start = time.monotonic()
    spread = {"name": "spread", "template": "work", "dependencies": ["split"], "withItems": list(range(6))}
    tasks = [
        {"name": "split", "template": "work"},
        spread,
        {"name": "join", "template": "work", "dependencies": ["spread"]},
    ]
    argo.cordon(closed=True)
    try:
        operators.create(
            argo.api, workflow("dag", {"name": "main", "dag": {"tasks": tasks}}, step("work"), parallelism=PARALLEL)
        )
        until("the first step is held", lambda: [phase(pod) for pod in pods(argo, "dag")] == ["Gated"], 60)
        time.sleep(10)
        assert [phase(pod) for pod in pods(argo, "dag")] == ["Gated"]
    finally:
        argo.cordon(closed=False)
    seen: dict[str, Object] = {}
    most = 0

    def over() -> str:
        nonlocal most
        found = pods(argo, "dag")
        seen.update({pod["metadata"]["name"]: pod for pod in found})
        most = max(most, sum(phase(pod) not in ("Succeeded", "Failed") for pod in found))
        return ended(argo, "dag")

    until("the workflow ends", over, 300, 0.5)
    assert ended(argo, "dag") == "Succeeded"
    assert [phase(pod) for pod in pods(argo, "dag")] == ["Succeeded"] * 8
    assert 1 < most <= PARALLEL
    assert {role(pod) for pod in seen.values()} == {"task"}
    assert "500m" in {amounts.get("cpu") for amounts in all_requests(seen)}
    apps = list(argo.tracked(TEAM))
    assert len(apps) == 1, apps
    assert "dag" in apps[0]
    recorder.keep(f"argo-{VERSION}-dag", seen.values(), argo.api)
    result = (
        "the first step held and released; 8 steps are tasks of one app, 1 → 0.5 cpu, at most 3 at a time, all end; "
        "simulated nodes play the containers"
    )
    recorder.add(
        Row("Argo", VERSION, f"DAG of 8 steps, parallelism {PARALLEL}", result, round(time.monotonic() - start))
    )


def all_requests(seen: dict[str, Object]) -> list[dict[str, str]]:
    """What every container of these pods requests."""
    return [
        each.get("resources", {}).get("requests", {}) for pod in seen.values() for each in pod["spec"]["containers"]
    ]


@pytest.mark.parametrize("where", ["workflow", "timeout", "template"])
def test_which_deadlines_count_while_a_step_is_held(where: str, argo: Playground, recorder: Recorder) -> None:
    """A Workflow's deadline and a template's `timeout` count behind the gate; a template's deadline does not."""
    start = time.monotonic()
    body = workflow(
        where,
        step("work", 2, **LIMITS.get(where, {})),
        **({"activeDeadlineSeconds": 10} if where == "workflow" else {}),
    )
    argo.cordon(closed=True)
    try:
        operators.create(argo.api, body)
        until("its step is held", lambda: [phase(pod) for pod in pods(argo, where)] == ["Gated"], 60, 0.2)
        time.sleep(25)
        behind = ended(argo, where)
    finally:
        argo.cordon(closed=False)
    until("it ends", lambda: ended(argo, where), 120)
    said = str(status(argo, where).get("message", ""))
    assert (behind, ended(argo, where)) == ENDS[where], said
    recorder.add(Row("Argo", VERSION, *TOLD[where], round(time.monotonic() - start)))


ENDS = {  # how it had ended after 25 s behind the gate, and how it ended
    "workflow": ("Failed", "Failed"),
    "timeout": ("Error", "Error"),
    "template": ("", "Succeeded"),
}
TOLD = {
    "workflow": (
        "activeDeadlineSeconds of the Workflow while held",
        "fails while held: it counts from the Workflow's start; set it on the template",
    ),
    "timeout": ("timeout of a template while held", "ends in error while held: it counts from the step's creation"),
    "template": (
        "activeDeadlineSeconds of a template while held",
        "goes into the pod and counts from its start: held for 25 s with a deadline of 10 s, released, succeeded",
    ),
}
