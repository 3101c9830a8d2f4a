"""Every case of admission, by the policy and by the webhook, on a real API server: the same pod, byte for byte."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.lab.admissioncases import CASES, FORGED, TASK, pod, prepare, tidy, until_acting

pytestmark = pytest.mark.lab

# What the API server makes up for each pod: its uid and version, the time, and the name of its token's volume.
MADE_UP = (
    (re.compile(r'"(uid|resourceVersion)": "[^"]*"'), r'"\1": ""'),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "now"),
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access"),
)


@pytest.fixture(scope="module")
def webhook(kube: Any, lab: Any, by_policy: dict[str, str]) -> Iterator[Any]:
    """A cluster where the webhook acts and the policy does not; afterwards as it was."""
    from support.lab import installing  # noqa: PLC0415 - needs the lab

    assert by_policy or not installing.has_policies(kube)
    installing.mutate_no_more(kube)
    until_acting(kube, acting=False)
    installing.mutate_by_webhook(kube, lab)
    until_acting(kube)
    yield lab
    installing.mutate_no_more(kube)
    if installing.has_policies(kube):
        until_acting(kube, acting=False)
        installing.mutate_by_policy(kube)
    else:
        installing.mutate_by_webhook(kube, lab)
    until_acting(kube)
    tidy(kube)


@pytest.fixture(scope="module")
def by_policy(kube: Any) -> dict[str, str]:
    """The pods that the policy makes of all cases, before the webhook takes its place; none without a policy."""
    from support.lab import installing  # noqa: PLC0415 - needs the lab

    prepare(kube)
    return {name: made(kube, name) for name in CASES} if installing.has_policies(kube) else {}


def made(kube: Any, name: str) -> str:
    """The pod that comes of a case, as it is stored; and it is deleted again."""
    case = CASES[name]
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system")
    with kube.acting_as(case.user, *groups) if case.user else kube.acting_as("root", "system:masters") as creator:
        answer = creator.post(f"/api/v1/namespaces/{case.namespace}/pods", case.pod)
    assert answer.ok, answer.message
    kube.delete(f"/api/v1/namespaces/{case.namespace}/pods/{case.pod['metadata']['name']}")
    text = json.dumps(answer.body, indent=1, sort_keys=True)
    for pattern, instead in MADE_UP:
        text = pattern.sub(instead, text)
    return text


@pytest.mark.parametrize("name", CASES)
def test_policy_and_webhook_make_the_same_pod(kube: Any, by_policy: dict[str, str], webhook: Any, name: str) -> None:
    """Spec, annotations and field managers; only uid, version and times differ."""
    if not by_policy:
        pytest.skip("this API server has no MutatingAdmissionPolicy to compare with")
    assert made(kube, name) == by_policy[name]


def test_what_was_forged_where_the_policy_does_not_exist_is_overwritten(kube: Any, webhook: Any) -> None:
    """By the webhook, which sees that none is there; no admission policy can."""
    answer = kube.post("/api/v1/namespaces/lost/pods?dryRun=All", pod("forged", TASK, annotations=FORGED))
    assert answer.ok, answer.message
    written = answer.body["metadata"]["annotations"]
    assert written["slackwater.io/shrunk"] == "100/100"
    assert written["slackwater.io/declared-cpu"] == "2000m"
    assert "schedulingGates" not in answer.body["spec"]


def test_while_the_webhook_is_down_pods_are_created_as_they_are_and_forged_ones_refused(
    kube: Any, webhook: Any
) -> None:
    """`Ignore` for pods that claim nothing, `Fail` for those that claim what only we write."""
    where = "/api/v1/namespaces/team/pods?dryRun=All"
    webhook.processes.kill("webhook")
    try:
        plain = kube.post(where, pod("plain", TASK))
        assert plain.ok, plain.message
        assert "schedulingGates" not in plain.body["spec"]
        forged = kube.post(where, pod("forged", TASK, annotations=FORGED))
        assert forged.status >= 400
        assert "forged.pods.slackwater.io" in forged.message
        assert kube.post("/api/v1/namespaces/plain/pods?dryRun=All", pod("elsewhere", TASK)).ok
    finally:
        webhook.restart("webhook")
    until_acting(kube)


def test_with_the_dead_man_switch_off_nothing_is_held_and_forged_pods_are_refused(kube: Any, webhook: Any) -> None:
    """The binding that the watchdog empties turns the webhook off as it does the policy."""
    switch = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/slackwater-holding"
    subject = {"kind": "ServiceAccount", "name": "slackwater-operator", "namespace": "slackwater-system"}
    merge = "application/merge-patch+json"
    assert kube.patch(switch, {"subjects": []}, merge).ok
    try:
        until_acting(kube, acting=False)
        forged = kube.post("/api/v1/namespaces/team/pods?dryRun=All", pod("forged", TASK, annotations=FORGED))
        assert forged.status == 403
        assert "written by Slackwater alone" in forged.message
    finally:
        assert kube.patch(switch, {"subjects": [subject]}, merge).ok
    until_acting(kube)


def test_a_namespace_is_governed_from_its_first_pod(kube: Any, webhook: Any) -> None:
    """The webhook may be asked before its own watch tells of the namespace; it looks it up."""
    for number in range(5):
        name = kube.namespace(f"fresh-{number}", slackwater_io__managed="true", slackwater_io__policy="tighter")
        answer = kube.post(f"/api/v1/namespaces/{name}/pods?dryRun=All", pod("first", TASK))
        assert answer.body["metadata"]["annotations"]["slackwater.io/shrunk"] == "400/300"
        kube.delete(f"/api/v1/namespaces/{name}")
