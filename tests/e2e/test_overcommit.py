"""Scenario 1: measured slack takes more pods, up to estimate and ceiling, and no further."""

import time
from collections.abc import Callable, Iterator

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import PLAIN, Ground, bound, declared_cpu, gated, phase, until

pytestmark = pytest.mark.lab
IDLE = ("100m", "100Mi")
GIB = 2.0**30
SLOW = {"slackwater.io/lab-start-delay": "30", "slackwater.io/lab-ramp": "60"}


@pytest.fixture(scope="module")
def slow(cluster: Field) -> Iterator[Ground]:
    """A node with slow starters, which take a minute and a half: they come first, and the last test looks at them."""
    with cluster.ground("ramp", nodes=1) as ground:
        cluster.until_measured(ground)
        ground.create(
            ground.pod(f"slow-{i:02}", app="slow", cpu="100m", memory="4Gi", use=("50m", "4Gi"), notes=SLOW)
            for i in range(12)
        )
        ground.until_bound(7)
        yield ground


@pytest.mark.usefixtures("slow")
def test_a_node_half_used_takes_more_up_to_the_estimate(arena: Field, tell: Callable[[str], None]) -> None:
    """8 CPUs full by declaration and half used: more tasks come in, and use stays within the node's 8."""
    with arena.ground("half", nodes=1) as ground:
        arena.until_measured(ground)
        ground.create(ground.pod(f"task-{i:02}", app="half", use=("500m", "100Mi")) for i in range(20))
        ground.until_bound(11, 75)
        until("the others are told why", lambda: _told(ground, 4), 30, 0.5)
        node, count = arena.node(ground.nodes[0]), len(bound(ground.pods()))
        tell(f"{count} tasks of one declared CPU on 8, {node['used']['cpu']:.1f} used")
        assert node["used"]["cpu"] <= 8
        assert 8 < count <= 16


def test_a_node_full_by_requests_takes_more_up_to_its_ceiling(arena: Field) -> None:
    """8 CPUs, ceiling 200 %: of 20 idle tasks that declare one CPU each, exactly 16 run."""
    with arena.ground("slack", nodes=1) as ground:
        arena.until_measured(ground)
        ground.create(ground.pod(f"task-{i:02}", app="slack", use=IDLE) for i in range(20))
        ground.until_bound(16, 75)
        until("the others are told why", lambda: _told(ground, 4), 30, 0.5)
        assert declared_cpu(bound(ground.pods())) == 16


def test_the_plain_scheduler_stops_where_requests_end(arena: Field) -> None:
    """The same 20 pods on the same node: 8 fit."""
    with arena.ground("plain", nodes=1, managed=False) as ground:
        ground.create(ground.pod(f"task-{i:02}", use=IDLE, schedulerName=PLAIN) for i in range(20))
        ground.until_bound(8)
        until("all others were tried", lambda: sum(map(_unschedulable, ground.pods())) == 12, 30)
        assert len(bound(ground.pods())) == 8


def test_placements_stop_when_use_rises_and_go_on_when_it_falls(arena: Field, tell: Callable[[str], None]) -> None:
    """Six tasks use more than they declared: beside them goes what fits by requests, and no more until they rest."""
    with arena.ground("tide", nodes=1) as ground:
        arena.until_measured(ground)
        ground.create(ground.pod(f"early-{i}", app="early", use=("1150m", "100Mi")) for i in range(6))
        ground.until_bound(6)
        until("the use is seen", lambda: arena.node(ground.nodes[0])["used"]["cpu"] > 6.5, 40, 0.5)
        ground.create(ground.pod(f"late-{i}", app="late", use=IDLE) for i in range(4))
        ground.until_bound(2, 40, app="late")
        until("the other two are told why", lambda: _told(ground, 2), 30, 0.5)
        assert len(bound(ground.pods(app="late"))) == 2
        for i in range(6):
            ground.use(f"early-{i}", *IDLE)
        began = time.monotonic()
        until("use is seen to fall", lambda: arena.node(ground.nodes[0])["room"]["cpu"] > 1, 40, 0.2)
        seen = time.monotonic()
        ground.until_bound(4, 40, app="late")
        tell(f"use fell: room after {seen - began:.1f} s, all four bound {time.monotonic() - seen:.1f} s later")


def test_slow_starters_never_push_a_node_past_its_memory(
    arena: Field, slow: Ground, tell: Callable[[str], None]
) -> None:
    """Tasks of 4 GiB, 30 s of pulling, 60 s until it is filled: the node's 32 GiB are never exceeded on the way."""
    (node,) = slow.nodes
    peak = 0.0

    def full() -> bool:
        nonlocal peak
        peak = max(peak, float(arena.node(node)["used"]["memory"]))
        assert peak <= 32 * GIB
        assert sum(phase(pod) in ("Pending", "Running") for pod in bound(slow.pods())) <= 8
        return peak > 26 * GIB

    until("their memory is full", full, 120, 0.5)
    tell(f"{len(bound(slow.pods()))} of 12 tasks of 4 GiB placed, {peak / GIB:.1f} of 32 GiB used at most")


def _told(ground: Ground, count: int) -> bool:
    held = [pod for pod in ground.pods() if gated(pod)]
    return len([pod for pod in held if "slackwater.io/reason" in pod["metadata"]["annotations"]]) >= count


def _unschedulable(pod: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    return any(each.get("reason") == "Unschedulable" for each in pod["status"].get("conditions", []))
