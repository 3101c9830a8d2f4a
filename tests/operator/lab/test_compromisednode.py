"""Whoever has a node has its kubelet's credentials: what they get of ours with those, asked of a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from slackwater_cluster import names
from support.lab.installing import until_acting
from support.lab.tries import TRIES, make_victims, pod, pods, remove_victims, tried

pytestmark = pytest.mark.lab

NAMESPACE = "on-a-bad-node"
MINE, OTHER = "node-000", "node-001"
CLAIMED = {
    names.DECLARED_CPU: "1m",
    names.DECLARED_MEMORY: "1",
    names.ADMITTED_ROLE: names.DRIVER,
    names.SHRUNK: "900/900",
    names.PARKED: "now",
}
# Of everything that a stolen token is tried with: its own Node object is a kubelet's to write, it tells Events and asks
# whose token a caller of its own API shows.
GETS = {"nodes: invent its size", "nodes: cordon one", "ours: tell an Event", "ours: ask whose token"}


@pytest.fixture(scope="module")
def node(kube: Any) -> Iterator[Any]:
    """The kubelet of a node that runs a task of ours; another node runs one, too, and a third one is held."""
    policy = {"apiVersion": names.API_VERSION, "kind": "SlackPolicy", "metadata": {"name": "bad-node"}}
    assert kube.apply({**policy, "spec": {"mode": "enforce"}}, f"/apis/{names.API_VERSION}/slackpolicies").ok
    kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="bad-node")
    until_acting(kube, NAMESPACE)
    for name, where in (("mine", MINE), ("other", OTHER)):
        answer = kube.post(pods(NAMESPACE), pod(name, nodeName=where, tolerations=[{"operator": "Exists"}]))
        assert answer.ok, answer.message
    assert kube.post(pods(NAMESPACE), pod("held")).body["spec"]["schedulingGates"]
    with kube.acting_as(f"system:node:{MINE}", "system:nodes") as session:
        yield session
    kube.delete(f"/api/v1/namespaces/{NAMESPACE}")


@pytest.fixture
def victims(kube: Any) -> Iterator[None]:
    """What a stolen token is tried on."""
    make_victims(kube)
    yield
    remove_victims(kube)


def _annotated(key: str, value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {key: value}}}


def test_a_kubelet_reports_on_its_own_pods(node: Any) -> None:
    """Else the refusals below would say nothing."""
    told = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert (answer := node.patch(f"{pods(NAMESPACE, 'mine')}/status", told)).ok, answer.message
    assert node.patch(f"{pods(NAMESPACE, 'other')}/status", told).status == 403


@pytest.mark.parametrize("key", sorted(CLAIMED))
def test_it_cannot_forge_what_is_sealed_of_its_own_pods(node: Any, key: str) -> None:
    """The status is the way by which a kubelet may change annotations; the guard looks there, too."""
    answer = node.patch(f"{pods(NAMESPACE, 'mine')}/status", _annotated(key, CLAIMED[key]))
    assert answer.status == 403
    assert "slackwater-guard" in answer.message


def test_it_can_change_what_its_own_pods_claim_as_their_owner_could(node: Any) -> None:
    """Labels are kept by the API server; unsealed annotations are claims, and count as those of the pod's author."""
    path = f"{pods(NAMESPACE, 'mine')}/status"
    assert node.patch(path, {"metadata": {"labels": {names.APP: "another"}}}).status == 403
    assert node.patch(path, _annotated(names.TASKS, "5")).ok


@pytest.mark.parametrize("name", ["other", "held"])
def test_it_changes_nothing_of_pods_elsewhere(node: Any, name: str) -> None:
    """Neither those of other nodes nor those that wait: no gate, no annotation, no nomination."""
    ungate = {"spec": {"schedulingGates": [{"$patch": "delete", "name": names.GATE}]}}
    for part, body in (
        ("", ungate),
        ("", _annotated(names.REASON, "mine")),
        ("/status", _annotated(names.REASON, "mine")),
        ("/status", {"status": {"nominatedNodeName": MINE}}),
    ):
        assert node.patch(f"{pods(NAMESPACE, name)}{part}", body).status == 403


@pytest.mark.parametrize("key", sorted(CLAIMED))
def test_its_static_pods_carry_no_forged_annotations(kube: Any, node: Any, key: str) -> None:
    """A mirror pod names its node, so our policy writes nothing into it and refuses what is sealed."""
    uid = kube.get(f"/api/v1/nodes/{MINE}").body["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": MINE, "uid": uid, "controller": True}
    body = pod(f"mirror-{sorted(CLAIMED).index(key)}", nodeName=MINE)
    body["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": [owner]}
    where = f"{pods(NAMESPACE)}?dryRun=All"
    assert (answer := node.post(where, body)).ok, answer.message
    body["metadata"]["annotations"][key] = CLAIMED[key]
    answer = node.post(where, body)
    assert answer.status == 403
    assert "slackwater-guard-creations" in answer.message


def test_labels_by_which_a_queue_should_choose_nodes_are_not_its_own_to_give(node: Any) -> None:
    """A node may name itself anything else, and would then belong to whichever queue selects that."""
    for key, ok in (("node-restriction.kubernetes.io/queue", False), ("example.com/queue", True)):
        answer = node.patch(f"/api/v1/nodes/{MINE}?dryRun=All", {"metadata": {"labels": {key: "mine"}}})
        assert answer.ok == ok, answer.message
        assert not node.patch(f"/api/v1/nodes/{OTHER}?dryRun=All", {"metadata": {"labels": {key: "mine"}}}).ok


def test_of_all_that_a_stolen_token_tries_it_gets_its_own_node(victims: None, node: Any) -> None:
    """Leases, tokens, Secrets, policies, queues, definitions and pods of others are refused."""
    # We act in the node's name ourselves: whom it may act as cannot be asked this way.
    answers = {what: tried(node, each) for what, each in TRIES.items() if not each.headers}
    assert {what for what, answer in answers.items() if answer.ok} == GETS
