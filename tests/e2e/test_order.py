"""Scenario 6: which held pod goes next, and where to."""

from typing import Any

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import QUEUES, Ground, bound, gated, phase, until

pytestmark = pytest.mark.lab
MERGE = "application/merge-patch+json"


def test_released_pods_follow_the_preference(arena: Field) -> None:
    """Four apps wait behind a closed queue, the least first, and only one fits at a time: the best fit goes first."""
    sizes = {"least": 4, "less": 4.5, "more": 5, "most": 5.5}
    with arena.ground("haste", nodes=1) as ground:
        ground.create([ground.pod("busy", cpu="100m")])  # not a cold start: there a knapsack decides, not the order
        ground.until_bound(1)
        queue = f"{QUEUES}/{ground.name}"
        arena.api.patch(queue, {"spec": {"state": "paused"}}, MERGE)
        for name, cpu in sizes.items():
            ground.create([ground.pod(name, cpu=f"{cpu}", memory=f"{cpu}Gi", use=(f"{cpu}", "1Gi"), lasts=1)])
        until("all are told that the queue is closed", lambda: _reasons(ground) == ["paused"] * 4, 40)
        arena.api.patch(queue, {"spec": {"state": "open"}}, MERGE)
        ground.until_done(4, 60)
        assert _placed(arena, ground)[1:] == ["most", "more", "less", "least"]


def test_a_strict_graph_goes_by_levels(arena: Field) -> None:
    """The second stage is not let go while a pod of the first is still held (paper 003)."""
    strict = {"slackwater.io/dag": "strict"}
    full: dict[str, Any] = {"use": ("1", "1Gi"), "lasts": 2, "app": "graph"}
    with arena.ground("levels", nodes=1) as ground:
        first: dict[str, Any] = {"labels": {"slackwater.io/stage": "map"}, "notes": strict}
        second: dict[str, Any] = {
            "labels": {"slackwater.io/stage": "reduce"},
            "notes": {**strict, "slackwater.io/parents": "map"},
        }
        ground.create(ground.pod(f"map-{i:02}", **first, **full) for i in range(16))
        ground.create(ground.pod(f"reduce-{i}", **second, **full) for i in range(3))
        held: list[bool] = []

        def over() -> bool:
            pods = ground.pods(app="graph")
            parents = [pod for pod in pods if pod["metadata"]["name"].startswith("map")]
            children = [pod for pod in pods if pod not in parents]
            if any(map(gated, parents)):
                assert all(map(gated, children)), "a child was let go before its parents were placed"
                held.append(True)
            return all(phase(pod) == "Succeeded" for pod in pods)

        until("the whole graph is over", over, 75)
        assert held


def test_children_land_where_their_data_is(arena: Field) -> None:
    """Links of 1 MiB/s and 8 GiB left on one node: its children go there although the other nodes are empty."""
    arena.policy("near-data", {"mode": "enforce", "score": {"fitnessWeight": 0, "networkWeight": 1}})
    with arena.ground("network", nodes=3, policy="near-data") as ground:
        for name in ground.nodes:
            arena.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"slackwater.io/bandwidth": "1Mi"}}})
        there = ground.nodes[1]
        chosen = {"slackwater-e2e": ground.name, "kubernetes.io/hostname": there}
        parent = ground.pod(
            "parent",
            app="etl",
            lasts=1,
            labels={"slackwater.io/stage": "map"},
            notes={"slackwater.io/output": "8Gi"},
            nodeSelector=chosen,
        )
        ground.create([parent])
        ground.until_done(1, 30)
        ground.create(
            ground.pod(
                f"child-{i}",
                app="etl",
                labels={"slackwater.io/stage": "reduce"},
                notes={"slackwater.io/parents": "map"},
            )
            for i in range(4)
        )
        ground.until_bound(5, 40)
        children = [pod for pod in bound(ground.pods()) if "child" in pod["metadata"]["name"]]
        assert {pod["spec"]["nodeName"] for pod in children} == {there}


def _reasons(ground: Ground) -> list[str | None]:
    return [pod["metadata"]["annotations"].get("slackwater.io/reason") for pod in ground.pods() if gated(pod)]


def _placed(arena: Field, ground: Ground) -> list[str]:
    """The pods of a ground in the order in which the scheduler brought them to the extender."""
    found = arena.ask(f"/v1/decisions?namespace={ground.name}&limit=100")["decisions"]
    placed = [each for each in reversed(found) if each["result"] == "placed"]
    return list(dict.fromkeys(each["pod"] for each in placed))
