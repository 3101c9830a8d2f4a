"""One outcome, made ready to be asked what was so at any moment of it: nodes, pools, and pods that hold something."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from slackwater.ledger.types import LedgerConfig
from slackwater_monitor.sources.simulated.pods import Pods
from slackwater_monitor.sources.simulated.usage import Wants
from slackwater_monitor.sources.views import Node, Pool, Side
from slackwater_simulator.results.metrics import requests, small_jobs
from slackwater_simulator.results.outcome import Hold, Outcome, RoomSeen, StartTold, whole
from slackwater_simulator.results.status import DRIVER

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
KINDS = ("cpu", "memory")
OURS = "slackwater"
Dated = TypeVar("Dated", Hold, StartTold, RoomSeen)


class Play:
    """Arrays of one outcome that every question needs."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = whole(outcome)
        self.rows, self.jobs = self.outcome.containers, self.outcome.workload.jobs
        self.requests = requests(self.outcome)
        self.usage = Wants(self.outcome)
        self.pods = Pods(self.outcome)
        self.small = small_jobs(self.outcome)
        self._holds: dict[int, list[Hold]] = {}
        for hold in self.outcome.holds:
            self._holds.setdefault(hold.job, []).append(hold)
        self._told: dict[int, list[StartTold]] = {}
        for told in self.outcome.starts:
            self._told.setdefault(told.job, []).append(told)
        self._sizes = np.array([node.capacity for node in self.outcome.cluster.nodes])
        kept = LedgerConfig(kinds=self.outcome.cluster.kinds).kept()
        self._allowance = [margin.allowance if self.overcommits else 1.0 for margin in kept]

    @property
    def overcommits(self) -> bool:
        """Whether the policy fills nodes by measurement."""
        return self.outcome.policy == OURS

    @property
    def begin(self) -> float:
        """When the first container got its node."""
        return float(np.min(self.rows.allocated, initial=np.inf)) if len(self.rows.job) else 0.0

    @property
    def end(self) -> float:
        """When the last container gave back what it held, or nothing moved any more."""
        ended = self.rows.released[np.isfinite(self.rows.released)]
        stuck = self.outcome.stalled_at if self.outcome.deadlock else 0.0
        return max(float(np.max(ended, initial=0.0)), stuck)

    def active(self, now: float) -> Mask:
        """The containers that hold something."""
        return np.asarray((self.rows.allocated <= now) & (now < self.rows.released))

    def _per_node(self, values: Floats, active: Mask) -> Floats:
        node, count = self.rows.node[active], len(self.outcome.cluster)
        columns = [np.bincount(node, values[active, k], count) for k in range(values.shape[1])]
        return np.array(columns, dtype=np.float64).T.reshape(count, values.shape[1])

    def per_job(self, values: Floats, active: Mask) -> list[dict[str, float]]:
        """Sums of CPU and memory of each job's containers."""
        job, count = self.rows.job[active], len(self.jobs)
        sums = [np.bincount(job, values[active, k], count).tolist() for k in range(2)]
        return [{"cpu": cpu, "memory": memory} for cpu, memory in zip(*sums, strict=True)]

    def nodes(self, now: float) -> list[Node]:
        """Every node: what its pods asked for, use and are believed to use, and what that leaves."""
        active, kinds = self.active(now), self.outcome.cluster.kinds
        declared, used = self._per_node(self.requests, active), self._per_node(self.usage.at(now), active)
        believed = declared.copy()
        believed[:, : len(KINDS)] = self._believed(used, declared, now)
        pods = np.bincount(self.rows.node[active], minlength=len(self.outcome.cluster))
        made = []
        for at, node in enumerate(self.outcome.cluster.nodes):
            size = np.array(node.capacity)
            allowed = size * self._allowance
            by_requests = size - declared[at]
            room = np.maximum(allowed - believed[at], by_requests) if self.overcommits else by_requests
            columns = (size, allowed, declared[at], used[at], believed[at], np.maximum(room, 0.0))
            has, may, asked, spent, guess, left = (dict(zip(kinds, each.tolist(), strict=False)) for each in columns)
            made.append(Node(node.name, has, may, asked, spent, guess, left, pods=int(pods[at])))
        return made

    def drivers(self, now: float) -> tuple[Floats, Floats, Floats]:
        """What drivers of each node asked for, use, and are charged: CPU and memory, node by node."""
        active = self.active(now) & (self.rows.stage == DRIVER)
        asked, used = self.requests[:, : len(KINDS)], self.usage.at(now)
        declared, spent, charged = (self._per_node(each, active) for each in (asked, used, np.maximum(asked, used)))
        return declared, spent, charged

    def _believed(self, used: Floats, declared: Floats, now: float) -> Floats:
        """The ledger's estimates of CPU and memory, node by node; where there are none, what is requested."""
        columns = [
            declared[:, k]
            if (found := self.outcome.series.get(f"estimated_{kind}")) is None
            else _spread(float(np.interp(now, found.time, found.value)), used[:, k], declared[:, k], self._sizes[:, k])
            for k, kind in enumerate(KINDS)
        ]
        return np.stack(columns, axis=1)

    def sums(self, now: float) -> tuple[Floats, Floats, Floats]:
        """CPU and memory requested, used and believed to be used in all."""
        active = self.active(now)
        declared, used = self._per_node(self.requests, active), self._per_node(self.usage.at(now), active)
        believed = self._believed(used, declared, now)
        return declared[:, : len(KINDS)].sum(axis=0), used.sum(axis=0), believed.sum(axis=0)

    def sides(self, now: float) -> tuple[float, float]:
        """Containers held by small and by large jobs."""
        active = self.active(now)
        small = float((self.small[self.rows.job] & active).sum())
        return small, float(active.sum()) - small

    def pools(self, now: float) -> list[Pool]:
        """The border between small and large jobs, where the policy has one."""
        found = self.outcome.series.get("delta")
        if found is None or not len(found.time):
            return []
        at = max(int(np.searchsorted(found.time, now, side="right")) - 1, 0)
        small, large = self.sides(now)
        return [Pool("default", "default", float(found.value[at]), None, Side(small), Side(large))]

    def idle(self, now: float) -> dict[str, float]:
        """Cores by what they do or why they do nothing, as the run counted them."""
        made = {}
        for cause, found in self.outcome.idle.items():
            at = max(int(np.searchsorted(found.time, now, side="right")) - 1, 0)
            made[cause] = float(found.value[at])
        return made if now < self.end else {}

    def expected(self, job: int, now: float) -> StartTold | None:
        """What was last told of when a job would start; None where nothing was."""
        return _last(self._told.get(job, []), now)

    def room(self, now: float, *, driver: bool) -> Floats | None:
        """What the gate last saw free on each node for a driver or a task; None where it did not look."""
        seen = _last(self.outcome.rooms, now)
        return None if seen is None else seen.drivers if driver else seen.tasks

    def hold(self, job: int, now: float) -> Hold | None:
        """What the gate last said of a job; None where that was before its driver started, or it said nothing."""
        said = _last(self._holds.get(job, []), now)
        if said is None:
            return None
        begun = float(self.outcome.jobs.driver[job])
        return said if not begun <= now or said.time >= begun else None


def _last(said: Sequence[Dated], now: float) -> Dated | None:
    """The last of these that was said by a moment."""
    at = bisect_right(said, now, key=lambda each: each.time) - 1
    return said[at] if at >= 0 else None


def _spread(total: float, used: Floats, declared: Floats, size: Floats) -> Floats:
    """An estimate of all nodes, laid on them: beyond use first up to what is requested, then up to what a node has.

    Never more than it has: the run believes what tasks want, but on a cluster no more is measured than they get.
    """
    spent = float(used.sum())
    if total < spent:
        return np.asarray(used * total / max(spent, 1e-9))
    filled = used.copy()
    for level in (np.minimum(declared, size), size):
        gap = np.maximum(level - filled, 0.0)
        filled += gap * min((total - filled.sum()) / max(float(gap.sum()), 1e-9), 1.0)
    return filled
