"""The words in which the extender tells why a pod waits."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread

import pytest

from slackwater.resources import Resources
from slackwater_cluster.objects.records import NodeRecord
from slackwater_extender.cache.lock import PriorityLock
from slackwater_extender.scheduling import explain
from support.builders import objects
from support.fakes.extender import world


@pytest.mark.parametrize(
    ("cpu", "memory", "words"),
    [
        pytest.param("8", "64Gi", "has all of it; the nearest is wide with 4 cpu", id="each kind on another node"),
        pytest.param("15", "17Gi", "has all of it; the nearest is tall with 16 GiB memory", id="nearly"),
        pytest.param("20", "64Gi", "is that large (at most 16 cpu)", id="one kind nowhere"),
        pytest.param("20", "256Gi", "is that large (at most 16 cpu and 128 GiB memory)", id="both nowhere"),
    ],
)
def test_a_pod_that_can_never_fit_is_told_what_nodes_lack(cpu: str, memory: str, words: str) -> None:
    """Only kinds that no node has enough of are named as too small; where each is somewhere, the nearest node is."""
    found = world(objects.node("tall", cpu="16", memory="16Gi"), objects.node("wide", cpu="4", memory="128Gi"))
    found.show(objects.pod("p", cpu=cpu, memory=memory))
    sentence = found.get("/v1/explain/batch/p")["sentence"]
    assert sentence.startswith("it can never fit: it asks for")
    assert sentence.endswith(f"none of the 2 nodes it can use {words}")


@pytest.mark.parametrize(("cpu", "calls"), [("8", 1), ("20", 0)], ids=["each kind on another node", "one kind nowhere"])
def test_the_nearest_node_is_sought_with_the_lock_free(cpu: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes long in a large cluster, and /filter waits for the lock; where it is not told, nobody seeks it."""
    found = world(objects.node("tall", cpu="16", memory="16Gi"), objects.node("wide", cpu="4", memory="128Gi"))
    found.show(objects.pod("p", cpu=cpu, memory="64Gi"))
    lock, sought, free = found.parts.cache.lock, explain.nearest, []

    def watched(declared: Resources, offers: Sequence[NodeRecord]) -> str:
        free.append(available(lock))
        return sought(declared, offers)

    monkeypatch.setattr(explain, "nearest", watched)
    found.get("/v1/explain/batch/p")
    assert free == [True] * calls


def available(lock: PriorityLock) -> bool:
    """Whether another thread can have the lock now."""

    def take() -> None:
        with lock:
            pass

    thread = Thread(target=take, daemon=True)
    thread.start()
    thread.join(1.0)
    return not thread.is_alive()
