"""Who may change what on a managed pod, asked of a real API server under different names."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.lab

NAMESPACE = "guarded"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}
OPERATOR = "system:serviceaccount:slackwater-system:slackwater-operator"
EDITS = [
    {
        "apiGroups": [""],
        "resources": ["pods", "pods/status", "pods/resize"],
        "verbs": ["get", "create", "patch", "update"],
    }
]
PATCHES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "patch"]}]
EVICTS = [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}]
RELEASES = [{"apiGroups": ["slackwater.io"], "resources": ["gates"], "verbs": ["release"]}]


def allow(kube: Any, name: str, users: list[str], rules: list[dict[str, Any]], namespace: str = NAMESPACE) -> None:
    """Give users rights in a namespace."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users],
    }
    assert kube.apply(role, f"{rbac}/namespaces/{namespace}/roles").ok
    assert kube.apply(binding, f"{rbac}/namespaces/{namespace}/rolebindings").ok


@pytest.fixture(scope="module")
def tenant(kube: Any) -> Iterator[Any]:
    """Somebody who may edit pods, and no more."""
    policy = {
        "apiVersion": "slackwater.io/v1alpha1",
        "kind": "SlackPolicy",
        "metadata": {"name": "guarding"},
        "spec": {"mode": "enforce"},
    }
    assert kube.apply(policy, "/apis/slackwater.io/v1alpha1/slackpolicies").ok
    kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="guarding")
    allow(kube, "edits", ["tenant", OPERATOR, "trusted"], EDITS)
    allow(kube, "patches", ["releaser"], PATCHES)
    allow(kube, "releases", [OPERATOR, "trusted", "releaser"], RELEASES)
    allow(kube, "edits", [OPERATOR], [*EDITS, *EVICTS], "kube-system")
    with kube.acting_as("tenant") as session:
        for attempt in range(100):
            made = kube.post(PODS, pod(f"probe-{attempt}")).body
            refused = session.patch(f"{PODS}/probe-{attempt}", UNGATE)
            if made["spec"].get("schedulingGates") and refused.status == 403:
                break
            time.sleep(0.2)
        yield session
    kube.delete(PODS)  # an operator of another test would release them and fill the nodes


@pytest.fixture
def operator(kube: Any, tenant: Any) -> Iterator[Any]:
    """The operator's own name."""
    with kube.acting_as(OPERATOR) as session:
        yield session


def pod(name: str) -> dict[str, Any]:
    """A task."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"slackwater.io/role": "task"}},
        "spec": {
            "containers": [{"name": "m", "image": "none", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]
        },
    }


def made(kube: Any, name: str) -> str:
    """A gated pod's path."""
    answer = kube.post(PODS, pod(name))
    assert answer.ok, answer.message
    return f"{PODS}/{name}"


def annotate(key: str, value: str | None) -> dict[str, Any]:
    """A patch of one annotation."""
    return {"metadata": {"annotations": {f"slackwater.io/{key}": value}}}


def test_a_definition_cannot_be_deleted_while_the_policies_need_it(kube: Any, tenant: Any) -> None:
    """Not even by an administrator: after its next start the API server would refuse every pod."""
    for plural in ("slackpolicies", "admissionqueues", "reservationpools", "trackedapps"):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.slackwater.io"
        answer = kube.delete(path)
        assert answer.status == 403, answer.body
        assert "uninstall Slackwater first" in answer.message
        assert kube.get(path).ok


def test_the_api_server_finds_nothing_to_warn_of(kube: Any, tenant: Any) -> None:
    """It checks the types of each expression, and writes what it doubts into the policy's status."""
    policies = kube.get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies").body["items"]
    ours = [each for each in policies if each["metadata"]["name"].startswith("slackwater-guard")]
    doubts = {each["metadata"]["name"]: each.get("status", {}).get("typeChecking", {}) for each in ours}
    assert {name: len(found["expressionWarnings"]) for name, found in doubts.items() if found} == {}
    assert len(doubts) > 1


def test_tenant_cannot_lift_the_gate(kube: Any, tenant: Any) -> None:
    """The right to patch pods is not the right to jump the queue."""
    answer = tenant.patch(made(kube, "gate-tenant"), UNGATE)
    assert answer.status == 403
    assert "you need the verb 'release' on gates.slackwater.io" in answer.message


def test_trusted_user_may_lift_the_gate(kube: Any, tenant: Any) -> None:
    """Who was given the verb may, and the patch may be repeated."""
    path = made(kube, "gate-trusted")
    with kube.acting_as("trusted") as trusted:
        assert "schedulingGates" not in trusted.patch(path, UNGATE).body["spec"]
        assert trusted.patch(path, UNGATE).ok


@pytest.mark.parametrize("key", ["declared-cpu", "declared-memory", "admitted-role", "shrunk"])
@pytest.mark.parametrize("part", ["", "/status"], ids=["pod", "status"])
def test_sealed_annotations_never_change(kube: Any, tenant: Any, key: str, part: str) -> None:
    """Not by a tenant, not by an administrator, not through the status either."""
    path = made(kube, f"sealed-{key}-{len(part)}")
    for session in (tenant, kube):
        for value in ("1", None):
            answer = session.patch(f"{path}{part}", annotate(key, value))
            assert answer.status == 403
            assert "never change" in answer.message


@pytest.mark.parametrize("part", ["", "/status"], ids=["pod", "status"])
def test_parked_needs_the_verb(kube: Any, tenant: Any, operator: Any, part: str) -> None:
    """A tenant can neither park nor un-park; the operator can do both."""
    path = made(kube, f"parked-{len(part)}")
    assert tenant.patch(f"{path}{part}", annotate("parked", "now")).status == 403
    assert operator.patch(path, annotate("parked", "now")).ok
    answer = tenant.patch(f"{path}{part}", annotate("parked", None))
    assert answer.status == 403
    assert "is written by Slackwater" in answer.message
    assert operator.patch(path, annotate("parked", None)).ok


def test_tenant_may_annotate_otherwise(kube: Any, tenant: Any) -> None:
    """Everything that is not ours stays free."""
    assert tenant.patch(made(kube, "free"), annotate("pause", "true")).ok
    assert tenant.patch(f"{PODS}/free", {"metadata": {"annotations": {"mine": "1"}}}).ok


def test_operator_lifts_gates_nominates_and_annotates(kube: Any, operator: Any) -> None:
    """All that the release loop does is allowed under the operator's name."""
    path = made(kube, "released")
    assert operator.patch(path, annotate("reason", "no-room")).ok
    assert operator.patch(f"{path}/status", {"status": {"nominatedNodeName": "node-1"}}).ok
    answer = operator.patch(path, UNGATE)
    assert answer.ok
    assert answer.body["status"]["nominatedNodeName"] == "node-1"


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"containers": [{"name": "m", "image": "other"}]}},
        {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}},
        {"spec": {"activeDeadlineSeconds": 1}},
        {"metadata": {"labels": {"stolen": "yes"}}},
        {"metadata": {"annotations": {"sidecar.istio.io/inject": "false"}}},
        {"metadata": {"finalizers": ["example.com/never"]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}]}},
    ],
    ids=["image", "toleration", "deadline", "label", "annotation", "finalizer", "owner"],
)
def test_operator_may_change_nothing_else(kube: Any, operator: Any, change: dict[str, Any]) -> None:
    """Its right to patch pods is no right to their images or tolerations."""
    path = made(kube, f"limited-{abs(hash(str(change)))}")
    answer = operator.patch(path, change)
    assert answer.status == 403
    assert "our gate and slackwater.io/ annotations only" in answer.message


def many(name: str, count: int, **spec: Any) -> dict[str, Any]:
    """A pod with so many annotations of its creator."""
    body = named(name, **spec)
    body["metadata"]["annotations"] = {f"{number:x}": "" for number in range(count)}
    return body


def test_a_pod_has_no_more_annotations_than_can_be_compared(kube: Any, operator: Any) -> None:
    """20,000 fit into a pod, and cost the API server 10 s at each write of the operator; with 40,000 it stayed held."""
    assert kube.post(PODS, many("most", 996)).ok  # and four of ours
    path = f"{PODS}/most"
    assert operator.patch(path, annotate("reason", "no-room")).ok
    for more in (kube.post(PODS, many("more", 997)), kube.patch(path, annotate("pause", "true"))):
        assert more.status == 403
        assert "may have 1000 annotations" in more.message
    assert kube.patch(path, {"metadata": {"annotations": {"0": None}}}).ok
    assert operator.patch(path, UNGATE).ok


def test_nobody_makes_the_guard_compare_many_annotations_elsewhere(kube: Any, operator: Any) -> None:
    """Whose right is bounded is refused at once; who may edit pods there is not looked at."""
    where = "/api/v1/namespaces/kube-system/pods"
    assert kube.post(where, many("heap", 2001, schedulerName="slackwater")).ok
    answer = operator.patch(f"{where}/heap", annotate("reason", "no-room"))
    assert answer.status == 403
    assert "of managed namespaces" in answer.message
    assert kube.patch(f"{where}/heap", annotate("pause", "true")).ok
    kube.delete(f"{where}/heap")


def test_operator_may_not_invent_a_status(kube: Any, operator: Any) -> None:
    """Phase and conditions are the kubelet's."""
    answer = operator.patch(f"{made(kube, 'status')}/status", {"status": {"phase": "Succeeded"}})
    assert answer.status == 403
    assert "nominatedNodeName in the status of pods only" in answer.message


def named(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that names its node, as anybody may write it."""
    body = pod(name)
    body["spec"].update(spec)
    return body


def forged(name: str, **spec: Any) -> dict[str, Any]:
    """A pod whose creator claims what only the admission policy may write."""
    body = named(name, **spec)
    body["metadata"]["annotations"] = {"slackwater.io/declared-cpu": "500", "slackwater.io/shrunk": "99900/99900"}
    return body


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeName": "node-000"},
        {"nodeName": "node-000", "schedulerName": "slackwater"},
        {"schedulerName": "another"},
    ],
    ids=["node", "node and our scheduler", "another scheduler"],
)
def test_annotations_forged_where_the_policy_does_not_write_are_refused(tenant: Any, spec: dict[str, Any]) -> None:
    """One such pod of 10m moved the CPU room of its node from 14 to -86."""
    answer = tenant.post(PODS, forged("forged", **spec))
    assert answer.status == 403
    assert "are written by Slackwater alone" in answer.message
    assert tenant.post(f"{PODS}?dryRun=All", named("honest", **spec)).ok


def test_annotations_forged_in_a_namespace_that_is_never_managed_are_refused(kube: Any, tenant: Any) -> None:
    """Nobody overwrites them there, whatever the namespace's labels say."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    where = "/api/v1/namespaces/kube-public/pods?dryRun=All"
    kube.namespace("kube-public", slackwater_io__managed="true")
    try:
        until(lambda: kube.post(where, forged("forged")).status == 403, 10)
        assert "in namespaces that are never managed" in kube.post(where, forged("forged")).message
        assert kube.post(where, named("honest")).ok
    finally:
        kube.namespace("kube-public")


def test_annotations_forged_on_an_ordinary_pod_are_overwritten(tenant: Any) -> None:
    """They get the true values, as before."""
    stored = tenant.post(PODS, forged("overwritten")).body
    assert stored["metadata"]["annotations"]["slackwater.io/declared-cpu"] == "2000m"


def test_a_pod_cannot_be_created_parked(tenant: Any) -> None:
    """The mark is ours."""
    body = pod("parked-at-birth")
    body["metadata"]["annotations"] = {"slackwater.io/parked": "now"}
    answer = tenant.post(PODS, body)
    assert answer.status == 403
    assert "is written by Slackwater alone" in answer.message


def test_our_priority_class_is_reserved(kube: Any, tenant: Any) -> None:
    """It preempts every workload; nobody else may name it, managed namespace or not."""
    kube.namespace("elsewhere")
    scheduling = "/apis/scheduling.k8s.io/v1/priorityclasses"
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "slackwater-control"}}
    assert kube.apply({**body, "value": 999999000}, scheduling).ok
    for where in (PODS, "/api/v1/namespaces/elsewhere/pods"):
        answer = kube.post(f"{where}?dryRun=All", named("vip", priorityClassName="slackwater-control"))
        assert answer.status == 403
        assert "is for Slackwater's own programs" in answer.message
    kube.namespace("slackwater-system")
    own = "/api/v1/namespaces/slackwater-system/pods?dryRun=All"
    assert kube.post(own, named("vip", priorityClassName="slackwater-control")).ok


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"stolen": "yes"}}},
        {"metadata": {"annotations": {"slackwater.io/reason": "mine"}}},
        {"metadata": {"finalizers": ["example.com/never"]}},
        {"spec": {"activeDeadlineSeconds": 1}},
    ],
    ids=["label", "annotation", "finalizer", "deadline"],
)
def test_a_stolen_operator_token_changes_nothing_in_kube_system(kube: Any, operator: Any, change: Any) -> None:
    """Pods outside managed namespaces that do not name our scheduler are not its business, whatever its role says."""
    where = "/api/v1/namespaces/kube-system/pods"
    kube.post(where, named("system"))
    answer = operator.patch(f"{where}/system", change)
    assert answer.status == 403
    assert "of managed namespaces" in answer.message


def test_a_stolen_operator_token_evicts_nobody_in_kube_system(kube: Any, operator: Any) -> None:
    """Even where it was given the right to evict."""
    where = "/api/v1/namespaces/kube-system/pods"
    kube.post(where, named("system"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "system"}}
    answer = operator.post(f"{where}/system/eviction", eviction)
    assert answer.status == 403
    assert "managed namespaces only" in answer.message


def test_a_stolen_releaser_token_lifts_gates_and_no_more(kube: Any, tenant: Any) -> None:
    """Its right to patch pods is no right to their images; who may update pods anyway is not bounded."""
    path = made(kube, "by-releaser")
    with kube.acting_as("releaser") as releaser:
        for change in ({"metadata": {"labels": {"x": "y"}}}, {"spec": {"containers": [{"name": "m", "image": "o"}]}}):
            answer = releaser.patch(path, change)
            assert answer.status == 403
            assert "who may lift gates may change" in answer.message
        assert releaser.patch(path, UNGATE).ok
    with kube.acting_as("trusted") as trusted:
        assert trusted.patch(path, {"metadata": {"labels": {"x": "y"}}}).ok


@pytest.mark.parametrize("change", [{}, annotate("parked", "now")], ids=["gate", "gate and mark"])
def test_an_administrator_may_change_anything_beside_the_gate_in_one_edit(kube: Any, tenant: Any, change: Any) -> None:
    """Each question to the authorizer costs a third of what one expression may: three of them were an error."""
    path = made(kube, f"one-edit-{len(change)}")
    body = kube.get(path).body
    del body["spec"]["schedulingGates"]
    body["metadata"]["labels"]["x"] = "y"
    body["metadata"]["annotations"].update(change.get("metadata", {}).get("annotations", {}))
    for session, status in ((tenant, 403), (kube, 200)):
        answer = session.ask("PUT", path, body, "", {})
        assert answer.status == status, answer.message
        assert "cost" not in answer.message


@pytest.mark.parametrize("key", ["declared-cpu", "declared-memory", "admitted-role", "shrunk", "parked"])
@pytest.mark.parametrize("where", ["pods/{}/binding", "bindings"])
def test_a_binding_writes_none_of_our_annotations(kube: Any, tenant: Any, key: str, where: str) -> None:
    """The API server merges a Binding's annotations into its pod, and tells no admission of that update."""
    name = f"bound-{key}-{len(where)}"
    path = f"{PODS}/{name}"
    body = pod(name)
    body["spec"]["nodeSelector"] = {"no": "such"}  # no scheduler takes it meanwhile
    assert kube.post(PODS, body).ok
    kube.patch(path, UNGATE)
    url = f"/api/v1/namespaces/{NAMESPACE}/{where.format(name)}"
    answer = kube.post(url, binding(name, annotate(key, "1")["metadata"]["annotations"]))
    assert answer.status == 403, kube.get(path).body["metadata"]["annotations"]
    assert "a binding must not carry" in answer.message
    assert kube.post(url, binding(name, {"example.com/mine": "1"})).ok


def binding(name: str, annotations: dict[str, str]) -> dict[str, Any]:
    """What a scheduler writes, with annotations that none writes."""
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-000"}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "annotations": annotations},
        "target": target,
    }
