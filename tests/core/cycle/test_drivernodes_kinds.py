"""Where each app has tasks of a size of its own: a driver that goes to a node takes places there from all of them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.podline.driverbars import Bars
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, queue, snapshot

ONE = cpu(1.0)


def begun(name: str, task: float) -> App:
    """An app whose driver runs and takes next to nothing, and whose task waits."""
    groups = (
        group(name, Role.DRIVER, 0.1, running=1, seats=("node-0",)),
        group(name, Role.TASK, task, held=1),
    )
    return App(name, "team", 0.0, groups, started=True, has_driver=True)


def empty_nodes(apps: list[App], cores: list[float]) -> Snapshot:
    """These apps on empty nodes of so many cores."""
    rows = [[each] for each in cores]
    table = node_table(rows, total=rows, kinds=("cpu",))
    return snapshot(*apps, on=queue(sum(cores), free=sum(cores)), nodes=table)


def told(bars: Bars) -> tuple[object, ...]:
    """Where a driver may not go, and for whom, as plain values."""
    barred, costly = (nodes if nodes is None else nodes.tolist() for nodes in (bars.barred, bars.costly))
    return barred, costly, [(app, nodes.tolist()) for app, nodes in bars.needs]


@pytest.mark.parametrize("seed", range(5))
def test_drivers_that_went_count_as_if_they_had_been_there(seed: int) -> None:
    """What was counted before they went is counted anew where they went, to the same result."""
    rng = np.random.default_rng(seed)
    sizes = [float(size) for size in rng.choice([1.0, 1.5, 2.0, 3.0, 4.0, 7.0], 6)]
    apps = [driver_app(f"app-{n}", driver=1, task=size, together=2) for n, size in enumerate(sizes)]
    apps += [begun(f"begun-{n}", size / 2) for n, size in enumerate(sizes)]
    on = empty_nodes(apps, [float(each) for each in rng.choice([4.0, 8.0, 16.0], 4)])
    kept, gone = DriverNodes(on), list[int]()
    for row in rng.integers(0, 4, 6).tolist():
        fresh = DriverNodes(on)
        for before in gone:
            fresh.take(before, ONE)
        for app in apps:
            assert told(kept.bars(app, ONE)) == told(fresh.bars(app, ONE))
            assert kept.serves(app) == fresh.serves(app)
        kept.take(row, ONE)
        gone.append(row)


def test_places_are_counted_where_a_driver_went() -> None:
    """And not on all nodes, for each size, after each driver: a round of many drivers would last for half a minute."""
    on = empty_nodes([begun(f"begun-{n}", 1 + n / 100) for n in range(100)], [16.0] * 2000)
    asking = driver_app("asking", driver=1, task=1)

    def seconds(*, anew: bool) -> float:
        nodes = DriverNodes(on)
        nodes.bars(asking, ONE)
        begin = time.process_time()
        for row in range(20):
            nodes = DriverNodes(on) if anew else nodes
            nodes.take(row, ONE)
            nodes.bars(asking, ONE)
        return time.process_time() - begin

    assert seconds(anew=False) < seconds(anew=True) / 4
