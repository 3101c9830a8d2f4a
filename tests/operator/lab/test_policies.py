"""What happens to pods at their creation on a real API server: gate, scheduler, declared requests, shrink."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater_cluster.frameworks import builtin, policy_rules, role_by_labels
from support.lab.admissioncases import CASES, LABELS, TASK, Object, container, create, gates, marks, pod, prepare, tidy

pytestmark = pytest.mark.lab

GATE = "slackwater.io/admission"
GIB = 2**30


def play(kube: Any, name: str) -> Object:
    """Create the pod of a case, which must succeed, and return it as stored."""
    case = CASES[name]
    if case.user:
        with kube.acting_as(case.user, "system:serviceaccounts", "system:serviceaccounts:kube-system") as creator:
            return create(creator, case.namespace, case.pod)
    return create(kube, case.namespace, case.pod)


def requests(stored: Object, index: int = 0, field: str = "containers") -> dict[str, str]:
    """The requests of one container."""
    found: dict[str, str] = stored["spec"][field][index].get("resources", {}).get("requests", {})
    return found


@pytest.fixture(scope="module")
def team(kube: Any) -> Iterator[str]:
    """A managed namespace under the default policy, in force; and one for each of the other policies."""
    prepare(kube)
    yield "team"
    tidy(kube)


def test_task_is_gated_marked_and_shrunk(kube: Any, team: str) -> None:
    """A known task: N = D ÷ c, D and role in annotations, limits kept."""
    stored = play(kube, "task")
    assert gates(stored) == [GATE]
    assert stored["spec"]["schedulerName"] == "slackwater"
    assert requests(stored) == {"cpu": "1", "memory": str(2 * GIB)}
    assert stored["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "4", "memory": "4Gi"}
    assert marks(stored) == {
        "declared-cpu": "2000m", "declared-memory": str(3 * GIB), "admitted-role": "task", "shrunk": "200/150",
    }  # fmt: skip


@pytest.mark.parametrize("role", ["driver", "unknown"])
def test_drivers_and_unknown_pods_keep_their_requests(kube: Any, team: str, role: str) -> None:
    """Only pods positively known as tasks are shrunk."""
    stored = play(kube, role)
    assert requests(stored) == {"cpu": "2", "memory": "3Gi"}
    assert (marks(stored)["admitted-role"], marks(stored)["shrunk"]) == (role, "100/100")
    assert gates(stored) == [GATE]


def test_spoofed_annotations_are_overwritten(kube: Any, team: str) -> None:
    """A tenant cannot declare what the policy declares."""
    stored = play(kube, "forged")
    assert marks(stored)["declared-cpu"] == "2000m"
    assert marks(stored)["admitted-role"] == "task"
    assert marks(stored)["shrunk"] == "200/150"


def test_three_containers_one_without_requests(kube: Any, team: str) -> None:
    """Each container is shrunk by itself; one that asks for nothing is left alone."""
    stored = play(kube, "three containers")
    assert requests(stored, 0)["cpu"] == "500m"
    assert requests(stored, 1) == {}
    assert requests(stored, 2) == {"cpu": "150m"}
    assert marks(stored)["declared-cpu"] == "1300m"


def test_init_containers_and_sidecars(kube: Any, team: str) -> None:
    """D is the larger of the main phase and the heaviest start, sidecars beside both."""
    stored = play(kube, "init containers")
    assert marks(stored)["declared-cpu"] == "4500m"
    assert marks(stored)["declared-memory"] == str(GIB + 128 * 2**20)
    assert requests(stored, 0, "initContainers")["cpu"] == "250m"
    assert requests(stored, 1, "initContainers")["cpu"] == "2"


def test_limits_only(kube: Any, team: str) -> None:
    """The API server's defaulting fills requests from limits first, and the policy sees them."""
    stored = play(kube, "limits only")
    assert requests(stored) == {"cpu": "1", "memory": str(2 * GIB)}


def test_pod_level_resources(kube: Any, team: str) -> None:
    """Requests on the pod itself are shrunk too, and they are what is declared."""
    stored = play(kube, "requests of the pod")
    if kube.get("/version").body["minor"] == "33":
        assert "resources" not in stored["spec"]
        pytest.skip("an API server of 1.33 drops requests of the pod itself")
    assert stored["spec"]["resources"]["requests"] == {"cpu": "1", "memory": str(2 * GIB)}
    assert marks(stored)["declared-cpu"] == "2000m"


def test_pods_that_name_their_node_are_left_alone(kube: Any, team: str) -> None:
    """A gate beside nodeName would be refused by validation."""
    stored = play(kube, "names its node")
    assert (gates(stored), marks(stored)) == ([], {})


def test_pods_of_another_scheduler_are_left_alone(kube: Any, team: str) -> None:
    """Who chose a scheduler keeps it."""
    stored = play(kube, "another scheduler")
    assert (gates(stored), marks(stored), stored["spec"]["schedulerName"]) == ([], {}, "volcano")


def test_foreign_gates_are_kept(kube: Any, team: str) -> None:
    """Ours comes beside the gate of another controller."""
    stored = play(kube, "foreign gate")
    assert sorted(gates(stored)) == ["example.com/wait", GATE]


def test_tiny_requests_never_become_zero(kube: Any, team: str) -> None:
    """Rounded up: 1m stays 1m."""
    stored = play(kube, "tiny")
    assert requests(stored) == {"cpu": "1m", "memory": "1"}


def test_extended_resources_are_untouched(kube: Any, team: str) -> None:
    """GPUs are never shrunk."""
    stored = play(kube, "gpu")
    assert requests(stored) == {"cpu": "1", "example.com/gpu": "2"}


def test_forged_daemonset_owner_is_still_managed(kube: Any, team: str) -> None:
    """An owner reference alone exempts nobody."""
    assert gates(play(kube, "forged owner")) == [GATE]


def test_daemonset_controller_is_exempt(kube: Any, team: str) -> None:
    """The controller itself is believed."""
    assert gates(play(kube, "daemon")) == []


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
    stored = play(kube, "eighty containers")
    assert requests(stored, 49)["cpu"] == "50m"
    assert marks(stored)["declared-cpu"] == "5000m"


def test_runtime_class_overhead_counts(kube: Any, team: str) -> None:
    """Overhead is part of what is declared, and is not shrunk."""
    stored = play(kube, "overhead")
    assert stored["spec"]["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert requests(stored)["cpu"] == "500m"
    assert (marks(stored)["declared-cpu"], marks(stored)["declared-memory"]) == ("1250m", str(GIB + 120 * 2**20))


def test_observe_leaves_pods_unchanged(kube: Any, team: str) -> None:
    """Nothing of the pod is touched."""
    stored = play(kube, "observe")
    assert (gates(stored), marks(stored), requests(stored)["cpu"]) == ([], {}, "2")
    assert stored["spec"]["schedulerName"] == "default-scheduler"


def test_observe_corrects_forged_annotations(kube: Any, team: str) -> None:
    """Forged annotations would be believed once the mode changes; they are overwritten with the truth."""
    stored = play(kube, "observe, forged")
    assert marks(stored)["shrunk"] == "100/100"
    assert (gates(stored), requests(stored)["cpu"], stored["spec"]["schedulerName"]) == ([], "2", "default-scheduler")


def test_score_names_the_scheduler_and_holds_nothing(kube: Any, team: str) -> None:
    """Mode score: our scheduler, the declared requests, no gate, no shrink."""
    stored = play(kube, "score")
    assert stored["spec"]["schedulerName"] == "slackwater"
    assert (gates(stored), requests(stored)["cpu"]) == ([], "2")
    assert (marks(stored)["admitted-role"], marks(stored)["shrunk"]) == ("task", "100/100")


def test_while_the_gate_is_open_tasks_come_without_one(kube: Any, team: str) -> None:
    """Lowered and marked as ever; the gate of somebody else stays."""
    stored = play(kube, "open gate")
    assert (gates(stored), stored["spec"]["schedulerName"]) == ([], "slackwater")
    assert (requests(stored)["cpu"], marks(stored)["shrunk"]) == ("1", "200/150")
    assert gates(play(kube, "open gate, foreign gate")) == ["example.com/wait"]


@pytest.mark.parametrize("who", ["driver", "unknown", "gang", "paused by label"])
def test_the_open_gate_holds_whoever_asks_for_more_than_room(kube: Any, team: str, who: str) -> None:
    """Drivers have a budget, gangs start together, and who pauses stays."""
    assert gates(play(kube, f"open gate, {who}")) == [GATE]


def test_namespace_chooses_its_policy(kube: Any, team: str) -> None:
    """Of several SlackPolicies only the one the namespace names acts, once."""
    stored = play(kube, "tighter ceiling")
    assert requests(stored) == {"cpu": "500m", "memory": str(GIB)}
    assert marks(stored)["shrunk"] == "400/300"


def test_a_namespace_that_names_the_default_policy_follows_it_once(kube: Any, team: str) -> None:
    """As one without the label does."""
    stored = play(kube, "default by its name")
    assert requests(stored) == {"cpu": "1", "memory": str(2 * GIB)}
    assert marks(stored)["shrunk"] == "200/150"


@pytest.mark.parametrize("case", ["policy does not exist", "not managed"])
def test_without_a_policy_pods_pass_unchanged(kube: Any, team: str, case: str) -> None:
    """No SlackPolicy of that name, or no managed label: the pod is as it was written."""
    stored = play(kube, case)
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


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_policy_and_resolver_give_the_same_role(kube: Any, team: str, labels: dict[str, str]) -> None:
    """Made from one table, the API server and the operator agree on every kind of pod."""
    rules = (*policy_rules([("house/part", ["leader"])], [("house/part", ["worker"])]), *builtin().rules())
    answer = kube.post(f"/api/v1/namespaces/{team}/pods?dryRun=All", pod("same", labels))
    assert answer.ok, answer.message
    assert marks(answer.body)["admitted-role"] == role_by_labels(labels, rules)
