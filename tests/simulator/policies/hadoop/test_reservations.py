"""Reservations of nodes in the YARN world: who needs most of a node gets one, and takes none that is too small."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, Node, uniform
from slackwater_simulator.workload.workload import GIBI, Workload
from support.builders.jobs import job, maps, stage, workload


def fragmented() -> Workload:
    """Small tasks that keep about five of eight gigabytes of each node busy, and a container that needs seven."""
    stream = [maps(f"s{n}", 4, 20.0, submit=4.0 * n, driver=None, user=f"u{n}") for n in range(40)]
    return workload(maps("large", 1, 5.0, gigabytes=7.0, submit=30.0, driver=None, user="big"), *stream)


@pytest.mark.parametrize(
    ("policy", "options", "low", "high"),
    [
        ("capacity", {}, 30.0, 60.0),
        ("fair", {}, 30.0, 60.0),
        ("capacity", {"reserve": False}, 100.0, 300.0),
        ("fair", {"reservation_multiple": 100.0}, 100.0, 300.0),
    ],
    ids=["capacity", "fair", "capacity without", "fair without"],
)
def test_a_large_request_reserves_a_node(policy: str, options: dict[str, Any], low: float, high: float) -> None:
    """Nothing else is placed on a reserved node, so it drains; without reservations the request starves."""
    outcome = run(fragmented(), uniform(4, 16, 8 * GIBI), policy, world="yarn", **options)
    assert low < outcome.jobs.start[0] < high


@pytest.mark.parametrize("large", [(1.0, 2 * GIBI, 2.0), (1.0, 12 * GIBI, 0.0)], ids=["gpu", "memory"])
@pytest.mark.parametrize(
    "policy", ["capacity", "capacity?calculator=dominant", "fair?reservable_nodes=1&reservation_multiple=1"]
)
def test_no_task_reserves_a_node_that_is_too_small_for_it(policy: str, large: tuple[float, ...]) -> None:
    """Tasks for which one node alone is large enough wait for that one, and the others serve who fits them."""
    kinds = ("cpu", "memory", "gpu")
    small = tuple(Node(f"small{number}", (8.0, 8 * GIBI, 0.0)) for number in range(2))
    cluster = Cluster("mixed", (*small, Node("large", (8.0, 16 * GIBI, 3.0))), kinds)
    waits = job("waits", stage("map", 4, 100.0, large), driver=None)
    plain = job("plain", stage("map", 4, 10.0, (1.0, GIBI, 0.0)), submit=20.0, driver=None)
    outcome = run(Workload("mixed", (waits, plain), kinds), cluster, policy, world="yarn")
    rows = outcome.containers
    assert set(rows.node[rows.job == 0].tolist()) == {2}
    assert outcome.jobs.end[1] < 60.0
