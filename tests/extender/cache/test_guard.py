"""The guard and the extender's governance give the operator's answers."""

import tracemalloc

import pytest

from support.builders import objects
from support.fakes.extender import World, custom, world


def one() -> World:
    """One idle node, and an operator that leads: it has just asked for its room."""
    made = world(objects.node("idle", cpu="16", memory="64Gi"))
    made.get("/v1/rooms")
    return made


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


def test_of_apps_that_have_passed_next_to_nothing_is_kept() -> None:
    """A cluster has thousands of them; a whole object of each took thousands of bytes."""
    guard = one().parts.cache.guard
    over = {"phase": "Finished", "category": "small", "reason": "complete", "message": "over", "pods": {"finished": 3}}
    records = [custom(f"a{number}", {"app": f"a{number}"}, over, namespace="batch") for number in range(500)]
    guard.set("TrackedApp", records[:1])  # what is made once, at the first of them
    tracemalloc.start()
    try:
        guard.set("TrackedApp", records)
        assert tracemalloc.get_traced_memory()[0] / len(records) < 500
    finally:
        tracemalloc.stop()


def test_an_app_that_passes_is_guarded_no_longer_and_again_when_it_waits() -> None:
    """Its pool is closed all the time."""
    made = one()
    guard = made.parts.cache.guard
    guard.set("AdmissionQueue", [custom("main", {})])
    guard.set("ReservationPool", [custom("a", {"queue": "main"}, {"small": {"available": 0}})])

    def passes(name: str) -> bool:
        pod = objects.pod(name, labels={"slackwater.io/app": "a"})
        return bool(made.filter(pod, "idle")["NodeNames"] == ["idle"])

    found = []
    for number, phase in enumerate(("Waiting", "Running", "Waiting")):
        guard.set("TrackedApp", [custom("a", {"app": "a"}, {"phase": phase, "category": "small"}, namespace="batch")])
        found.append(passes(f"p{number}"))
    guard.drop("TrackedApp", [custom("a", {"app": "a"}, {}, namespace="batch")])
    assert [*found, passes("last")] == [False, True, False, True]
