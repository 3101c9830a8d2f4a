"""Scenario 9: what a tenant and our own operator may not do, and how Slackwater leaves a cluster."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.controlplane import chart
from slackwater_lab.controlplane.chart import CHART
from support.lab.testcluster import ENFORCE, Field, bearer
from support.lab.testnamespace import QUEUES, Ground, bound, gated, until

pytestmark = pytest.mark.lab
MERGE = "application/merge-patch+json"


@pytest.fixture
def held(arena: Field) -> Iterator[Ground]:
    """A ground whose queue is closed, with one held pod in it."""
    with arena.ground("rights", nodes=1) as ground:
        arena.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"state": "paused"}}, MERGE)
        ground.create([ground.pod("held")])
        yield ground


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ({"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}, STRATEGIC),
        ({"metadata": {"annotations": {"slackwater.io/declared-cpu": "10m"}}}, MERGE),
        ({"metadata": {"annotations": {"slackwater.io/admitted-role": "driver"}}}, MERGE),
        ({"metadata": {"annotations": {"slackwater.io/parked": "now"}}}, MERGE),
    ],
    ids=["lift the gate", "change the declared request", "pose as a driver", "park"],
)
def test_a_tenant_with_edit_rights_cannot(arena: Field, held: Ground, patch: dict[str, Any], kind: str) -> None:
    """The API server refuses with our sentence; a harmless label of their own is still theirs to write."""
    with _account(arena, held, "edit") as tenant:
        path = f"{held.pods_path}/held"
        with pytest.raises(Unavailable, match="ValidatingAdmissionPolicy 'slackwater"):
            tenant.patch(path, patch, kind)
        tenant.patch(path, {"metadata": {"labels": {"mine": "yes"}}}, MERGE)
        assert gated(held.get("held"))


def test_posing_as_a_driver_is_charged_in_full(arena: Field) -> None:
    """Pods that call themselves drivers keep their requests: no more of them start than fit by these."""
    with arena.ground("posing", nodes=1) as ground:
        made = ground.create(ground.pod(f"fake-{i}", role="driver", cpu="2") for i in range(6))
        assert {pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in made} == {"2"}
        until("some are told why they wait", lambda: _told(ground), 40, 0.5)
        assert len(bound(ground.pods())) <= 4  # 8 CPUs hold four of them; as shrunk tasks eight would fit


@pytest.mark.parametrize(
    ("part", "patch"),
    [
        ("", {"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        ("/status", {"status": {"phase": "Failed"}}),
    ],
    ids=["image", "phase"],
)
def test_the_operator_cannot_change_an(arena: Field, held: Ground, part: str, patch: dict[str, Any]) -> None:
    """Its own token may lift gates and nominate; images and phases are refused by the guard."""
    with _as_operator(arena) as operator:
        path = f"{held.pods_path}/held"
        with pytest.raises(Unavailable, match="ValidatingAdmissionPolicy 'slackwater"):
            operator.patch(f"{path}{part}", patch, STRATEGIC)
        operator.patch(f"{path}/status", {"status": {"nominatedNodeName": held.nodes[0]}})


def test_leaving_lifts_every_gate_and_takes_the_policies_along(arena: Field) -> None:
    """The hook that helm runs before uninstall: afterwards no gate, no policy, no pod that waits for our scheduler."""
    lab = arena.own_lab()
    with arena.ground("leaving", nodes=1) as ground:
        ground.create(ground.pod(f"pod-{i:02}", app="last", use=("1", "1Gi"), lasts=2) for i in range(14))
        ground.until_bound(5, 40)
        try:
            said = subprocess.run(
                [sys.executable, str(CHART / "files" / "hooks" / "leave.py")],
                env={**os.environ, "KUBECONFIG": str(lab.site.kubeconfig), "SLACKWATER_LEAVE_SECONDS": "60"},
                capture_output=True,
                text=True,
                check=False,
                timeout=80,
            )
            assert said.returncode == 0, said.stderr
            assert not any(map(gated, ground.pods()))
            assert len(bound(ground.pods())) == 14
            for kind in ("mutatingadmissionpolicies", "mutatingwebhookconfigurations", "validatingadmissionpolicies"):
                left = arena.api.find(f"/apis/admissionregistration.k8s.io/v1/{kind}") or {"items": []}
                assert "slackwater" not in json.dumps([each["metadata"]["name"] for each in left["items"]])
        finally:
            list(chart.install(lab.site, ENFORCE))
        arena.until_held(ground)


def _told(ground: Ground) -> bool:
    return any("slackwater.io/reason" in pod["metadata"]["annotations"] for pod in ground.pods() if gated(pod))


def _account(arena: Field, ground: Ground, role: str) -> ApiClient:
    """A session as a new service account of the namespace that has a cluster role there."""
    path, name = f"/api/v1/namespaces/{ground.name}/serviceaccounts", "tenant"
    arena.api.create(path, {"metadata": {"name": name}})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ground.name}],
    }
    arena.api.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ground.name}/rolebindings", binding)
    session = bearer(arena.where, _token(arena, f"{path}/{name}"))
    until("the role is in force", lambda: _allowed(session, ground), 20)
    return session


def _allowed(session: ApiClient, ground: Ground) -> bool:
    try:
        return session.find(ground.pods_path) is not None
    except Unavailable:
        return False


def _as_operator(arena: Field) -> ApiClient:
    account = "/api/v1/namespaces/slackwater-system/serviceaccounts/slackwater-operator"
    return bearer(arena.where, _token(arena, account))


def _token(arena: Field, account: str) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    granted = arena.api.create(f"{account}/token", body)
    assert granted is not None
    return str(granted["status"]["token"])
