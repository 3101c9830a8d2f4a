"""Scenario 7: each row of the failure table, in mid-load. Nothing is stranded or lost, and the ceiling holds."""

import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from slackwater_lab.nodes import simulated
from slackwater_lab.nodes.simulated import Shape
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, bound, declared_cpu, gated, phase, until

pytestmark = pytest.mark.lab
TASKS = 36
Tell = Callable[[str], None]


def _load(ground: Ground, lasts: float = 2.0, count: int = TASKS) -> None:
    """More tasks than fit at once, each of one CPU that it uses in full."""
    ground.create(
        ground.pod(f"load-{i:02}", app=f"load-{i % 3}", use=("900m", "500Mi"), lasts=lasts) for i in range(count)
    )


def _ceiling_holds(ground: Ground, most: float) -> bool:
    """So much declared CPU at most on every node: twice what it has."""
    per_node = defaultdict(list)
    for pod in bound(ground.pods()):
        if phase(pod) in ("Pending", "Running"):
            per_node[pod["spec"]["nodeName"]].append(pod)
    return all(declared_cpu(pods) <= most for pods in per_node.values())


def _all_over(ground: Ground, most: float = 16) -> bool:
    assert _ceiling_holds(ground, most)
    return all(phase(pod) == "Succeeded" for pod in ground.pods())


def _next_bind(ground: Ground, since: float) -> float:
    """Seconds from then until a pod is bound that was not bound now."""
    known = {pod["metadata"]["name"] for pod in bound(ground.pods())}
    until(
        "a further pod is bound",
        lambda: {pod["metadata"]["name"] for pod in bound(ground.pods())} - known or _all_over(ground),
        60,
    )
    return time.monotonic() - since


@pytest.mark.parametrize("victim", ["extender", "operator", "prometheus", "slackwater-scheduler"])
def test_a_killed_program_that_comes_back_strands_nothing(arena: Field, tell: Tell, victim: str) -> None:
    """A kill -9 while pods are being released; started again, everything runs to its end."""
    crew = arena.crew()
    with arena.ground("killed") as ground:
        _load(ground)
        ground.until_bound(10, 40)
        crew.kill(victim)
        crew.restart(victim)
        back = time.monotonic()
        tell(f"bound again {_next_bind(ground, back):.1f} s after {victim} was back")
        until("all tasks are over", lambda: _all_over(ground), 75, 0.3)


def test_the_other_operator_takes_over_from_one_that_died_between_its_patches(arena: Field, tell: Tell) -> None:
    """The leader is killed while some pods are nominated and still gated: the standby clears that and goes on."""
    crew = arena.crew()
    with arena.ground("leader", nodes=4, shape=Shape(cpu="64", memory="256Gi")) as ground:
        arena.until_measured(ground)
        leader = _leader(arena)
        with ThreadPoolExecutor(1) as pool:
            made = pool.submit(_load, ground, count=120)
            until("the leader is between its two patches", lambda: _half(ground), 40, 0.0)
            crew.kill(leader)
            died = time.monotonic()
            made.result()
        try:
            tell(f"{len(_half(ground))} pods were nominated and still gated when the leader died")
            until("another leads", lambda: _leader(arena) != leader, 60, 0.2)
            until("what the dead leader left half done is cleared", lambda: not _half(ground), 60, 0.2)
            tell(f"another operator led after {time.monotonic() - died:.1f} s")
            until("all tasks are over", lambda: _all_over(ground, 128), 75, 0.3)
            tell(f"120 tasks over {time.monotonic() - died:.1f} s after the leader died")
        finally:
            crew.restart(leader)


def test_without_prometheus_nothing_is_overcommitted_and_nobody_evicted(arena: Field, tell: Tell) -> None:
    """Samples are stale: room comes from requests, so eight of twelve idle tasks run; later the others."""
    crew = arena.crew()
    with arena.ground("blind", nodes=1) as ground:
        arena.until_measured(ground)
        crew.kill("prometheus")
        try:
            until("samples are stale", lambda: arena.node(ground.nodes[0])["stale"], 60, 0.5)
            ground.create(ground.pod(f"task-{i:02}", app="idle", use=("50m", "50Mi")) for i in range(12))
            ground.until_bound(8, 40)
            until("the others are told why", lambda: _told(ground) == 4, 40, 0.5)
            assert len(bound(ground.pods())) == 8
        finally:
            crew.restart("prometheus")
        back = time.monotonic()
        ground.until_bound(12, 60)
        assert all(phase(pod) != "Failed" for pod in ground.pods())
        tell(f"all twelve bound {time.monotonic() - back:.1f} s after Prometheus was back")


def test_a_restart_of_the_api_server_loses_nothing(arena: Field, tell: Tell) -> None:
    """Watches break and resume; what was held is released, what ran ends."""
    crew = arena.crew()
    with arena.ground("apiserver") as ground:
        _load(ground)
        ground.until_bound(10, 40)
        crew.kill("apiserver")
        died = time.monotonic()
        crew.restart("apiserver")
        back = time.monotonic()
        tell(f"the API server was ready again after {back - died:.1f} s")
        tell(f"bound again {_next_bind(ground, back):.1f} s after that")
        until("all tasks are over", lambda: _all_over(ground), 80, 0.3)
        arena.until_held(ground)
        tell(f"new pods were taken and held again {time.monotonic() - back:.1f} s after that")


def test_pods_go_to_other_nodes_when_one_is_lost(arena: Field, tell: Tell) -> None:
    """A node falls silent in mid-load: nothing more is placed there, and the rest runs to its end elsewhere."""
    with arena.ground("lost") as ground:
        _load(ground, count=40)
        ground.until_bound(8, 40)
        gone = ground.nodes[0]
        simulated.lose(arena.api, gone)
        died = time.monotonic()
        until("the extender knows", lambda: not arena.node(gone)["open"], 40, 0.2)
        tell(f"closed in the ledger after {time.monotonic() - died:.1f} s")
        stuck = {pod["metadata"]["name"] for pod in bound(ground.pods()) if pod["spec"]["nodeName"] == gone}

        def rest_over() -> bool:
            return all(phase(pod) == "Succeeded" for pod in ground.pods() if pod["metadata"]["name"] not in stuck)

        until("everything else is over", rest_over, 75, 0.3)
        there = {pod["metadata"]["name"] for pod in bound(ground.pods()) if pod["spec"]["nodeName"] == gone}
        assert there <= stuck
        simulated.find_again(arena.api, gone)


def _told(ground: Ground) -> int:
    return sum("slackwater.io/reason" in pod["metadata"]["annotations"] for pod in ground.pods() if gated(pod))


def _half(ground: Ground) -> list[str]:
    """Pods that are nominated and still gated: one patch of their release is written, the other is not."""
    return [pod["metadata"]["name"] for pod in ground.pods() if gated(pod) and pod["status"].get("nominatedNodeName")]


def _leader(arena: Field) -> str:
    leases = arena.api.find("/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases") or {"items": []}
    return next((str(each["spec"].get("holderIdentity")) for each in leases["items"]), "")
