"""Pods that one tenant may create on a real API server, and that once stopped every release of the cluster."""

from typing import Any

import pytest

from support.lab.operatorprocess import Replica, bound, fresh, pod, wait

pytestmark = pytest.mark.lab

OWNERS = {
    "a group that is a step in a path": {"apiVersion": "./v1", "kind": "Foo", "name": "x"},
    "a name that leads to an endless watch": {"apiVersion": "v1", "kind": "Pod", "name": "../../../pods?watch=true"},
    "a name that leads elsewhere": {"apiVersion": "v1", "kind": "Pod", "name": "../../kube-system/secrets/x"},
    "a group nobody serves": {"apiVersion": "nobody.example/v1", "kind": "Foo", "name": "x"},
}


def told(kube: Any, where: str) -> set[str]:
    """The pods that have an Event which says what was set aside."""
    events = kube.get(where.replace("/pods", "/events")).body["items"]
    return {each["involvedObject"]["name"] for each in events if each["reason"] == "Unreadable"}


def test_hostile_owners_and_counts_stop_nobody(kube: Any, leader: Replica) -> None:
    """Other tenants' pods go on being released, before and after a restart; the pod's own owner is told."""
    bad, good = fresh(kube, "hostile"), fresh(kube, "harmless")
    for number, owner in enumerate(OWNERS.values()):
        body = pod(f"owned-{number}", f"odd-{number}")
        body["metadata"]["ownerReferences"] = [{**owner, "uid": f"uid-{number}", "controller": True}]
        del body["metadata"]["labels"]["slackwater.io/app"]
        assert kube.post(bad, body).ok
    assert kube.post(bad, pod("digits", "digits", tasks="1" * 4301)).ok
    assert kube.post(bad, pod("parents", "parents", parents=",".join(map(str, range(40_000))))).ok
    for number in range(5):
        assert kube.post(good, pod(f"before-{number}", "before")).ok
    wait(lambda: bound(kube, good) == 5, 20)
    # Pods whose owner is a Pod that does not exist are soon deleted by the garbage collector, told or not.
    wait(lambda: told(kube, bad) >= {"owned-0", "digits", "parents"}, 20)
    assert leader.process.poll() is None


def test_a_start_among_hostile_pods_releases_the_others(kube: Any, leader: Replica, replicas: Any) -> None:
    """They used to end every start within seconds."""
    leader.end()
    second = replicas("among-hostile")
    good = fresh(kube, "harmless-later")
    for number in range(5):
        assert kube.post(good, pod(f"after-{number}", "after")).ok
    wait(lambda: bound(kube, good) == 5, 60)
    assert second.process.poll() is None
    assert "Traceback" not in second.log.read_text(encoding="utf-8")
