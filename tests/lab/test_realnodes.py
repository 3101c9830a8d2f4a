"""A real kubelet runs real containers, measures them and resizes them."""

from collections.abc import Iterator

import httpx2
import pytest

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.lab import Lab
from slackwater_lab.processes.waiting import until
from slackwater_lab.programs.images import LOAD
from support.lab.pods import PODS, Object, phase, wait

pytestmark = pytest.mark.lab


@pytest.fixture
def api(real_lab: Lab) -> Iterator[ApiClient]:
    with real_lab.api() as session:
        yield session


def _burn(name: str, *arguments: str, limits: dict[str, str]) -> Object:
    container = {
        "name": "main",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "command": ["burn", *arguments],
        "resources": {"requests": {"cpu": "1", "memory": "50Mi"}, "limits": limits},
    }
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_real_node_claims_the_wanted_size(api: ApiClient) -> None:
    """Eight CPUs and 3 GiB, whatever the machine has."""
    node = api.find("/api/v1/nodes/real-1") or {}
    assert node["status"]["capacity"]["cpu"] == "8"
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")


def test_a_container_is_measured_and_resized_in_place(real_lab: Lab, api: ApiClient) -> None:
    """The request of a running container changes without a restart; its memory is what it holds."""
    api.create(PODS, _burn("steady", "-cpu", "100", "-memory", "40", limits={"cpu": "2", "memory": "200Mi"}))
    wait(api, "steady", phase("Running"), patience=60.0)
    api.patch(
        f"{PODS}/steady/resize",
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "300m"}}}]}},
        STRATEGIC,
    )
    resized = wait(api, "steady", lambda pod: _requested(pod) == "300m")
    assert resized["status"]["containerStatuses"][0]["restartCount"] == 0
    query = 'container_memory_working_set_bytes{pod="steady",container="main",node="real-1"}'
    until("memory is measured", lambda: 40 * 2**20 <= _measured(real_lab, query) < 60 * 2**20, 60.0)
    api.delete(f"{PODS}/steady")


def test_a_real_node_measures_its_own_pods_only(real_lab: Lab, api: ApiClient) -> None:
    """Several real nodes share a machine: what a pod of one of them holds is not the use of the other."""
    pod = _burn("heavy", "-cpu", "20", "-memory", "300", limits={"cpu": "1", "memory": "500Mi"})
    api.create(PODS, {**pod, "spec": {**pod["spec"], "nodeName": "real-1"}})
    wait(api, "heavy", phase("Running"), patience=60.0)
    query = 'node_memory_working_set_bytes{node="real-%d"}'
    apart = 200 * 2**20
    until(
        "the node of the pod uses more than the other",
        lambda: _measured(real_lab, query % 1) - _measured(real_lab, query % 2) > apart,
        60.0,
    )
    assert 0 < _measured(real_lab, query % 2) < 2**30
    api.delete(f"{PODS}/heavy")


def test_a_container_above_its_limit_is_killed(api: ApiClient) -> None:
    """The kernel ends it, and the pod says why."""
    api.create(PODS, _burn("hog", "-cpu", "20", "-grow", "60", limits={"memory": "80Mi", "cpu": "1"}))
    pod = wait(api, "hog", phase("Failed"), patience=60.0)
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"
    api.delete(f"{PODS}/hog")


def _requested(pod: Object) -> str:
    statuses = pod["status"].get("containerStatuses") or [{}]
    return str(statuses[0].get("resources", {}).get("requests", {}).get("cpu", ""))


def _measured(lab: Lab, query: str) -> float:
    reply = httpx2.get(f"{lab.site.url('prometheus')}/api/v1/query", params={"query": query})
    found = reply.json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0.0
