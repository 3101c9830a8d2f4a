"""A real control plane schedules, runs and measures pods on simulated nodes."""

import ssl
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx2
import pytest

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.controlplane.chart import kubectl
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import simulated
from slackwater_lab.processes.waiting import answers, until
from support.lab.pods import PODS, Object, phase, task, wait

pytestmark = pytest.mark.lab
POLICIES = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
def api(lab: Lab) -> Iterator[ApiClient]:
    """A session whose pods are gone afterwards."""
    with lab.api() as session:
        yield session
        session.delete(PODS, {"gracePeriodSeconds": "0"})
        until("all pods are gone", lambda: not (session.find(PODS) or {})["items"], 20.0)


def _measured(lab: Lab, query: str) -> float | None:
    reply = httpx2.get(f"{lab.site.url('prometheus')}/api/v1/query", params={"query": query})
    found = reply.json()["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def _moment(pod: Object, condition: str) -> float:
    [found] = [item for item in pod["status"]["conditions"] if item["type"] == condition]
    return datetime.fromisoformat(found["message"]).timestamp()


@pytest.mark.parametrize("scheduler", ["default-scheduler", "slackwater"])
def test_a_task_is_scheduled_and_ends_after_its_duration(api: ApiClient, scheduler: str) -> None:
    """Both schedulers bind; kwok runs the pod for as long as its annotation says."""
    begin = time.time()
    api.create(PODS, task("short", {"slackwater.io/lab-duration": "1.5"}, scheduler=scheduler))
    pod = wait(api, "short", phase("Succeeded"))
    assert pod["spec"]["nodeName"].startswith("node-")
    assert time.time() - begin >= 1.5


def test_a_change_of_the_pod_does_not_prolong_it(api: ApiClient) -> None:
    """Kwok counts delays anew at each change; the recorded end does not move."""
    api.create(PODS, task("steady", {"slackwater.io/lab-duration": "2"}))
    end = _moment(wait(api, "steady", phase("Running")), "slackwater.io/lab-ends")
    while time.time() < end - 0.3:
        api.patch(f"{PODS}/steady", {"metadata": {"annotations": {"touched": str(time.time())}}}, STRATEGIC)
        time.sleep(0.2)
    wait(api, "steady", phase("Succeeded"), patience=1.5)


def test_a_slow_starter_is_bound_before_it_runs(api: ApiClient) -> None:
    """The start delay stands for the pull of an image: bound, pending, then running."""
    api.create(PODS, task("slow", {"slackwater.io/lab-start-delay": "1.5"}))
    pending = wait(api, "slow", lambda pod: "nodeName" in pod["spec"])
    assert pending["status"]["phase"] == "Pending"
    begin = time.time()
    wait(api, "slow", phase("Running"))
    assert time.time() - begin >= 1.0


def test_a_task_can_fail(api: ApiClient) -> None:
    """The exit code comes from an annotation."""
    annotations = {"slackwater.io/lab-duration": "0.2", "slackwater.io/lab-exit-code": "3"}
    api.create(PODS, task("failing", annotations))
    pod = wait(api, "failing", phase("Failed"))
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_pod_that_does_not_fit_waits(api: ApiClient) -> None:
    """Requests count: nothing has eight CPUs here."""
    api.create(PODS, task("huge", cpu="8"))
    pod = wait(api, "huge", lambda pod: bool(pod["status"].get("conditions")))
    assert pod["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_use_by_annotation_reaches_prometheus(lab: Lab, api: ApiClient) -> None:
    """CPU as a rate, memory as it is, under the node's name."""
    use = {"kwok.x-k8s.io/usage-cpu": "1500m", "kwok.x-k8s.io/usage-memory": "256Mi"}
    api.create(PODS, task("busy", use))
    pod = wait(api, "busy", phase("Running"))
    selector = f'{{pod="busy",node="{pod["spec"]["nodeName"]}"}}'
    until("memory is seen", lambda: _measured(lab, f"container_memory_working_set_bytes{selector}") == 2**28, 20.0)
    rate = f"rate(container_cpu_usage_seconds_total{selector}[4s])"
    until("cpu is seen", lambda: _measured(lab, rate) == pytest.approx(1.5, rel=0.2), 20.0)


def test_use_can_grow_over_time(lab: Lab, api: ApiClient) -> None:
    """A ramp of a minute is a tenth full after six seconds, and more later."""
    use = {"kwok.x-k8s.io/usage-memory": "600Mi", "slackwater.io/lab-ramp": "60"}
    api.create(PODS, task("growing", use))
    wait(api, "growing", phase("Running"))
    query = 'container_memory_working_set_bytes{pod="growing"}'
    until("first use is seen", lambda: (_measured(lab, query) or 0.0) > 0.0, 20.0)
    first = _measured(lab, query) or 0.0
    until("use grows", lambda: (_measured(lab, query) or 0.0) > first, 20.0)
    assert (_measured(lab, query) or 0.0) < 0.9 * 600 * 2**20


def test_a_finished_pod_uses_nothing(lab: Lab, api: ApiClient) -> None:
    """Memory falls to zero with the next scrape after the end."""
    use = {"kwok.x-k8s.io/usage-memory": "100Mi", "slackwater.io/lab-duration": "4"}
    api.create(PODS, task("over", use))
    query = 'container_memory_working_set_bytes{pod="over"}'
    until("use is seen", lambda: _measured(lab, query) == 100 * 2**20, 20.0)
    wait(api, "over", phase("Succeeded"))
    until("use is gone", lambda: not _measured(lab, query), 20.0)


def test_state_metrics_know_what_pods_asked_for(lab: Lab, api: ApiClient) -> None:
    """Requests are a series of their own."""
    api.create(PODS, task("asking", cpu="250m"))
    query = 'kube_pod_container_resource_requests{pod="asking",resource="cpu"}'
    until("requests are seen", lambda: _measured(lab, query) == 0.25, 20.0)


def test_state_metrics_know_labels_and_what_was_declared(lab: Lab, api: ApiClient) -> None:
    """Labels of every pod, and the annotations a lowered pod carries: what a look back over weeks needs."""
    pod = task("known", {"slackwater.io/declared-cpu": "2000m"})
    pod["metadata"]["labels"] = {"team": "blue"}
    api.create(PODS, pod)
    label = 'kube_pod_labels{pod="known",label_team="blue"}'
    note = 'kube_pod_annotations{pod="known",annotation_slackwater_io_declared_cpu="2000m"}'
    until("its labels are known", lambda: _measured(lab, label) == 1, 30.0)
    until("its annotations are known", lambda: _measured(lab, note) == 1, 30.0)


def test_controllers_act_as_themselves(api: ApiClient) -> None:
    """Each controller has a service account of its own, so its rights are those of a production cluster."""
    accounts = api.find("/api/v1/namespaces/kube-system/serviceaccounts") or {"items": []}
    names = {item["metadata"]["name"] for item in accounts["items"]}
    assert {"node-controller", "job-controller", "pod-garbage-collector"} <= names


def test_service_accounts_have_real_tokens_and_no_rights(lab: Lab, api: ApiClient) -> None:
    """Roles are exercised: a fresh account may not even list pods."""
    token = kubectl(lab.site, "create", "token", "default").strip()
    reply = httpx2.get(
        lab.site.url("apiserver", "https") + PODS,
        headers={"Authorization": f"Bearer {token}"},
        verify=ssl.create_default_context(cafile=str(lab.site.certificates / "ca.crt")),
    )
    assert reply.status_code == 403
    assert "system:serviceaccount:default:default" in reply.text


def _mutating_policy() -> tuple[Object, Object]:
    expression = 'Object{metadata: Object.metadata{labels: {"marked": "yes"}}}'
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "mark"}}
    policy = {**kind, "kind": "MutatingAdmissionPolicy", "spec": spec}
    binding = {**kind, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "mark"}}
    return policy, binding


def test_mutating_policies_work_without_a_webhook(api: ApiClient) -> None:
    """The API server itself changes pods at creation, within seconds of the policy."""
    policy, binding = _mutating_policy()
    api.create(f"{POLICIES}/mutatingadmissionpolicies", policy)
    api.create(f"{POLICIES}/mutatingadmissionpolicybindings", binding)
    numbers = iter(range(1000))

    def marked() -> bool:
        made = api.create(PODS, task(f"probe-{next(numbers)}")) or {}
        return bool(made["metadata"].get("labels", {}).get("marked") == "yes")

    try:
        until("the policy takes effect", marked, 20.0, pause=0.5)
    finally:
        api.delete(f"{POLICIES}/mutatingadmissionpolicybindings/mark")
        api.delete(f"{POLICIES}/mutatingadmissionpolicies/mark")


def test_a_lost_node_is_tainted_and_comes_back(api: ApiClient) -> None:
    """As when a kubelet falls silent: not Ready, no new pods; found again, it is Ready."""
    simulated.lose(api, "node-002")
    until("the node is not ready", lambda: "node-002" not in simulated.ready(api), 20.0)
    simulated.find_again(api, "node-002")
    until("the node is ready", lambda: "node-002" in simulated.ready(api), 20.0)


def test_up_again_changes_nothing(lab: Lab) -> None:
    """What runs is left alone, and it takes no time."""
    before = [(started.name, started.pid) for started in lab.processes.all()]
    begin = time.monotonic()
    lab.up()
    assert [(started.name, started.pid) for started in lab.processes.all()] == before
    assert time.monotonic() - begin < 5.0


def test_up_brings_back_what_has_died(lab: Lab, api: ApiClient) -> None:
    """The API server is killed without warning; the next start finds all data."""
    api.create(PODS, task("survivor"))
    wait(api, "survivor", phase("Running"))
    lab.processes.kill("apiserver")
    assert not api.ready()
    lab.up()
    until("the API server answers", api.ready, 30.0)
    assert api.find(f"{PODS}/survivor") is not None


def test_a_restarted_api_server_serves_at_once(lab: Lab, api: ApiClient) -> None:
    """Three times in a row: restart waits for its port, which is held for it, and for its readiness."""
    for _ in range(3):
        lab.processes.kill("apiserver")
        lab.restart("apiserver")
        assert api.ready()


def test_repair_brings_back_what_has_ended(lab: Lab, api: ApiClient) -> None:
    """Whatever a test killed, the control plane first; what runs is left alone."""
    for name in ("prometheus", "apiserver", "scheduler"):
        lab.processes.kill(name)
    running = [started for started in lab.processes.all() if started.alive]
    assert set(lab.repair()) == {"prometheus", "apiserver", "scheduler"}
    assert all(started.alive for started in [*running, *lab.processes.all()])
    assert api.ready()
    assert lab.repair() == []


def test_a_frozen_process_answers_nothing_and_goes_on(lab: Lab, api: ApiClient) -> None:
    """As a program that hangs: alive, its port open, and silent until it is thawed."""
    lab.processes.freeze("state-metrics")
    until("it is silent", lambda: not answers(f"{lab.site.url('state-metrics')}/healthz"), 20.0)
    lab.processes.thaw("state-metrics")
    until("it answers again", lambda: answers(f"{lab.site.url('state-metrics')}/healthz"), 20.0)
    assert api.ready()


def test_a_second_lab_leaves_the_first_alone(lab: Lab) -> None:
    """Side by side on ports of their own; stopping one ends all of its processes and none of the other's."""
    with Lab.start(f"{lab.site.name}-b", parts=[]) as second:
        started = second.processes.all()
        assert second.site.ports.base != lab.site.ports.base
        assert [item.name for item in started] == ["etcd", "apiserver", "controller-manager"]
    assert not any(item.alive for item in started)
    assert all(item.alive for item in lab.processes.all())
