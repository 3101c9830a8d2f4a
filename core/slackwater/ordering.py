"""Which held pods of started apps go next (papers 001 and 003): the line in front of the gate.

DRESS chooses jobs, HaSTE orders the pods of started jobs (conflict 001 × 004). Priority comes first, then drivers, then
(in a fair queue) the namespace that has least, then HaSTE's preference; equal in all of that, the earlier app.

Fitness is taken against the queue's nodes as one large node, because which node it will be is decided at placement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import gt, le
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.alignment import alignment
from slackwater.fitness import needed, weights
from slackwater.numbers import TOLERANCE
from slackwater.pools import Category
from slackwater.preference import FEW, combined, points_of_few
from slackwater.snapshot import App, Group, Order, Queue, Role
from slackwater.urgency import Stage, Urgency, urgency

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Candidate:
    """A group of equal pods that may go now, if there is room."""

    app: App
    group: Group
    category: Category = Category.LARGE
    slots: float = 0.0  # what one of its pods takes from the pool; 0 where no pool guards the queue


class Pick(NamedTuple):
    """One pod whose turn it is, with what made it so."""

    candidate: Candidate
    uid: str
    urgency: float
    alignment: float


def eligible(app: App, group: Group) -> bool:
    """Strict DAGs go by levels (003): a stage may start once every stage before it is placed.

    In any other app a stage that waits on another (a reduce) may start early (001), but not while pods of that one are
    still held: it would sit on the room they need, and wait for them (decision 0004).
    """
    if app.strict:
        return all(not (g.held or g.released or g.blocked) for g in app.groups if g.level < group.level)
    return not group.waiting or all(g.waiting or g.role is Role.DRIVER or not g.held for g in app.groups)


class Line:
    """The candidates as arrays, a row each, in order of submission; `pick` takes one pod after the other."""

    def __init__(
        self,
        queue: Queue,
        candidates: Sequence[Candidate],
        *,
        headroom: Mapping[Category, float] | None = None,
        shares: Mapping[str, float] | None = None,
        alpha: float = 0.0,
        preference: bool = True,
    ) -> None:
        self.rows = sorted(candidates, key=lambda c: (c.app.submitted, c.app.id, c.group.key))
        self._kinds = queue.free.kinds(queue.total, queue.capacity, *(c.group.request for c in self.rows))
        total = (queue.total or queue.capacity).vector(self._kinds)
        self._weight = weights(np.where(total > TOLERANCE, total, 0.0))  # next to nothing is nothing
        self.free = queue.free.vector(self._kinds)
        self._request = self._matrix()
        self._needed = needed(self._request)
        self._largest: list[float] = self._needed.max(axis=0, initial=-np.inf).tolist()
        self._only: int | None = None  # the last row that is open, once no other is
        self._left = np.array([len(c.group.held) for c in self.rows], dtype=np.int64)
        self._taken = [0] * len(self.rows)
        self._priority = np.array([c.app.priority for c in self.rows], dtype=np.int64)
        self._driver = np.array([c.group.role is Role.DRIVER for c in self.rows], dtype=np.bool_)
        self._mixed = len(set(self._priority.tolist())) > 1
        self._drivers = bool(self._driver.any())
        self._align = np.array([_alignment(c.app) for c in self.rows])
        self._alpha, self._preference = alpha, preference
        self._unit = dict(zip(self._kinds, np.sqrt(self._weight).tolist(), strict=True))
        self._members = self._by_app()
        self._hurried = [any(group.waiting for group in c.app.groups) for c in self.rows]
        self._sizes = len({c.group.request for c in self.rows})
        self._alike = self._all_alike()
        self._stages: dict[str, dict[str, Stage]] = {}  # by app and group: how far it is, with what was picked
        self._urgency = np.zeros(len(self.rows))
        for members in self._members.values():
            if self._hurried[members[0]]:
                self._hurry(members)
        self._open_pools(headroom)
        self._open_shares(queue, shares or {})

    def pick(self) -> Pick | None:
        """The next pod, or None when nothing that is left fits."""
        row = self._next()
        return None if row is None else self._picked(row)

    def gang(self, app: str) -> list[Pick]:
        """All held pods of an app at once, or none of them."""
        members = self._members.get(app, [])
        total = sum((self._left[row] * self._request[row] for row in members), start=np.zeros(len(self._kinds)))
        slots = sum(float(self._left[row] * self._slots[row]) for row in members)
        if not members or (needed(total) > self.free).any() or slots > self.headroom(members[0]) + TOLERANCE:
            return []
        return [self._picked(row) for row in members for _ in range(int(self._left[row]))]

    def close(self, app: str) -> None:
        """Nothing of this app goes in this round."""
        for row in self._members.get(app, []):
            self._left[row] = 0

    def fits(self, row: int) -> bool:
        """Whether one more pod of this row would fit into what is free."""
        return bool((self._needed[row] <= self.free).all())

    def lacking(self, row: int) -> tuple[str, float, float]:
        """The kind of which there is too little for this row, what is free of it and what is asked."""
        short = int(np.argmax(self._needed[row] - self.free))
        return self._kinds[short], float(self.free[short]), float(self._request[row, short])

    def lacking_together(self, app: str) -> tuple[str, float, float] | None:
        """The kind of which there is too little for all held pods of an app at once; None where they would fit."""
        rows = self._members.get(app, [])
        asked = sum((len(self.rows[row].group.held) * self._request[row] for row in rows), np.zeros(len(self._kinds)))
        short = int(np.argmax(needed(asked) - self.free))
        if needed(asked)[short] <= self.free[short]:
            return None
        return self._kinds[short], float(self.free[short]), float(asked[short])

    def taken(self, row: int) -> int:
        """How many pods of this row were picked."""
        return self._taken[row]

    def headroom(self, row: int) -> float:
        """Slots left in the pool of this row; infinite without a pool."""
        return float(self._headroom[self._pool[row]])

    def _picked(self, row: int) -> Pick:
        candidate = self.rows[row]
        uid = candidate.group.held[self._taken[row]]
        pick = Pick(candidate, uid, float(self._urgency[row]), float(self._align[row]))
        self._take(row)
        return pick

    def _matrix(self) -> NDArray[np.float64]:
        rows = [[c.group.request[kind] for kind in self._kinds] for c in self.rows]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self._kinds))

    def _all_alike(self) -> bool:
        """Whether preference cannot tell the rows apart, whatever is picked: the earliest goes first then."""
        alike = self._sizes <= 1 and not any(self._hurried)
        return alike and (self._alpha <= 0 or len(set(self._align.tolist())) <= 1)

    def _by_app(self) -> dict[str, list[int]]:
        members: dict[str, list[int]] = {}
        for row, candidate in enumerate(self.rows):
            members.setdefault(candidate.app.id, []).append(row)
        return members

    def _open_pools(self, headroom: Mapping[Category, float] | None) -> None:
        self._slots = np.array([c.slots for c in self.rows])
        self._largest_slots = float(self._slots.max(initial=0.0))
        self._pool = np.array([0 if c.category is Category.SMALL else 1 for c in self.rows], dtype=np.int64)
        given = headroom or dict.fromkeys(Category, np.inf)
        self._headroom = [float(given[Category.SMALL]), float(given[Category.LARGE])]

    def _open_shares(self, queue: Queue, shares: Mapping[str, float]) -> None:
        names = sorted({c.app.namespace for c in self.rows})
        number = {name: index for index, name in enumerate(names)}
        self._fair = queue.order is Order.FAIR
        self._namespace = np.array([number[c.app.namespace] for c in self.rows], dtype=np.int64)
        self._shares = np.array([shares.get(name, 0.0) for name in names])
        heaviness = [c.group.request.share(queue.capacity) for c in self.rows] if self._fair else []
        weight = [max(queue.weights.get(c.app.namespace, 1.0), TOLERANCE) for c in self.rows] if self._fair else []
        self._increment = [h / w for h, w in zip(heaviness, weight, strict=True)]

    def _next(self) -> int | None:
        if self._only is not None:  # what is open becomes less with every pick, never more
            return self._only if self._still(self._only) else None
        rows = self._open()
        if rows.size == 0:
            return None
        if rows.size == 1:
            self._only = int(rows[0])
            return self._only
        if self._mixed:
            rows = rows[self._priority[rows] == self._priority[rows].max()]
        drivers = rows[self._driver[rows]] if self._drivers else rows[:0]
        if drivers.size:
            rows = drivers
        if self._fair:
            shares = self._shares[self._namespace[rows]]
            rows = rows[shares <= shares.min() + TOLERANCE]
        return int(rows[0] if drivers.size else rows[self._preferred(rows)])

    def _open(self) -> NDArray[np.int64]:
        """Rows that have pods left, fit and have headroom. A test that the largest row passes is passed by all."""
        open_rows = self._left > 0
        if self._largest_slots > min(self._headroom) + TOLERANCE:
            open_rows &= self._slots <= np.array(self._headroom)[self._pool] + TOLERANCE
        if any(map(gt, self._largest, self.free.tolist())):
            open_rows &= (self._needed <= self.free).all(axis=1)
        return open_rows.nonzero()[0]

    def _still(self, row: int) -> bool:
        """The same tests for one row."""
        if not self._left[row] or self._slots[row] > self._headroom[self._pool[row]] + TOLERANCE:
            return False
        return all(map(le, self._needed[row].tolist(), self.free.tolist()))

    def _preferred(self, rows: NDArray[np.int64]) -> int:
        """The row of those given that goes next; without preference the first, as rows stand in order of arrival."""
        if self._alike or rows.size == 1 or not self._preference:
            return 0
        if rows.size > FEW:
            points = combined(self._fitness(rows), self._urgency[rows], self._align[rows], self._alpha)
            return int(np.argmax(points >= points.max() - TOLERANCE))
        fit, align = self._fitness(rows).tolist(), self._align[rows].tolist() if self._alpha > 0 else ()
        few = points_of_few(fit, self._urgency[rows].tolist(), align, self._alpha)
        best = max(few) - TOLERANCE
        return next(at for at, point in enumerate(few) if point >= best)

    def _fitness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """F of some rows; where all ask for the same it tells nobody apart."""
        if self._sizes <= 1:
            return np.zeros(rows.size)
        fit: NDArray[np.float64] = self._request[rows] @ (self._weight * np.maximum(self.free, 0.0))
        return fit

    def _take(self, row: int) -> None:
        self._taken[row] += 1
        self._left[row] -= 1
        self.free = self.free - self._request[row]
        self._headroom[self._pool[row]] -= float(self._slots[row])
        if self._fair:
            self._shares[self._namespace[row]] += self._increment[row]
        if self._hurried[row]:
            app, group = self.rows[row].app, self.rows[row].group
            if group.role is not Role.DRIVER:
                stages = self._stages[app.id]
                stages[group.key] = _stage(group, self._taken[row], stages[group.key].size)
            self._hurry(self._members[app.id])

    def _hurry(self, members: Sequence[int]) -> None:
        """Urgency of one app's rows, counting what was picked in this round as assigned and occupying."""
        app = self.rows[members[0]].app
        if app.id not in self._stages:
            tasks = [group for group in app.groups if group.role is not Role.DRIVER]
            self._stages[app.id] = {group.key: _stage(group, 0, self._size(group)) for group in tasks}
        found = app_urgency(app, self._stages[app.id])
        for row in members:
            group = self.rows[row].group
            self._urgency[row] = found.waiting if group.waiting else found.leading

    def _size(self, group: Group) -> float:
        """R of the paper: one pod's share of the nodes, summed over kinds."""
        return float(sum(value * self._unit.get(kind, 0.0) for kind, value in group.request.items()))


def app_urgency(app: App, stages: Mapping[str, Stage]) -> Urgency:
    """HaSTE's urgency of one app: its earliest unfinished stage leads, the stages that wait on it follow."""
    tasks = [group for group in app.groups if group.role is not Role.DRIVER]
    leading = [stages[group.key] for group in tasks if not group.waiting]
    return urgency(_merged(leading), [stages[group.key] for group in tasks if group.waiting])


def _stage(group: Group, picked: int, size: float) -> Stage:
    return Stage(
        total=group.total,
        assigned=group.charged + group.finished + picked,
        occupying=group.charged + picked,
        size=size,
        finished=group.finished,
    )


def _merged(stages: Sequence[Stage]) -> Stage:
    """Several groups of one leading stage as one, with the mean size weighted by what occupies."""
    if len(stages) == 1:
        return stages[0]
    occupying = sum(stage.occupying for stage in stages)
    held = sum(stage.occupying * stage.size for stage in stages)
    return Stage(
        total=sum(stage.total for stage in stages),
        assigned=sum(stage.assigned for stage in stages),
        occupying=occupying,
        size=held / occupying if occupying else 0.0,
        finished=sum(stage.finished for stage in stages),
    )


def _alignment(app: App) -> float:
    return alignment(iterative=app.stages > 0, stage=app.stage, stages=app.stages or None)
