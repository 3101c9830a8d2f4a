"""Everything at once: the chart's policies, our scheduler, extender and operator, with their own accounts."""

from collections.abc import Iterator

import pytest

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.lab import Lab
from slackwater_lab.processes.waiting import until
from support.lab.pods import task

pytestmark = pytest.mark.lab
PODS = "/api/v1/namespaces/batch/pods"


@pytest.fixture(scope="module")
def api(whole_lab: Lab) -> Iterator[ApiClient]:
    """A session, and a managed namespace that is ready for pods."""
    with whole_lab.api() as session:
        labels = {"slackwater.io/managed": "true"}
        session.create("/api/v1/namespaces", {"metadata": {"name": "batch", "labels": labels}})
        account = "/api/v1/namespaces/batch/serviceaccounts/default"
        until("the account is there", lambda: session.find(account) is not None, 20.0)
        yield session


def test_a_managed_task_is_shrunk_released_and_run(api: ApiClient) -> None:
    """The policy writes what was declared and halves the request; the operator lifts the gate; the pod ends well."""
    names: list[str] = []

    def held() -> bool:
        names.append(f"task-{len(names)}")
        pod = task(names[-1], {"slackwater.io/lab-duration": "1"}, cpu="1")
        pod["metadata"]["labels"] = {"slackwater.io/role": "task", "slackwater.io/app": "smoke"}
        created = api.create(PODS, pod) or {"spec": {}}
        return "schedulingGates" in created["spec"]

    until("the policy holds new pods", held, 30.0, pause=1.0)
    until("the task has run", lambda: _phase(api, names[-1]) == "Succeeded", 60.0)
    pod = api.find(f"{PODS}/{names[-1]}") or {}
    assert pod["spec"]["schedulerName"] == "slackwater"
    assert pod["metadata"]["annotations"]["slackwater.io/declared-cpu"] == "1000m"
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m"


def test_our_programs_use_their_own_accounts(whole_lab: Lab) -> None:
    """No program of ours holds the administrator's token, so a missing right would show."""
    for name in ("extender", "operator", "scheduler"):
        text = (whole_lab.site.folder / "config" / f"{name}.kubeconfig").read_text()
        assert text != whole_lab.site.kubeconfig.read_text()


def _phase(api: ApiClient, name: str) -> str:
    pod = api.find(f"{PODS}/{name}") or {"status": {}}
    return str(pod["status"].get("phase"))
