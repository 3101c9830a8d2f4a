"""What whoever stole a token would try on the API server: one request each, as a dry run wherever there can be one."""

from __future__ import annotations

from typing import Any, NamedTuple

from slackwater_cluster import names
from support.lab.installing import until_acting
from support.lab.session import JSON, MERGE, STRATEGIC

MANAGED, ELSEWHERE, OWN = "stolen-managed", "stolen-elsewhere", names.SYSTEM_NAMESPACE
FOREIGN = "example.com/other-queue"  # the gate of another system
RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
CUSTOM, LEASES = f"/apis/{names.API_VERSION}", "/apis/coordination.k8s.io/v1/namespaces"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{OWN}/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Try(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = None
    kind: str = STRATEGIC
    headers: tuple[tuple[str, str], ...] = ()
    dry: bool = True  # whether the API server can answer without doing it


def pods(namespace: str, name: str = "", part: str = "") -> str:
    """The path of pods."""
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "") + (f"/{part}" if part else "")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A small pod."""
    container = {"name": "m", "image": "none", "resources": {"requests": {"cpu": "10m"}}}
    meta = {"name": name, "labels": {names.ROLE: names.TASK}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def _ungate(gate: str) -> dict[str, Any]:
    return {"spec": {"schedulingGates": [{"$patch": "delete", "name": gate}]}}


def _object(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def _on_pods(namespace: str) -> dict[str, Try]:
    """Changes to a held pod of a namespace."""
    held = pods(namespace, "held")
    container = {"name": "m"}
    spec: dict[str, dict[str, Any]] = {
        "change the image": {"containers": [{**container, "image": "mine"}]},
        "change the command": {"containers": [{**container, "command": ["mine"]}]},
        "change the account": {"serviceAccountName": "slackwater-operator"},
        "set the node": {"nodeName": "node-000"},
        "choose nodes": {"nodeSelector": {"kubernetes.io/hostname": "node-000"}},
        "tolerate all taints": {"tolerations": [{"operator": "Exists"}]},
        "end it by a deadline": {"activeDeadlineSeconds": 1},
    }
    meta: dict[str, dict[str, Any]] = {
        "label it": {"labels": {"mine": "yes"}},
        "annotate it": {"annotations": {"example.com/mine": "yes"}},
        "keep it by a finalizer": {"finalizers": ["example.com/never"]},
        "own it": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}]},
        "change what it declared": {"annotations": {names.DECLARED_CPU: "1"}},
    }
    debugger = {"name": "debugger", "image": "mine", "targetContainerName": "m"}
    eviction = _object("policy/v1", "Eviction", "held", deleteOptions={"dryRun": ["All"]})
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-000"}
    found = {
        **{what: Try("PATCH", held, {"spec": each}) for what, each in spec.items()},
        **{what: Try("PATCH", held, {"metadata": each}) for what, each in meta.items()},
        "lift another's gate": Try("PATCH", held, _ungate(FOREIGN)),
        "invent its phase": Try("PATCH", f"{held}/status", {"status": {"phase": "Succeeded"}}),
        "debug it": Try("PATCH", f"{held}/ephemeralcontainers", {"spec": {"ephemeralContainers": [debugger]}}),
        "create a pod": Try("POST", pods(namespace), pod("mine")),
        "delete it": Try("DELETE", held),
        "delete all": Try("DELETE", pods(namespace)),
        "evict it": Try("POST", f"{held}/eviction", eviction),
        "bind it": Try("POST", f"{held}/binding", _object("v1", "Binding", "held", target=target)),
        "run a command in it": Try("POST", f"{held}/exec?command=sh&stdout=true", dry=False),
        "read its log": Try("GET", f"{held}/log"),
    }
    where = "managed" if namespace == MANAGED else "elsewhere"
    return {f"{where}: {what}": each for what, each in found.items()}


def _on_the_cluster() -> dict[str, Try]:
    """Everything that is no pod."""
    admin = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = _object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "mine", roleRef=admin, subjects=[])
    role = _object("rbac.authorization.k8s.io/v1", "ClusterRole", "mine", rules=[])
    webhooks = _object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mine", webhooks=[])
    lease = _object("coordination.k8s.io/v1", "Lease", "mine", spec={"holderIdentity": "me"})
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    signing = _object("certificates.k8s.io/v1", "CertificateSigningRequest", "mine", spec={})
    root = (("Impersonate-User", "root"), ("Impersonate-Group", "system:masters"))
    steal = {"spec": {"holderIdentity": "me"}}
    return {
        "secrets: list all": Try("GET", "/api/v1/secrets"),
        "secrets: read ours": Try("GET", f"/api/v1/namespaces/{OWN}/secrets/slackwater-extender-tls"),
        "secrets: make another's token": Try(
            "POST", f"/api/v1/namespaces/{OWN}/serviceaccounts/slackwater-operator/token", token, dry=False
        ),
        "configmaps: read the cluster's own": Try("GET", "/api/v1/namespaces/kube-system/configmaps"),
        "configmaps: change ours": Try("PATCH", f"/api/v1/namespaces/{OWN}/configmaps/others", {"data": {"x": "y"}}),
        "policies: switch one off": Try(
            "PATCH", f"{CUSTOM}/slackpolicies/stolen", {"spec": {"mode": "observe"}}, MERGE
        ),
        "policies: delete one": Try("DELETE", f"{CUSTOM}/slackpolicies/stolen"),
        "policies: make a queue": Try(
            "POST", f"{CUSTOM}/admissionqueues", _object(names.API_VERSION, "AdmissionQueue", "mine", spec={})
        ),
        "policies: delete the guard": Try("DELETE", f"{ADMISSION}/validatingadmissionpolicies/slackwater-guard"),
        "policies: delete another's": Try("DELETE", f"{ADMISSION}/validatingadmissionpolicies/another"),
        "policies: change the guard": Try(
            "PATCH", f"{ADMISSION}/validatingadmissionpolicies/slackwater-guard", {"spec": {"validations": []}}, MERGE
        ),
        "webhooks: make one": Try("POST", f"{ADMISSION}/mutatingwebhookconfigurations", webhooks),
        "definitions: change ours": Try(
            "PATCH", f"{DEFINITIONS}/trackedapps.slackwater.io", {"metadata": {"labels": {"x": "y"}}}, MERGE
        ),
        "definitions: delete ours": Try("DELETE", f"{DEFINITIONS}/trackedapps.slackwater.io"),
        "roles: become cluster-admin": Try("POST", f"{RBAC}/clusterrolebindings", binding),
        "roles: make one": Try("POST", f"{RBAC}/clusterroles", role),
        "roles: widen our own": Try(
            "PATCH", f"{RBAC}/clusterroles/slackwater-operator", {"rules": [{"verbs": ["*"]}]}, MERGE
        ),
        "roles: act as root": Try("GET", "/api/v1/namespaces/kube-system/secrets", headers=root),
        "namespaces: delete one": Try("DELETE", f"/api/v1/namespaces/{ELSEWHERE}"),
        "namespaces: manage one": Try(
            "PATCH", f"/api/v1/namespaces/{ELSEWHERE}", {"metadata": {"labels": {names.MANAGED: "true"}}}, MERGE
        ),
        "nodes: cordon one": Try("PATCH", "/api/v1/nodes/node-000", {"spec": {"unschedulable": True}}),
        "nodes: invent its size": Try(
            "PATCH", "/api/v1/nodes/node-000/status", {"status": {"capacity": {"cpu": "1k"}}}
        ),
        "nodes: delete one": Try("DELETE", "/api/v1/nodes/node-000"),
        "nodes: ask its kubelet": Try("GET", "/api/v1/nodes/node-000/proxy/pods"),
        "leases: take the operator's": Try("PATCH", f"{LEASES}/{OWN}/leases/slackwater-operator", steal, MERGE),
        "leases: take the controllers'": Try(
            "PATCH", f"{LEASES}/kube-system/leases/kube-controller-manager", steal, MERGE
        ),
        "leases: make one in kube-system": Try("POST", f"{LEASES}/kube-system/leases", lease),
        "certificates: ask for one": Try(
            "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", signing, dry=False
        ),
    }


def _of_ours() -> dict[str, Try]:
    """What one of our accounts may do, and the others may not."""
    held = pods(MANAGED, "held")
    told = {"reason": "x", "involvedObject": {"namespace": MANAGED}, "metadata": {"name": "mine"}}
    app = _object(names.API_VERSION, "TrackedApp", "mine", spec={"app": "mine"})
    switch = f"{RBAC}/clusterrolebindings/slackwater-holding"
    return {
        "ours: read pods": Try("GET", "/api/v1/pods?limit=1"),
        "ours: lift our gate": Try("PATCH", held, _ungate(names.GATE)),
        "ours: give a reason": Try("PATCH", held, {"metadata": {"annotations": {names.REASON: "x"}}}),
        "ours: nominate": Try("PATCH", f"{held}/status", {"status": {"nominatedNodeName": "node-000"}}),
        "ours: tell an Event": Try("POST", f"/api/v1/namespaces/{MANAGED}/events", told),
        "ours: track an app": Try("POST", f"{CUSTOM}/namespaces/{MANAGED}/trackedapps", app),
        "ours: keep what was learned": Try(
            "PATCH", f"/api/v1/namespaces/{OWN}/configmaps/slackwater-learned", {"data": {"x": "y"}}
        ),
        "ours: see who leads": Try("GET", f"{LEASES}/{OWN}/leases/slackwater-operator"),
        "ours: see whose release": Try("GET", f"{DEPLOYMENTS}/slackwater-operator"),
        "ours: turn the switch": Try("PATCH", switch, {"subjects": []}, MERGE),
        "ours: read queues": Try("GET", f"{CUSTOM}/admissionqueues"),
        "ours: read policies": Try("GET", f"{CUSTOM}/slackpolicies"),
        "ours: read namespaces": Try("GET", "/api/v1/namespaces"),
        "ours: ask whose token": Try(
            "POST",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}},
            JSON,
            dry=False,
        ),
    }


TRIES: dict[str, Try] = {**_on_pods(MANAGED), **_on_pods(ELSEWHERE), **_on_the_cluster(), **_of_ours()}


LEASE = f"{LEASES}/{OWN}/leases/slackwater-operator"


def make_victims(kube: Any) -> None:
    """A pod that two systems hold, in a managed namespace and elsewhere, and objects of ours."""
    for name, labels in ((MANAGED, {"managed": "true", "policy": "stolen"}), (ELSEWHERE, {}), (OWN, {})):
        kube.namespace(name, **{f"slackwater_io__{key}": value for key, value in labels.items()})
    policy = _object(names.API_VERSION, "SlackPolicy", "stolen", spec={"mode": "enforce"})
    assert kube.apply(policy, f"{CUSTOM}/slackpolicies").ok
    until_acting(kube, MANAGED)
    for namespace in (MANAGED, ELSEWHERE):
        answer = kube.post(pods(namespace), pod("held", schedulingGates=[{"name": FOREIGN}]))
        assert answer.ok, answer.message
    held = kube.get(pods(MANAGED, "held")).body
    assert {gate["name"] for gate in held["spec"]["schedulingGates"]} == {names.GATE, FOREIGN}
    for name in ("slackwater-learned", "others"):
        assert kube.apply(_object("v1", "ConfigMap", name), f"/api/v1/namespaces/{OWN}/configmaps").ok
    kube.apply(_object("coordination.k8s.io/v1", "Lease", "slackwater-operator", spec={}), LEASE.rpartition("/")[0])
    labels = {"app": "stolen"}
    container = {"name": "none", "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    assert kube.apply(_object("apps/v1", "Deployment", "slackwater-operator", spec=spec), DEPLOYMENTS).ok


def remove_victims(kube: Any) -> None:
    """Take them away again."""
    spaces = (f"/api/v1/namespaces/{name}" for name in (MANAGED, ELSEWHERE))
    for path in (*spaces, LEASE, f"{DEPLOYMENTS}/slackwater-operator"):
        kube.delete(path)


def tried(session: Any, each: Try) -> Any:
    """The API server's answer."""
    dry = "" if each.method == "GET" or not each.dry else ("&" if "?" in each.path else "?") + "dryRun=All"
    return session.ask(each.method, f"{each.path}{dry}", each.body, each.kind, dict(each.headers))
