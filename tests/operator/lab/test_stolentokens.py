"""A stolen token of each account of the chart, hooks included, and of a person who may lift gates: what it gets.

Every account tries everything in `support.lab.tries` with its own token; what is not named here must be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.lab.tries import MANAGED, OWN, RBAC, TRIES, make_victims, remove_victims, tried

pytestmark = pytest.mark.lab

# Owners of pods are looked up, Deployments among them: so ours is seen, too.
READS = {
    "ours: read pods",
    "ours: read queues",
    "ours: read policies",
    "ours: read namespaces",
    "ours: see whose release",
}
RELEASES = {"ours: lift our gate", "ours: give a reason"}
# kube-scheduler's own role, which the cluster brings along: whoever has it binds, deletes and reports on any pod.
SCHEDULES = {
    *(f"{where}: {what}" for where in ("managed", "elsewhere") for what in ("delete it", "invent its phase")),
    "leases: make one in kube-system",
    "ours: read pods",
    "ours: read namespaces",
    "ours: nominate",
    "ours: tell an Event",
    "ours: ask whose token",
}
MAY: dict[str, set[str]] = {
    "slackwater-operator": {
        *READS,
        *RELEASES,
        "ours: nominate",
        "ours: tell an Event",
        "ours: track an app",
        "ours: see who leads",
        "managed: evict it",  # operator.may.evict
    },
    "slackwater-extender": {*READS, "ours: keep what was learned", "ours: ask whose token"},
    "slackwater-scheduler": SCHEDULES,
    "slackwater-monitor": {*READS},
    "slackwater-watchdog": {*RELEASES, "ours: read pods", "ours: see who leads", "ours: turn the switch"},
    "slackwater-definitions": {"definitions: change ours"},
    "slackwater-leave": {*RELEASES, "ours: read pods", "ours: see whose release", "policies: delete the guard"},
    "releaser": {*RELEASES},
    "slackwater-webhook": {"ours: read policies", "ours: read namespaces"},
    "default": set(),
}
EVERYTHING = (
    "--api-versions=v1/Pod",  # with the hook before uninstall
    "--set=monitor.enabled=true,prometheus.url=http://prometheus",
    "--set=operator.may.resize=true,operator.may.evict=true",
)
VERSIONS = ("1.36.4", "1.35.8")  # the second one has a webhook
KINDS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


@pytest.fixture(scope="module")
def accounts(kube: Any) -> Iterator[dict[str, str]]:
    """Everything that the chart grants, and something to attack; the path of each account."""
    chart = pytest.importorskip("support.lab.chart")
    make_victims(kube)
    found = {}
    rendered = [each for version in VERSIONS for each in chart.objects(version, *EVERYTHING)]
    for each in (each for each in rendered if each["kind"] in KINDS):
        assert (answer := kube.apply(each, where(each))).ok, answer.message
        if each["kind"] == "ServiceAccount":
            found[each["metadata"]["name"]] = f"{where(each)}/{each['metadata']['name']}"
    found["default"] = f"/api/v1/namespaces/{OWN}/serviceaccounts/default"
    found["releaser"] = _releaser(kube)
    yield found
    remove_victims(kube)


def where(body: dict[str, Any]) -> str:
    """The path of the collection that an object belongs to."""
    group = "/api/v1" if body["kind"] == "ServiceAccount" else RBAC
    namespace = body["metadata"].get("namespace")
    return f"{group}/{f'namespaces/{namespace}/' if namespace else ''}{body['kind'].lower()}s"


def _releaser(kube: Any) -> str:
    """A person's account that may lift gates in one namespace."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "releaser", "namespace": MANAGED}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "releaser", "namespace": MANAGED},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "slackwater-releaser"},
        "subjects": [{"kind": "ServiceAccount", "name": "releaser", "namespace": MANAGED}],
    }
    assert kube.apply(account, where(account)).ok
    assert kube.apply(binding, where(binding)).ok
    return f"{where(account)}/releaser"


def test_every_account_of_the_chart_is_tried(accounts: dict[str, str]) -> None:
    """A new account needs its row here."""
    assert set(accounts) == set(MAY)


@pytest.mark.parametrize("account", sorted(MAY))
def test_a_stolen_token_gets_what_its_account_needs_and_no_more(
    kube: Any, accounts: dict[str, str], account: str
) -> None:
    """Every try that is not named is refused, and every one that is named works."""
    granted = kube.post(
        f"{accounts[account]}/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}},
    )
    with kube.holding(granted.body["status"]["token"]) as thief:
        answers = {what: tried(thief, each) for what, each in TRIES.items()}
    got = {what for what, answer in answers.items() if answer.ok}
    assert got == MAY[account], {what: answers[what].message for what in got ^ MAY[account]}
    # Refused because it may not, or because nobody may: the field never changes (422), a held pod is not bound (409).
    refused = {what: (answer.status, answer.message) for what, answer in answers.items() if not answer.ok}
    assert {what: why for what, why in refused.items() if why[0] not in (403, 409, 422)} == {}
