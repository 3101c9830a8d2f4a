"""Fair's queues: what they use, want and are due. Demand and shares are as of the last update, as in Hadoop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from slackwater.errors import UnknownName
from slackwater_simulator.policies.hadoop.shares import fair_shares

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App

MEMORY = 1
ROOT = "root"
# Hadoop counts memory in megabytes and rounds the drivers' share up to whole ones.
MEGABYTE = 1024.0**2


@dataclass(frozen=True, slots=True)
class FairSettings:
    """One queue as an administrator writes it; minimum and maximum in the cluster's order of kinds."""

    weight: float = 1.0
    minimum: tuple[float, ...] = ()
    maximum: tuple[float, ...] = ()
    max_am_share: float = 0.5  # share of the queue's fair share that drivers may hold; −1: no limit


class FairApp:
    """Fair's notes on an application."""

    __slots__ = ("demand", "driving", "weight")

    def __init__(self) -> None:
        self.demand = 0.0  # memory held and wanted, as of the last update
        self.weight = 1.0
        self.driving = False  # its driver has been placed


class FairQueue:
    """A queue of queues, or of applications."""

    def __init__(self, path: str, settings: FairSettings, kinds: int) -> None:
        self.path = path
        self.settings = settings
        self.children: list[FairQueue] = []
        self.parent: FairQueue | None = None
        self.apps: dict[App, None] = {}
        self.least = list(settings.minimum) + [0.0] * (kinds - len(settings.minimum))
        self.most = list(settings.maximum) + [math.inf] * (kinds - len(settings.maximum))
        self.used = [0.0] * kinds
        self.demand = [0.0] * kinds
        self.share = [0.0] * kinds
        self.drivers = [0.0] * kinds

    @property
    def active(self) -> bool:
        """Whether any application is in or below the queue."""
        return bool(self.apps) or any(child.active for child in self.children)

    def charge(self, amounts: Sequence[float], sign: float) -> None:
        """Add to (or take from) what this queue and its parents hold."""
        queue: FairQueue | None = self
        while queue is not None:
            for kind, amount in enumerate(amounts):
                queue.used[kind] += sign * amount
            queue = queue.parent

    def over(self) -> bool:
        """Whether the queue already holds more than its maximum."""
        return any(used > most + 1e-9 for used, most in zip(self.used, self.most, strict=True))

    def admits(self, amounts: Sequence[float]) -> bool:
        """Whether one more container stays within the maxima up to the root."""
        queue: FairQueue | None = self
        while queue is not None:
            if any(u + a > m + 1e-9 for u, a, m in zip(queue.used, amounts, queue.most, strict=True)):
                return False
            queue = queue.parent
        return True

    def drivers_limit(self, available: Sequence[float]) -> list[float]:
        """max_am_share × fair share, memory rounded up to a megabyte and cores to one.

        A kind the policy gives no share of (cores under the memory-only policy) counts what is free in the cluster.
        """
        base = [share if share > 0 else min(available[kind], self.most[kind]) for kind, share in enumerate(self.share)]
        units = [1.0, MEGABYTE] + [1.0] * (len(base) - 2)
        return [
            math.ceil(amount * self.settings.max_am_share / unit - 1e-9) * unit
            for amount, unit in zip(base, units, strict=True)
        ]

    def update_demand(self, sized: bool) -> None:
        """Look again at what everybody wants."""
        kinds = len(self.demand)
        self.demand = [0.0] * kinds
        for child in self.children:
            child.update_demand(sized)
            self.demand = [a + b for a, b in zip(self.demand, child.demand, strict=True)]
        for app in self.apps:
            wanted = wish(app, kinds)
            notes = app.extras
            assert isinstance(notes, FairApp)  # noqa: S101 - set at submission
            notes.demand = wanted[MEMORY]
            if sized:  # size-based weight: log2(1 + megabytes wanted)
                notes.weight = math.log2(1.0 + wanted[MEMORY] / MEGABYTE)
            self.demand = [a + b for a, b in zip(self.demand, wanted, strict=True)]
        self.demand = [min(a, b) for a, b in zip(self.demand, self.most, strict=True)]

    def update_shares(self, kinds: Sequence[int]) -> None:
        """Divide this queue's share among its active children, for the kinds the policy looks at."""
        active = [child for child in self.children if child.active]
        for child in self.children:
            child.share = [0.0] * len(child.share)
        for kind in kinds:
            shares = fair_shares(
                [child.settings.weight for child in active],
                [child.least[kind] for child in active],
                [child.most[kind] for child in active],
                self.share[kind],
            )
            for child, share in zip(active, shares, strict=True):
                child.share[kind] = share
        for child in self.children:
            child.update_shares(kinds)


def wish(app: App, kinds: int) -> list[float]:
    """What an application holds plus what it waits for."""
    wanted = list(app.used)
    for request in (app.master, *app.requests):
        if request is not None and request.pending:
            for kind in range(kinds):
                wanted[kind] += request.shape[kind] * request.pending
    return wanted


def tree(
    queues: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Any], kinds: int
) -> tuple[FairQueue, dict[str, FairQueue]]:
    """The root and its queues by dotted path."""
    root = FairQueue(ROOT, FairSettings(), kinds)
    made = {ROOT: root}
    for path in sorted(queues, key=lambda path: path.count(".")):
        parent = made.get(path.rpartition(".")[0] or ROOT)
        if parent is None:
            raise UnknownName(f"queues: parent of {path}", path.rpartition(".")[0], made)
        queue = FairQueue(path, _settings(path, {**defaults, **queues[path]}), kinds)
        queue.parent = parent
        parent.children.append(queue)
        made[path] = queue
    return root, made


def _settings(path: str, values: Mapping[str, Any]) -> FairSettings:
    known = {field.name for field in fields(FairSettings)}
    for name in values:
        if name not in known:
            raise UnknownName(f"queues: {path}", name, known)
    return FairSettings(**values)
