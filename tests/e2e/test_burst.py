"""Scenarios 2 and 3: decisions between two scrapes count what was just decided and what has just ended."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.nodes.simulated import Shape
from support.lab.testcluster import Field
from support.lab.testnamespace import bound, gated, until

pytestmark = pytest.mark.lab


@contextmanager
def _no_scrape(arena: Field) -> Iterator[None]:
    """Hold Prometheus still, where it is ours: on a slow machine 200 creations outlast the time between two scrapes."""
    crew = arena.crew_at_hand
    if crew:
        crew.freeze("prometheus")
    try:
        yield
    finally:
        if crew:
            crew.thaw("prometheus")


def test_a_burst_between_two_scrapes_does_not_herd(arena: Field, tell: Callable[[str], None]) -> None:
    """200 pods that declare half a CPU on five nodes of 32: no node is promised more than the 32 it has."""
    with arena.ground("burst", nodes=5, shape=Shape(cpu="32", memory="256Gi")) as ground:
        arena.until_measured(ground)
        with _no_scrape(arena):
            began = time.monotonic()
            ground.create(
                ground.pod(f"pod-{i:03}", app=f"app-{i % 4}", cpu="500m", memory="256Mi", use=("20m", "20Mi"))
                for i in range(200)
            )
            made = time.monotonic() - began
        pods = ground.until_bound(200, 75)
        counts = Counter(pod["spec"]["nodeName"] for pod in pods)
        tell(f"200 pods created in {made:.1f} s; pods per node {sorted(counts.values(), reverse=True)}")
        assert max(counts.values()) <= 32 / 0.5
        assert len(counts) >= 4


def test_what_a_finished_pod_held_is_free_before_any_scrape(arena: Field) -> None:
    """Prometheus is gone, so no sample can tell: the end of one pod alone lets the next one in."""
    crew = arena.crew()
    with arena.ground("residue", nodes=1) as ground:
        arena.until_measured(ground)
        crew.kill("prometheus")
        try:
            ground.create(ground.pod(f"new-{i}", app="new", use=("100m", "100Mi")) for i in range(9))
            ground.until_bound(8)
            waiting = until("one waits", lambda: [pod for pod in ground.pods() if gated(pod)], 10)
            assert len(waiting) == 1
            ended = bound(ground.pods())[0]["metadata"]["name"]
            arena.api.patch(f"{ground.pods_path}/{ended}/status", {"status": {"phase": "Succeeded"}}, STRATEGIC)
            ground.until_bound(9, 20)
        finally:
            crew.restart("prometheus")
