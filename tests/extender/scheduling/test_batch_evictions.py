"""Batch placement of pods of apps that lost pods for their memory: where there is room for what they came to use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from support.builders import objects
from support.fakes.extender import World, world
from support.fakes.placing import ask


def task(name: str, memory: str, app: str = "", **more: Any) -> dict[str, Any]:
    """A task of one app that asks for so much memory."""
    labels = {"slackwater.io/app": app or f"of-{memory}", "slackwater.io/role": "task"}
    return objects.pod(name, memory=memory, labels=labels, annotations=objects.declared("1", memory), **more)


def closed(name: str, taint: str) -> dict[str, Any]:
    """A large node with a taint that refuses new pods."""
    return objects.node(name, memory="32Gi", spec={"taints": [{"key": taint, "effect": "NoSchedule"}]})


def evict(made: World, lacking: str = "memory", **fields: Any) -> None:
    """A pod runs, and its kubelet evicts it because its node is low on something."""
    words = f"The node was low on resource: {lacking}. Threshold quantity: 100Mi, available: 98Mi. "
    made.show(task(**fields, phase="Running", status=objects.running()))
    made.show(task(**fields, phase="Failed", status={"reason": "Evicted", "message": words}))


@pytest.mark.parametrize("lacking", ["ephemeral-storage", "pids", "inodes"])
def test_pods_like_a_pod_that_was_evicted_for_something_else_need_no_more_memory(lacking: str) -> None:
    """A full disk says nothing of the memory that they use."""
    made = world(objects.node("small", memory="8Gi"))
    made.sample({"small": (0.0, 0.0)})
    evict(made, lacking, name="first", memory="5Gi", node="small")
    made.show(task("again", "5Gi"))
    assert ask(made, "again")["placed"][0]["node"] == "small"


def test_pods_that_were_evicted_before_the_extender_saw_them_are_long_past() -> None:
    """They lie there until somebody deletes them: each restart would count them anew."""
    made = world(objects.node("small", memory="8Gi"))
    made.sample({"small": (0.0, 0.0)})
    words = "The node was low on resource: memory. "
    status = {"reason": "Evicted", "message": words}
    made.show(task("first", "5Gi", node="small", phase="Failed", status=status), task("again", "5Gi"))
    assert ask(made, "again")["placed"][0]["node"] == "small"


def test_pods_of_which_nobody_knows_what_they_use_leave_half_of_the_memory_free() -> None:
    """World 50184: a gang was packed onto the smallest nodes that hold it, and killed there."""
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="64Gi"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    made.show(task("first", "5Gi"))
    assert ask(made, "first")["placed"][0]["node"] == "large"
    second = task("second", "5Gi")
    made.show(second)
    assert made.filter(second, "small", "large")["NodeNames"] == ["large", "small"]
    assert made.prioritize(second, "small", "large") == {"small": 5, "large": 10}


def test_both_ways_to_a_node_agree_on_pods_that_go_by_what_they_declare_although_their_likes_use_more() -> None:
    """No node holds twice as much, so that they go like pods of which nothing is known, by a scheduler's score too."""
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="13Gi"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    evict(made, name="first", memory="7Gi", node="small")
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    again = task("again", "7Gi")
    made.show(again)
    assert made.prioritize(again, "small", "large") == {"small": 5, "large": 10}
    assert ask(made, "again")["placed"][0]["node"] == "large"


def test_pods_like_an_evicted_pod_go_where_there_is_room_for_twice_as_much() -> None:
    """Seed 129: they were put on the small node again and again, and killed there each time."""
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="32Gi"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    beside = task("beside", "25Gi")
    evict(made, name="first", memory="5Gi", node="small")
    made.show(task("again", "5Gi"), beside)
    assert ask(made, "beside")["placed"][0]["node"] == "large"
    refused = ask(made, "again")["refused"][0]
    assert refused["reason"] == "slackwater: measured memory room too small"
    assert refused["needs"] == {"cpu": 1.0, "memory": 10 * 2**30}
    made.gone(beside)
    names = ["again", "more", "most", "last"]
    made.show(*[task(name, "5Gi") for name in names[1:]])
    assert [each["node"] for each in ask(made, *names)["placed"]] == ["large"] * 3


@pytest.mark.parametrize("taint", ["node.kubernetes.io/memory-pressure", "node.kubernetes.io/network-unavailable"])
def test_pods_like_an_evicted_pod_wait_for_a_node_that_kubernetes_keeps_closed_for_a_while(taint: str) -> None:
    """Seed 2020289: they were put by what they declare onto the one node without memory pressure, and killed there."""
    made = world(objects.node("small", memory="8Gi"), closed("large", taint))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    evict(made, name="first", memory="5Gi", node="small")
    made.show(task("again", "5Gi"))
    assert ask(made, "again")["refused"][0]["needs"] == {"cpu": 1.0, "memory": 10 * 2**30}
    made.nodes(objects.node("large", memory="32Gi"))
    assert ask(made, "again")["placed"][0]["node"] == "large"


def test_pods_like_an_evicted_pod_do_not_wait_for_a_node_that_is_kept_for_others() -> None:
    """A taint that somebody gave it stays: they go by what they declare, as with any scheduler."""
    made = world(objects.node("small", memory="8Gi"), closed("large", "dedicated"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    evict(made, name="first", memory="5Gi", node="small")
    made.show(task("again", "5Gi"))
    assert ask(made, "again")["placed"][0]["node"] == "small"


class CountingLedger(Ledger):
    """Counts how often what tasks leave of all nodes is computed."""

    asked = 0

    def without_tasks(self) -> np.ndarray:
        """As ever."""
        self.asked += 1
        return super().without_tasks()


@pytest.mark.parametrize(("killed", "asked"), [(True, 1), (False, 0)])
def test_what_tasks_leave_of_the_nodes_is_computed_once_for_a_batch(killed: bool, asked: int) -> None:
    """For all of its pods, under the lock, and only where a pod of the app of one of them was killed."""
    made = world()
    ledger = made.parts.cache.ledger = CountingLedger(made.parts.cache.ledger.terms)
    made.nodes(objects.node("small", memory="8Gi"), objects.node("large", memory="32Gi"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    evict(made, "memory" if killed else "pids", name="first", memory="5Gi", node="small")
    names = ["again", "more", "most"]
    made.show(*[task(name, "5Gi") for name in names])
    assert len(ask(made, *names)["placed"]) == 3
    assert ledger.asked == asked


@pytest.mark.parametrize(("spare", "node"), [(["large"], "large"), ([], "small")], ids=["spare", "needed by tasks"])
def test_a_driver_that_was_evicted_takes_a_node_that_tasks_can_spare(spare: list[str], node: str) -> None:
    """Seed 51075: the only node that cost tasks nothing was too small for it, and it was killed there seven times."""
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="32Gi"))
    made.sample({"small": (0.0, 0.0), "large": (0.0, 0.0)})
    evict(made, name="first", memory="5Gi", node="small")
    made.show(task("again", "5Gi"))
    wish = {"uid": "uid-batch-again", "avoid": ["large"], "spare": spare}
    assert made.post("/v1/place", {"pods": [wish]})["placed"][0]["node"] == node


@pytest.mark.parametrize("ended", [False, True], ids=["gone while it ran", "told to end first"])
def test_pods_like_a_task_that_was_deleted_with_its_driver_go_where_it_could_have_grown(ended: bool) -> None:
    """Seed 50008: the driver was killed; its tasks, of which none had been, were packed by what they had used by then.

    A task that is deleted ends in a phase like any other before it is gone.
    """
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="32Gi"))
    first = task("first", "3Gi", node="small", phase="Running", status=objects.running("2026-01-01T00:00:00Z"))
    made.show(first)
    for use in (3.0, 4.0):
        made.clock.now += 10
        made.sample({"small": (1.0, use * 2**30)}, {"uid-batch-first": (1.0, use * 2**30)})
    evict(made, name="other", memory="1Gi", node="large", app="of-3Gi")
    if ended:
        deleted = {"deletionTimestamp": "2026-01-01T00:01:00Z"}
        made.show(task("first", "3Gi", node="small", phase="Failed", meta=deleted))
    made.gone(first)
    made.show(task("again", "3Gi"))
    claim = made.parts.cache.claim(made.parts.cache.index.pods["uid-batch-again"])
    assert made.parts.cache.ledger.expected(claim)[1] == pytest.approx(6 * 2**30)


def test_pods_like_a_pod_that_used_more_than_it_declared_go_where_there_is_room_for_it() -> None:
    """They ask for no core: that the one node with memory enough is overfull in cores does not keep them away."""
    made = world(objects.node("small", memory="8Gi"), objects.node("large", memory="32Gi"))
    labels = {"slackwater.io/app": "grows", "slackwater.io/role": "task"}
    grows: dict[str, Any] = {"cpu": "0", "memory": "5Gi", "labels": labels, "annotations": objects.declared("0", "5Gi")}
    made.show(objects.pod("first", node="large", phase="Running", status=objects.running(), **grows))
    made.clock.now += 100
    made.sample({"large": (0.0, 9 * 2**30)}, {"uid-batch-first": (0.0, 9 * 2**30)})
    made.show(objects.pod("first", node="large", phase="Succeeded", **grows), objects.pod("again", **grows))
    made.show(objects.pod("crowd", cpu="20", node="large", phase="Running"))
    assert ask(made, "again")["placed"][0]["node"] == "large"
