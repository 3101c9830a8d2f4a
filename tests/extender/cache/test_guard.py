"""The guard and the extender's governance give the operator's answers."""

import pytest

from support.builders import objects
from support.fakes.extender import World, custom, world


def one() -> World:
    """One idle node."""
    return world(objects.node("idle", cpu="16", memory="64Gi"))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=["a-first", "b-first"])
def test_of_two_pools_on_a_queue_the_first_by_name_guards_it(order: tuple[str, str]) -> None:
    """The operator takes pool a, whichever was listed first; so must the guard. Pool a is open, pool b is closed."""
    made = one()
    guard = made.parts.cache.guard
    slots = {"a": 3, "b": 0}
    guard.set("AdmissionQueue", [custom("main", {})])
    guard.set(
        "ReservationPool", [custom(name, {"queue": "main"}, {"small": {"available": slots[name]}}) for name in order]
    )
    waiting = {"phase": "Waiting", "category": "small"}
    guard.set("TrackedApp", [custom("a", {"app": "a"}, waiting, namespace="batch")])
    assert made.filter(objects.pod(labels={"slackwater.io/app": "a"}), "idle")["NodeNames"] == ["idle"]


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease", "slackwater-system"])
def test_namespaces_of_the_cluster_are_never_managed(namespace: str) -> None:
    """A label on kube-system makes nothing of it ours: its pods pass every filter."""
    made = one()
    made.namespace(namespace)
    assert not made.parts.cache.governance.managed(namespace)
    assert made.filter(objects.pod(namespace=namespace, cpu="99"), "idle")["NodeNames"] == ["idle"]
