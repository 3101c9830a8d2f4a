"""The words in which the extender tells why a pod waits."""

from __future__ import annotations

import pytest

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
