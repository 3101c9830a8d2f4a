"""Karpenter's pool as it is written down, and what a trial makes of its plays."""

from __future__ import annotations

import pytest
from rich.console import Console

from slackwater_lab.autoscaler.karpenter import KARPENTER, MachinePool, instance_type, node_pool
from slackwater_lab.autoscaler.trial import Result, jobs, players, table
from slackwater_lab.league.play import node_seconds


def test_a_machine_has_its_cores_for_pods() -> None:
    """What Karpenter keeps of each machine comes on top, and its limit counts that too."""
    pool = MachinePool(cores=4, memory_gib=16, most_cores=8)
    assert instance_type(pool)["resources"]["cpu"] == "4100m"
    assert node_pool(pool)["spec"]["limits"] == {"cpu": "8200m"}


def test_every_player_has_karpenter_and_the_same_jobs() -> None:
    """Rounds differ by their seed; players do not."""
    assert all(KARPENTER in peer.sources for peer in players())
    assert jobs(1) == jobs(1)
    assert jobs(1).plays != jobs(2).plays
    assert {part.size.used_cpu / part.size.cpu for play in jobs(1).plays for part in play.parts} == {0.5}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([], 0.0, id="never-counted"),
        pytest.param([(0.0, 2)], 20.0, id="once"),
        pytest.param([(0.0, 1), (4.0, 3), (9.0, 1)], 20.0, id="came-and-went"),
    ],
)
def test_node_seconds_hold_each_count_until_the_next(counts: list[tuple[float, int]], expected: float) -> None:
    """The last one until the end."""
    assert node_seconds(counts, 10.0) == expected


def test_the_table_tells_shares_of_the_stock_scheduler() -> None:
    """Means over rounds."""
    results = [
        Result("stock", 1, 30, 1000.0, 5, 200.0, 50.0, 100.0),
        Result("stock", 2, 30, 3000.0, 5, 200.0, 50.0, 100.0),
        Result("ours", 1, 30, 1500.0, 4, 200.0, 50.0, 90.0),
    ]
    console = Console(width=200, record=True)
    console.print(table(results))
    told = console.export_text()
    assert "2000" in told
    assert "75%" in told
    assert "90%" in told
