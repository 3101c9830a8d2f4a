"""Reading the audit log: which moment counts, and who asked."""

import json
from typing import Any

import pytest

from slackwater_cluster.timestamps import parse
from slackwater_lab.league.audit import PLAYER, read, sender

NOON = "2026-11-16T12:00:"


def _event(
    verb: str, name: str, second: float, part: str = "", body: object = None, code: int = 201, **more: Any
) -> str:
    target = {"resource": "pods", "namespace": "league", "name": name, "subresource": part}
    event = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": "lab-admin"},
        "userAgent": "kwok/v0.8.0 (linux/amd64)",
        "objectRef": {key: value for key, value in target.items() if value},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": f"{NOON}{second - 0.5:09.6f}Z",
        "stageTimestamp": f"{NOON}{second:09.6f}Z",
        **({"requestObject": body} if body else {}),
    }
    return json.dumps({**event, **more})


def _second(value: float | None) -> float | None:
    return None if value is None else round(value - parse(f"{NOON}00Z"), 6)


def test_a_pods_life_is_read_from_the_requests_about_it() -> None:
    """Created when asked for; bound, started and ended when answered; the first word of each counts."""
    lines = [
        _event("create", "a", 1.0),
        _event("create", "a", 2.0, "binding", {"target": {"name": "node-001"}}),
        _event("patch", "a", 3.0, "status", {"status": {"phase": "Running"}}, 200),
        _event("patch", "a", 3.5, "status", {"status": {"phase": "Running"}}, 200),
        _event("patch", "a", 9.0, "status", {"status": {"phase": "Succeeded"}}, 200),
        _event("delete", "a", 10.0, code=200),
    ]
    pod = read(lines, "league").pods["a"]
    assert [_second(at) for at in (pod.created, pod.bound, pod.started, pod.ended)] == [0.5, 2.0, 3.0, 9.0]
    assert (pod.node, pod.succeeded) == ("node-001", True)
    assert read(lines, "league").answers == [pytest.approx(0.5)] * 6


def test_a_pod_that_is_deleted_has_ended_without_success() -> None:
    """As after a preemption."""
    pod = read([_event("create", "a", 1.0), _event("delete", "a", 4.0, code=200)], "league").pods["a"]
    assert (_second(pod.ended), pod.succeeded) == (4.0, False)


def test_refusals_and_other_namespaces_change_nothing() -> None:
    """A binding that was refused did not happen; a pod elsewhere is not of this play."""
    lines = [
        _event("create", "a", 1.0),
        _event("create", "a", 2.0, "binding", {"target": {"name": "node-001"}}, 409),
        _event("create", "b", 2.0, objectRef={"resource": "pods", "namespace": "default", "name": "b"}),
    ]
    found = read(lines, "league")
    assert list(found.pods) == ["a"]
    assert found.pods["a"].bound is None
    assert sum(found.requests.values()) == 3  # all of them were work for the API server


def test_watches_heartbeats_and_cut_lines_are_not_requests() -> None:
    """Nor is a request about all pods a pod."""
    lines = [
        _event("watch", "", 1.0),
        _event("update", "", 1.0, objectRef={"resource": "leases", "name": "node-001"}),
        _event("patch", "", 1.0, objectRef={"resource": "nodes", "subresource": "status", "name": "node-001"}),
        _event("list", "", 1.0, code=200),
        _event("create", "a", 1.0)[:-9],
    ]
    found = read(lines, "league")
    assert found.pods == {}
    assert dict(found.requests) == {("kwok", "list pods"): 1}


def test_components_are_known_by_account_or_by_program() -> None:
    """Controllers of Kubernetes are one component; the one who submits the jobs is the player."""
    account = "system:serviceaccount:"
    assert sender({"user": {"username": f"{account}slackwater-system:slackwater-operator"}}) == "slackwater-operator"
    assert sender({"user": {"username": f"{account}kube-system:job-controller"}}) == "kube-controller-manager"
    assert (
        sender({"user": {"username": "lab-admin"}, "userAgent": "kube-scheduler-v1.36.4/v1.36.4"}) == "kube-scheduler"
    )
    assert sender({"user": {"username": "lab-admin"}, "userAgent": "slackwater"}) == PLAYER
