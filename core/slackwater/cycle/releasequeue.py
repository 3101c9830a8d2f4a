"""Which held pods of started apps go next (papers 001 and 003): the line in front of the gate.

DRESS chooses jobs, HaSTE orders the pods of started jobs (conflict 001 × 004). Priority comes first, then the first
task of an app whose driver runs and has none, then drivers, then (in a fair queue) the namespace that has least, then
HaSTE's preference; equal in all of that, the app whose tasks held least when the round began, then the earlier one. A
driver without a task holds its room for nothing: were new drivers before it, they would take the room that it waits
for, one after the other. Tasks of one app are alike in what they use: app after app would fill the nodes with memory
first and with CPU later, and leave the long last tasks of whoever came last to the end (decision 0030).

Fitness is taken against the queue's nodes as one large node, because which node it will be is decided at placement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appstarts.ownersbound import OwnersBound
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.candidates import (
    Pick,
    ReleaseCandidate,
    RequestShape,
    is_first_task,
    lined_up,
    shape_of,
    task_shares,
)
from slackwater.cycle.podline.driverbars import ANYWHERE, Bars
from slackwater.cycle.podline.hurry import AppUrgency, pod_size
from slackwater.cycle.podline.openrequests import OpenRequests
from slackwater.cycle.podline.sumroom import SumRoom
from slackwater.cycle.snapshot import App, Order, Queue
from slackwater.ordering.iterations import alignment
from slackwater.ordering.preference import FEW, combined, points_of_few, winner
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources, times
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Whose turn it is among pods of one priority; the larger goes first, and only the last are told apart by preference.
LAST, DRIVER, FIRST_TASK = range(3)
UNBOUNDED = dict.fromkeys(Category, math.inf)  # slots of pools whose border closes nothing


class ReleaseQueue:
    """The candidates, a row each, whoever holds least and came first before the others; `pick` takes pod after pod.

    A round only takes: what no longer fits never fits again, so requests and rows that have closed stay closed until
    the pools lend what is left.
    """

    def __init__(
        self,
        queue: Queue,
        candidates: Sequence[ReleaseCandidate],
        *,
        rooms: NodeRooms,
        bound: OwnersBound,
        driver_nodes: DriverNodes | None = None,
        free: Resources | None = None,
        spent: dict[Category, float] | None = None,
        headroom: Mapping[Category, float] | None = None,
        shares: Mapping[str, float] | None = None,
        alpha: float = 0.0,
        preference: bool = True,
        overdue: float = -math.inf,  # who got nothing since then waits for nobody who came later
    ) -> None:
        self._rooms, self._bound, self._driver_nodes = rooms, bound, driver_nodes
        self._spent = dict.fromkeys(Category, 0.0) if spent is None else spent  # slots picked, of each pool
        self.rows = lined_up(candidates, task_shares(candidates, queue) if preference else {}, overdue)
        self._alpha, self._preference = alpha, preference
        self._headroom = dict(headroom or UNBOUNDED)
        self._left = [c.pods for c in self.rows]
        self._taken = [0] * len(self.rows)
        self._open = self._pickable()
        self._members = self._by_app()
        self._measure(queue, queue.free if free is None else free)
        led = any(c.group.driver for c in self.rows)  # first tasks go before drivers, not before others
        self._bare = {c.app.id for c in self.rows if is_first_task(c)} if led else set[str]()
        self._rank = [self._ranks(c) for c in self.rows]
        self._ranked = bool(self._bare) or len(set(self._rank)) > 1  # else all rows stand alike
        self._align = [_alignment(c.app) if c.app.stages else 0.0 for c in self.rows]
        self._urgencies = self._hurried()
        self._alike = self._all_alike()
        self._urgency = [0.0] * len(self.rows)
        # Request number, urgency and alignment as arrays.
        self._crowd: tuple[NDArray[np.intp], Floats, Floats] | None = None
        self._index: NDArray[np.intp] | None = None  # the open rows as an array, until one closes
        for app in self._urgencies:
            self._hurry(self._members[app])
        self._open_shares(queue, shares or {})
        bound.open(self.portion)

    def left(self) -> Resources:
        """What is left of the sum."""
        return self._sum.left()

    def _measure(self, queue: Queue, free: Resources) -> None:
        """Room, and what the rows ask for: each different request has a number."""
        numbers: dict[tuple[Resources, float, Category, int, str], int] = {}
        self._request_number = [numbers.setdefault(shape_of(c), len(numbers)) for c in self.rows]
        self._requests = [RequestShape(*shape) for shape in numbers]
        self._sum = SumRoom(queue, free, [shape.request for shape in self._requests])
        self._going = OpenRequests(self._requests, self._sum, self._rooms, self._bound, self._headroom)

    def spend(self, amounts: Resources) -> None:
        """Others took so much of the sum."""
        self._sum.spend(amounts)

    def pick(self, least: int | None, closed: Callable[[ReleaseCandidate], bool]) -> Pick | None:
        """The next pod, of this priority at the least, of a row that is not closed to it; None when nothing fits."""
        row = self._next(least, closed)
        return None if row is None else self._picked(row)

    def gang(self, app: str) -> list[Pick]:
        """All held pods of an app at once, or none of them."""
        members = self._members.get(app, [])
        if not members or not self._enough(members[0]):
            return []
        if self._leads(members):
            return [self._picked(members[0])] if self.seated(members[0]) else []
        nodes = self._rooms.take_all([(self.rows[row].shape, self._left[row]) for row in members])
        if nodes is None:
            return []
        names = self._rooms.names if self._rooms.known else [""] * len(self._rooms.names)
        return [self._picked(row, names[node]) for row, found in zip(members, nodes, strict=True) for node in found]

    def gang_pods(self, app: str) -> int:
        """How many pods of an app would go at once: all that are held, or its driver before the others."""
        return sum(self._left[row] for row in self._members.get(app, ()))

    def takes_gang(self, app: str) -> bool:
        """Whether all held pods of an app could go at once."""
        members = self._members.get(app, [])
        return bool(members) and self._enough(members[0]) and self._could_go(members[0])

    def _enough(self, row: int) -> bool:
        """Whether the sum and the pool have as much as a gang asks for."""
        candidate = self.rows[row]
        open_ = self._whole(row) <= self._headroom[candidate.category] + TOLERANCE
        return open_ and self.lacking_together(candidate.app.id) is None and self.allowed(row)

    def _leads(self, members: Sequence[int]) -> bool:
        """Whether these rows are one driver, which has to leave the gang that follows it the nodes it needs."""
        return [(self.rows[row].group.driver, self._left[row]) for row in members] == [(True, 1)]

    def lend(self, headroom: Mapping[Category, float] | None) -> None:
        """What is left of the room is for whoever is there: borders of pools close no more than this, or nothing."""
        self._headroom = dict(headroom or UNBOUNDED)
        self._bound.open(self.portion)
        self._going.open(self._headroom)
        self._open = self._pickable()
        self._index = None

    def portion(self, kind: Category) -> Resources:
        """What of a side goes first and could go now: a task rather than a driver, then what takes fewest slots.

        A gang goes as a whole.
        """
        mine = [(row, c) for row, c in enumerate(self.rows) if self._left[row] and c.category is kind]
        turns = sorted((-c.app.priority, c.group.driver, self._whole(row), row) for row, c in mine)
        return next((self.asked(row) for *_, row in turns if self._could_go(row)), NOTHING)

    def allowed(self, row: int) -> bool:
        """Whether the bounds that a pool's owner wrote let go what is released at once of the row."""
        return self._bound.allows(self.rows[row].category, self.asked(row))

    def asked(self, row: int) -> Resources:
        """What is released at once: one pod of the row, or all of its gang."""
        candidate = self.rows[row]
        if not candidate.app.gang:
            return candidate.group.request
        return times((self.rows[each].group.request, self._left[each]) for each in self._members[candidate.app.id])

    def _whole(self, row: int) -> float:
        """The same in slots."""
        candidate = self.rows[row]
        if not candidate.app.gang:
            return candidate.slots
        return sum(self._left[each] * self.rows[each].slots for each in self._members[candidate.app.id])

    def _could_go(self, row: int) -> bool:
        """Whether there is room for that."""
        app = self.rows[row].app
        if not app.gang:
            return self.fits(row) and self.seated(row)
        members = self._members[app.id]
        if self._leads(members):
            return self.fits(row) and self.seated(row)
        wanted = [(self.rows[each].shape, self._left[each]) for each in members]
        return self.lacking_together(app.id) is None and self._rooms.holds_all(wanted)

    def _pickable(self) -> list[int]:
        """Rows with pods left that go one by one; gangs go whole."""
        return [row for row, left in enumerate(self._left) if left and not self.rows[row].app.gang]

    def fits(self, row: int) -> bool:
        """Whether one more pod of this row would fit into what is free in all."""
        return self._sum.fits(self._request_number[row])

    def seated(self, row: int) -> bool:
        """Whether one more pod of this row would fit on some node."""
        return self._on_some_node(self._requests[self._request_number[row]])

    def _on_some_node(self, shape: RequestShape) -> bool:
        return self._rooms.fits(shape.node, self._bars(shape.driver, shape.request).barred)

    def _bars(self, app: str, request: Resources) -> Bars:
        """Where a driver of the app may not go; "" is no driver."""
        if not app or self._driver_nodes is None:
            return ANYWHERE
        return self._driver_nodes.bars(self.rows[self._members[app][0]].app, request)

    def lacking(self, row: int) -> tuple[str, float, float]:
        """The kind of which there is too little for this row, what is free of it and what is asked."""
        return self._sum.lacking(self._request_number[row])

    def lacking_together(self, app: str) -> tuple[str, float, float] | None:
        """The kind of which there is too little for all held pods of an app at once; None where they would fit."""
        rows = self._members.get(app, [])
        return self._sum.lacking_together((self._request_number[row], len(self.rows[row].group.held)) for row in rows)

    def taken(self, row: int) -> int:
        """How many pods of this row were picked."""
        return self._taken[row]

    def _picked(self, row: int, node: str | None = None) -> Pick:
        """One pod of the row goes. One of a gang has its room already, on this node; "": nobody knows which."""
        candidate = self.rows[row]
        if candidate.app.id in self._bare:
            self._bare.discard(candidate.app.id)
            for each in self._members[candidate.app.id]:
                self._rank[each] = self._ranks(self.rows[each])
        avoid, spare = self._seat(candidate, self._rooms) if node is None else ((), ())
        uid = candidate.group.held[self._taken[row]]
        pick = Pick(candidate, uid, self._urgency[row], self._align[row], avoid, spare, node or "")
        self._take(row)
        return pick

    def _seat(self, candidate: ReleaseCandidate, rooms: NodeRooms) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give a pod its room; returns the nodes that it must not be placed on, and those of them it may at need."""
        if not candidate.group.driver or self._driver_nodes is None:
            rooms.take(candidate.shape)
            return (), ()
        bars = self._bars(candidate.app.id, candidate.group.request)
        row = rooms.take(candidate.shape, bars.costly if rooms.fits(candidate.shape, bars.costly) else bars.barred)
        self._driver_nodes.take(row, candidate.group.request)
        return bars.avoid(rooms.names, row), bars.spare(rooms.names, row)

    def _all_alike(self) -> bool:
        """Whether preference cannot tell the rows apart, whatever is picked: the first goes first then."""
        alike = len({shape.request for shape in self._requests}) <= 1 and not self._urgencies
        return alike and (self._alpha <= 0 or len(set(self._align)) <= 1)

    def _ranks(self, candidate: ReleaseCandidate) -> tuple[int, int]:
        """Its priority, and whose turn it is among equals; the larger goes first."""
        if candidate.app.id in self._bare:
            return candidate.app.priority, FIRST_TASK
        return candidate.app.priority, DRIVER if candidate.group.driver else LAST

    def _by_app(self) -> dict[str, list[int]]:
        members: dict[str, list[int]] = {}
        for row, candidate in enumerate(self.rows):
            members.setdefault(candidate.app.id, []).append(row)
        return members

    def _hurried(self) -> dict[str, AppUrgency]:
        """The apps of which a stage waits on another one: only their pods differ in urgency."""
        apps = [self.rows[members[0]].app for members in self._members.values()]
        apps = [app for app in apps if any(group.waiting for group in app.groups)]
        size = cache(partial(pod_size, unit=self._sum.unit if apps else {}))  # requests are few
        return {app.id: AppUrgency(app, size) for app in apps}

    def _open_shares(self, queue: Queue, shares: Mapping[str, float]) -> None:
        self._fair = queue.order is Order.FAIR
        if self._fair:
            names = {c.app.namespace for c in self.rows}
            self._shares = {name: shares.get(name, 0.0) for name in names}
            self._increment = [queue.fair_share(c.app.namespace, c.group.request) for c in self.rows]

    def _next(self, least: int | None, closed: Callable[[ReleaseCandidate], bool]) -> int | None:
        """The row that goes next. Where a driver may not go is looked at only when its turn has come: it costs most."""
        self._sift()
        while (row := self._foremost_row(least)) is not None:
            if closed(self.rows[row]):
                self._open = [each for each in self._open if not closed(self.rows[each])]
                self._index = None
            elif self._free_of_bars(row):
                return row
            else:
                self._close(self._request_number[row])
        return None

    def _free_of_bars(self, row: int) -> bool:
        shape = self._requests[self._request_number[row]]
        return not shape.driver or self._on_some_node(shape)

    def _foremost_row(self, least: int | None) -> int | None:
        """The open row that is first by priority and turn, then (in a fair queue) by share, then by preference."""
        rows = self._open
        if self._ranked and rows:
            top = max(self._rank[row] for row in rows)
            foremost = [row for row in rows if self._rank[row] == top]
            rows = foremost if len(foremost) < len(rows) else rows  # of all open rows the array may be known
        if not rows or (least is not None and self.rows[rows[0]].app.priority < least):
            return None
        if self._fair:
            shares = [self._shares[self.rows[row].app.namespace] for row in rows]
            smallest = min(shares) + TOLERANCE
            rows = [row for row, share in zip(rows, shares, strict=True) if share <= smallest]
        return self._preferred(rows) if self._rank[rows[0]][1] == LAST else rows[0]

    def _sift(self) -> None:
        """Close the requests that no longer fit or have no headroom, and their rows with them."""
        if closed := self._going.sift():
            self._shut_rows(closed)

    def _close(self, number: int) -> None:
        """A request goes no more."""
        self._going.close([number])
        self._shut_rows([number])

    def _shut_rows(self, numbers: Sequence[int]) -> None:
        closed = set(numbers)
        self._open = [row for row in self._open if self._request_number[row] not in closed]
        self._index = None

    def _shut(self, row: int) -> None:
        if row in self._open:
            self._open.remove(row)
            self._index = None

    def _preferred(self, rows: Sequence[int]) -> int:
        """The row of those given that goes next; without preference the first, as rows stand in order of arrival."""
        if self._alike or len(rows) == 1 or not self._preference:
            return rows[0]
        fits = self._sum.fitness()
        if len(rows) > FEW and fits:
            return rows[self._foremost(rows, fits)]
        fit = [fits[self._request_number[row]] for row in rows] if fits else []
        hurry = [self._urgency[row] for row in rows]
        align = [self._align[row] for row in rows] if self._alpha > 0 else []
        # Rows stand in their order among equals, so their numbers break ties.
        return rows[winner(points_of_few(fit, hurry, align, self._alpha), rows) or 0]

    def _foremost(self, rows: Sequence[int], fits: Sequence[float]) -> int:
        """The same of a crowd that differs in requests, by arrays; the place in `rows`."""
        if self._crowd is None:
            self._crowd = np.array(self._request_number), np.array(self._urgency), np.array(self._align)
        if self._index is None:
            self._index = np.array(self._open)
        at = self._index if rows is self._open else np.array(rows)
        number, hurry, align = self._crowd
        near = align.take(at) if self._alpha > 0 else None
        points = combined(np.array(fits).take(number.take(at)), hurry.take(at), near, self._alpha)
        return int((points >= np.maximum.reduce(points) - TOLERANCE).argmax())

    def _take(self, row: int) -> None:
        self._taken[row] += 1
        self._left[row] -= 1
        candidate = self.rows[row]
        self._sum.take(self._request_number[row])
        self._headroom[candidate.category] -= candidate.slots
        self._spent[candidate.category] += candidate.slots
        self._bound.take(candidate.category, candidate.group.request)
        if not self._left[row]:
            self._shut(row)
        if self._fair:
            self._shares[candidate.app.namespace] += self._increment[row]
        app = candidate.app.id
        if app in self._urgencies:
            self._urgencies[app].pick(candidate.group, self._taken[row])
            self._hurry(self._members[app])

    def _hurry(self, members: Sequence[int]) -> None:
        """Urgency of one app's rows, counting what was picked in this round as assigned and occupying."""
        found = self._urgencies[self.rows[members[0]].app.id].now()
        for row in members:
            hurry = found.waiting if self.rows[row].group.waiting else found.leading
            self._urgency[row] = hurry
            if self._crowd is not None:
                self._crowd[1][row] = hurry


def _alignment(app: App) -> float:
    return alignment(iterative=app.stages > 0, stage=app.stage, stages=app.stages or None)
