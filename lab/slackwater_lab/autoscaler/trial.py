"""The same jobs on a pool of machines that grows, under the stock scheduler and under Slackwater, with Karpenter.

Tasks use half of what they request. Told are machine-seconds (of all nodes, from joining to end) and completion times
of jobs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.table import Table

from slackwater_lab.autoscaler import karpenter
from slackwater_lab.autoscaler.karpenter import KARPENTER, MachinePool
from slackwater_lab.league.play import played
from slackwater_lab.league.workloads import CORES, GIB, Workload
from slackwater_lab.live.workload import Part, Play, Size
from slackwater_lab.peers.peer import Peer
from slackwater_lab.peers.slackwater import Slackwater
from slackwater_lab.peers.stock import Stock

if TYPE_CHECKING:
    from slackwater_lab.lab import Lab

BASE = 1  # nodes that are always there
MACHINES = 12  # that may be added at most
TRIAL_POOL = MachinePool(cores=int(CORES), most_cores=int(MACHINES * CORES))


def jobs(seed: int, count: int = 20, within: float = 120.0) -> Workload:
    """Tasks of one core that use half of it, in jobs that come over two minutes."""
    rnd = random.Random(seed)  # noqa: S311 - a workload, not a secret
    size = Size(1.0, 2 * GIB, 0.5, GIB)
    submits = sorted(round(rnd.uniform(0, within), 2) for _ in range(count))
    plays = [
        Play(f"etl-{n:03d}", at, (Part("map", size, tuple(round(rnd.uniform(20, 60), 2) for _ in range(12))),))
        for n, at in enumerate(submits)
    ]
    return Workload("growth", (jobs.__doc__ or "").splitlines()[0], tuple(plays), 900.0, BASE)


class StockWithKarpenter(Stock):
    """The stock scheduler; every pod is there for Karpenter to see."""

    name = "stock"
    sources = (KARPENTER,)

    def start(self, lab: Lab) -> None:
        """Karpenter beside it."""
        karpenter.start(lab, TRIAL_POOL)


class SlackwaterWithKarpenter(Slackwater):
    """Slackwater with a queue that may grow to the base and all machines."""

    sources = (KARPENTER,)

    def __init__(self, ceiling: int, pods: int = 100) -> None:
        most = int((BASE + MACHINES) * CORES)
        self.name = f"slackwater, ceiling {ceiling} %"
        self.values: tuple[str, ...] = (
            *Slackwater.values,
            f"policy.spec.ceiling.cpuPercent={ceiling}",
            f"queue.spec.capacity.maximum.cpu={most}",
            f"queue.spec.growthPods={pods}",
        )

    def start(self, lab: Lab) -> None:
        """Karpenter beside it."""
        karpenter.start(lab, TRIAL_POOL)


def players() -> tuple[Peer, ...]:
    """Who plays, in order."""
    return StockWithKarpenter(), SlackwaterWithKarpenter(150), SlackwaterWithKarpenter(200)


@dataclass(frozen=True, slots=True)
class Result:
    """One play."""

    player: str
    round: int
    finished: int
    machine_seconds: float
    most_nodes: int
    makespan: float | None
    mean: float | None
    p95: float | None


def play(peer: Peer, number: int, logs: Path | None = None) -> Result:
    """One play in a fresh lab; rounds differ by their seeds."""
    found: dict[str, Any] = played(peer, jobs(number), "autoscaler", lambda _: None, logs)
    return Result(
        peer.name,
        number,
        found["finished"],
        found["node_seconds"],
        found["most_nodes"],
        found["makespan"],
        found["completion_mean"],
        found["completion_p95"],
    )


def table(results: Sequence[Result]) -> Table:
    """Means over rounds, and shares of the stock scheduler's."""
    found = Table("player", "rounds", "jobs ended", "machine-seconds", "of stock", "p95 completion, s", "of stock")
    stock = [each for each in results if each.player == StockWithKarpenter.name]
    for name in dict.fromkeys(each.player for each in results):
        mine = [each for each in results if each.player == name]
        ended = "/".join(str(each.finished) for each in mine)
        cells = [name, str(len(mine)), ended]
        for value in (_machines, _p95):
            mean = fmean(map(value, mine))
            cells += [f"{mean:.0f}", f"{mean / fmean(map(value, stock)):.0%}" if stock else ""]
        found.add_row(*cells)
    return found


def _machines(each: Result) -> float:
    return each.machine_seconds


def _p95(each: Result) -> float:
    return each.p95 or 0.0
