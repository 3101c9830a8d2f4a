"""The nodes' rooms during one round: each pod that is released takes its share of one node.

Rows are nodes, shapes are what one pod takes of a node (declared and native request) and which nodes it reaches. Pods
are many, shapes few: what fits where is kept as one table, shape × node, and a release changes one column of it.

Which node a pod really gets is decided at placement. Here it is the one that is left with least, so that rooms for
larger pods stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.feasibility import reachable
from slackwater.cycle.podline.earlystart import at_once
from slackwater.cycle.podline.packing import PodSize, packed
from slackwater.cycle.podline.searchturns import SearchTurns
from slackwater.cycle.podline.seating import Run, Seating, outnumber, share, slacks
from slackwater.cycle.snapshot import PodGroup, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import NOTHING, Resources, holding, needed, places
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


# What a kind that a node has nothing of is divided by: whatever is left of it is no share of the node.
_NO_SHARE = 1e300

# Where pods of several sizes fit together is searched for as long as a round has time for: pods × nodes, steps back.
SEARCHED, STEPS = 4096, 200
SEARCHES = 20  # in one round: it must not take longer the more gangs wait; who gets them, see `SearchTurns`


# What makes pods alike to a node: request, native, constraints and queue. A plain tuple: one is made for each group.
Alike = tuple[Resources, Resources | None, str, str]


class NodeRooms:
    """What is left on each node, and which shapes still fit where."""

    def __init__(self, snapshot: Snapshot, *, searches: int = SEARCHES) -> None:
        self._snapshot = snapshot
        table = snapshot.nodes if snapshot.nodes is not None else _together(snapshot)
        self._table, self.kinds, self.names = table, table.kinds, table.names
        self.known = snapshot.nodes is not None  # node by node; else the nodes of a queue count as one
        self.room: Floats = np.where(table.open[:, None], table.room, -np.inf)
        self.native: Floats = table.native.copy()
        self._scale: Floats = np.where(table.total > TOLERANCE, table.total, _NO_SHARE)
        self._ids: dict[Alike, int] = {}
        self._reach: list[Mask | None] = []
        self._asked: list[Floats] = []
        self._amounts: list[list[float]] = []  # the same as plain numbers
        self._natives: list[Floats] = []
        self._fits: Mask = np.zeros((0, len(table)), np.bool_)
        self._needed = self._needed_native = np.zeros((0, len(table.kinds)))
        self._counts: NDArray[np.intp] = np.zeros(0, np.intp)
        self.losses = 0  # how often a node had no room for some shape any more
        self._kept: Floats = np.zeros_like(self.room)
        self._kept_native: Floats = np.zeros_like(self.native)
        self._closed: Mask = np.zeros(len(table), np.bool_)
        # Pods that did not all fit, and whether that is certain; room only shrinks in a round.
        self._vain: dict[tuple[tuple[int, int], ...], bool] = {}
        self._searches = SearchTurns(searches, snapshot.now, self._gangs)
        self._places: dict[int, int] = {}  # by shape, see places
        self._slacks: dict[int, Floats] = {}  # by shape, see _slack; renewed row by row as pods take their room
        self._both: dict[int, tuple[Floats, Floats]] = {}  # by shape: what a pod takes, declared and native, and needs

    def shapes(self, queue: Queue, groups: Iterable[PodGroup]) -> list[int]:
        """The numbers of these groups' shapes; new ones are looked for on all nodes at once."""
        # Without nodes, and where a queue selects some of them, equal pods of other queues reach others.
        where = queue.name if queue.nodes is not None or not self.known else ""
        found = [self._number(queue, group, where) for group in groups]
        if len(self._asked) > len(self._fits):
            self._search()
        return found

    def _number(self, queue: Queue, group: PodGroup, where: str) -> int:
        key = (group.request, group.native, group.constraints, where)
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self._ids)
            native = group.request if group.native is None else group.native
            self._amounts.append(group.request.demand(self.kinds))
            self._asked.append(np.array(self._amounts[-1]))
            self._natives.append(np.array(native.demand(self.kinds)))
            self._reach.append(self._reached(queue, group))
        return number

    def _reached(self, queue: Queue, group: PodGroup) -> Mask | None:
        if self.known:
            plain = queue.nodes is None and group.constraints not in self._snapshot.reach
            return None if plain else reachable(self._snapshot, queue, group.constraints)
        return np.array([name == queue.name for name in self.names], np.bool_)

    def _search(self) -> None:
        first = len(self._fits)
        declared, native = needed(np.array(self._asked)), needed(np.array(self._natives))
        fits = np.ones((len(declared) - first, len(self.names)), np.bool_)
        for kind in range(len(self.kinds)):  # a kind at a time: several times as fast as along the short axis
            fits &= self.room[:, kind][None, :] >= declared[first:, kind][:, None]
            fits &= self.native[:, kind][None, :] >= native[first:, kind][:, None]
        fits &= self._table.open  # also for a pod that asks for nothing, which any node has room for
        for at, reach in enumerate(self._reach[first:]):
            if reach is not None:
                fits[at] &= reach
        self._needed, self._needed_native = declared, native
        self._fits = np.concatenate([self._fits, fits])
        self._counts = self._fits.sum(axis=1)

    # ---- now ------------------------------------------------------------------------------------------------------

    def fits(self, shape: int, barred: Mask | None = None) -> bool:
        """Whether some node has room for one pod of the shape, beside those that are barred to it."""
        if barred is None:
            return bool(self._counts[shape])
        return bool((self._fits[shape] & ~barred).any())

    def rows(self, shape: int) -> Mask:
        """The rows of the nodes that have."""
        found: Mask = self._fits[shape]
        return found

    def nodes(self, shape: int) -> list[str]:
        """Their names."""
        return [self.names[row] for row in np.flatnonzero(self.rows(shape)).tolist()]

    def take(self, shape: int, barred: Mask | None = None) -> int:
        """Give one pod of the shape its room; the row, or −1 where no node has any."""
        slack = self._slack(shape)
        row = int(np.argmin(slack if barred is None else np.where(barred, np.inf, slack))) if slack.size else -1
        if row < 0 or not self._fits[shape, row] or (barred is not None and barred[row]):
            return -1
        self._charge(shape, row)
        return row

    def take_on(self, shape: int, node: str) -> None:
        """The same on a node that was found before; "": on any."""
        if node:
            self._charge(shape, self._table.index[node])
        else:
            self.take(shape)

    def _charge(self, shape: int, row: int) -> None:
        self.room[row] -= self._asked[shape]
        self.native[row] -= self._natives[shape]
        self._renew(row)

    def take_all(self, wanted: Sequence[tuple[int, int]]) -> list[list[int]] | None:
        """Give so many pods of each shape their room, or none of them any; the rows of each shape's pods."""
        if (found := self._places_of_all(wanted)) is None:
            return None
        rows, seating = found
        self._settle(seating)
        return rows

    def holds_all(self, wanted: Sequence[tuple[int, int]]) -> bool:
        """Whether so many pods of each shape would all find room."""
        return self._places_of_all(wanted) is not None

    def rules_out(self, wanted: Sequence[tuple[int, int]]) -> bool:
        """Whether it is certain that so many pods of each shape would not all find room; no says nothing."""
        return not self.holds_all(wanted) and self._vain[tuple(sorted(wanted))]

    def seats(self, wanted: Sequence[tuple[int, int]]) -> list[int]:
        """How many of so many pods of each shape would find room together."""
        return [len(rows) for rows in self._tried(wanted)[0]]

    def take_most(self, wanted: Sequence[tuple[int, int]]) -> list[int]:
        """Give as many of these pods their room as find any; returns how many of each shape."""
        rows, seating = self._tried(wanted)
        self._settle(seating)
        return [len(found) for found in rows]

    def _places_of_all(self, wanted: Sequence[tuple[int, int]]) -> tuple[list[list[int]], Seating] | None:
        """Rows for so many pods of each shape, if all of them find room.

        Equal pods fit in any order, or in none. Where they differ, several ways to pack them are tried.
        """
        mixed = len({shape for shape, _ in wanted}) > 1
        if (asked := tuple(sorted(wanted))) in self._vain:
            return None
        if mixed and self._too_many(wanted):
            self._vain[asked] = False
            return None
        for spread in (False, True) if mixed else (False,):
            rows, seating = self._tried(wanted, spread=spread, whole=True)
            if all(len(found) == count for found, (_, count) in zip(rows, wanted, strict=True)):
                return rows, seating
        found, certain = self._searched(wanted) if mixed else (None, True)
        if found is None:
            self._vain[asked] = certain
        return found

    def _tried(
        self, wanted: Sequence[tuple[int, int]], *, spread: bool = False, whole: bool = False
    ) -> tuple[list[list[int]], Seating]:
        """Rows for pods that get their room one after the other; `whole`: it may end where one finds none."""
        runs = [(shape, list(run)) for shape, run in groupby(self._hardest(wanted), key=lambda at: wanted[at][0])]
        seating = Seating(self._left(), self._scale)
        seats = seating.seat(
            [Run(self._pod(shape), sum(wanted[at][1] for at in alike)) for shape, alike in runs],
            spread=spread,
            whole=whole,
        )
        found: list[list[int]] = [[] for _ in wanted]
        for (_, alike), rows in zip(runs, map(iter, seats), strict=False):
            for at in alike:
                found[at] = list(islice(rows, wanted[at][1]))
        return found, seating

    def _left(self) -> Floats:
        """Room and what is left of native requests, side by side."""
        return np.concatenate([self.room, self.native], axis=1)

    def _pod(self, shape: int) -> PodSize:
        """The same of a pod of the shape, and the rows that have room for one."""
        if shape not in self._both:
            asked = np.concatenate([self._asked[shape], self._natives[shape]])
            self._both[shape] = asked, np.concatenate([self._needed[shape], self._needed_native[shape]])
        return PodSize(*self._both[shape], self._fits[shape])

    def _settle(self, seating: Seating) -> None:
        """Pods take the room that was found for them."""
        for row in seating.changed:
            left = seating.left(row)
            self.room[row], self.native[row] = left[: len(self.kinds)], left[len(self.kinds) :]
            self._renew(row)

    # pods that ask for s or more > Σ over nodes of ⌊room ÷ s⌋, of one kind
    def _too_many(self, wanted: Sequence[tuple[int, int]]) -> bool:
        """Whether a gang that is too large to be searched has too many pods of some size for all nodes it reaches."""
        shapes, counts = (np.array(each) for each in zip(*wanted, strict=True))
        rows = self._fits[shapes].any(axis=0)
        if counts.sum() * rows.sum() <= SEARCHED:
            return False
        room = self.room[rows]
        asked = np.array([self._amounts[shape] for shape in shapes.tolist()])
        return any(outnumber(asked[:, kind], counts, room[:, kind]) for kind in range(len(self.kinds)))

    def _searched(self, wanted: Sequence[tuple[int, int]]) -> tuple[tuple[list[list[int]], Seating] | None, bool]:
        """The same for a few pods and nodes, looked for in other ways still; and whether it is certain."""
        pods = [at for at in self._hardest(wanted) for _ in range(wanted[at][1])]
        rows = np.flatnonzero(self._fits[[shape for shape, _ in wanted]].any(axis=0))
        if len(pods) * len(rows) > SEARCHED or not self._searches.take(tuple(sorted(wanted))):
            return None, False
        sizes = [self._pod(shape) for shape, _ in wanted]
        near = [size._replace(reach=size.reach[rows]) for size in sizes]
        left, share = self._left()[rows], 1 / self._scale[rows]
        places, certain = packed(left, share, [near[at] for at in pods], STEPS)
        if places is None:
            return None, certain
        found: list[list[int]] = [[] for _ in wanted]
        seating = Seating(self._left(), self._scale)
        for at, place in zip(pods, rows[places].tolist(), strict=True):
            found[at].append(place)
            seating.put(sizes[at], place)
        return (found, seating), True

    def _gangs(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """The gangs of several sizes, as shapes and how many pods of each are held."""
        queues = {queue.name: queue for queue in self._snapshot.queues}
        for app in sorted(self._snapshot.apps, key=lambda app: (app.submitted, app.id)):
            groups = at_once(app) if app.gang and app.queue in queues else []
            shapes = self.shapes(queues[app.queue], groups) if len(groups) > 1 else []
            if len(set(shapes)) > 1:
                yield tuple(sorted(zip(shapes, (len(group.held) for group in groups), strict=True)))

    def _hardest(self, wanted: Sequence[tuple[int, int]]) -> list[int]:
        """The rarest first: they have the fewest nodes to choose from. Then the largest: small ones fit beside them."""
        return sorted(range(len(wanted)), key=lambda at: (self._counts[wanted[at][0]], -self._size(wanted[at][0])))

    def _size(self, shape: int) -> float:
        """What a pod of the shape takes of the nodes' mean, by the kind of which it takes most."""
        return max([asked / mean for asked, mean in zip(self._amounts[shape], self._mean, strict=True)], default=0.0)

    # ---- kept for an app that is being assembled --------------------------------------------------------------------

    def keep_row(self, row: int) -> None:
        """Keep a node from everybody."""
        self._kept[row] += np.where(np.isfinite(self.room[row]), self.room[row], 0.0)
        self._closed[row] = True
        self.room[row] = -np.inf
        self._renew(row)

    def keep_most(self, wanted: Sequence[tuple[int, int]]) -> list[int]:
        """Keep the room of as many of these pods as find any; returns how many of each shape."""
        room, native = self.room.copy(), self.native.copy()
        found = self.take_most(wanted)
        for kept, before, after in ((self._kept, room, self.room), (self._kept_native, native, self.native)):
            known = np.isfinite(before)  # of a closed node nothing is taken, and of what is without bounds no part
            kept[known] += before[known] - after[known]
        return found

    def kept_from(self, shape: int) -> Mask:
        """The rows that would have room for a pod of the shape, were none kept for others."""
        room = np.where(self._closed[:, None], 0.0, self.room) + self._kept
        fits = (room >= self._needed[shape]) & (self.native + self._kept_native >= self._needed_native[shape])
        reach = self._reach[shape]
        found: Mask = fits.all(axis=1) & (True if reach is None else reach)
        return found

    def _slack(self, shape: int) -> Floats:
        """What a pod of the shape would leave of each node, as a share of it; infinite where it does not fit."""
        slack = self._slacks.get(shape)
        if slack is None:
            slack = slacks(self.room, self._asked[shape], self._scale)
            slack[~self._fits[shape]] = np.inf
            self._slacks[shape] = slack
        return slack

    def _renew(self, row: int) -> None:
        """Less is left of a node: see which shapes it has no room for any more."""
        short = (self.room[row] < self._needed) | (self.native[row] < self._needed_native)
        lost = np.logical_or.reduce(short, axis=1) & self._fits[:, row]
        if np.count_nonzero(lost):
            self._fits[lost, row] = False
            self._counts -= lost
            self.losses += 1
        room, scale, fits = self.room[row].tolist(), self._scale[row].tolist(), self._fits[:, row].tolist()
        for shape, slack in self._slacks.items():
            slack[row] = share(room, self._amounts[shape], scale) if fits[shape] else np.inf

    @cached_property
    def _mean(self) -> list[float]:
        """What a node has of each kind on average; next to nothing is nothing."""
        mean = self._table.total.mean(axis=0) if len(self._table) else np.ones(len(self.kinds))
        found: list[float] = np.where(mean > TOLERANCE, mean, _NO_SHARE).tolist()
        return found

    # ---- ever -----------------------------------------------------------------------------------------------------

    def possible(self, shape: int) -> Mask:
        """The rows that the shape reaches and that could take a pod of it if they were empty."""
        reach, fits = self._reach[shape], holding(self._table.total, self._amounts[shape])
        return fits if reach is None else fits & reach

    def places(self, shape: int) -> int:
        """How many pods of the shape the nodes could hold at once if they were empty."""
        if shape not in self._places:
            self._places[shape] = int(places(self._table.total[self.possible(shape)], self._amounts[shape]).sum())
        return self._places[shape]

    def largest(self, shape: int) -> tuple[str, float, float]:
        """The kind that the shape asks too much of, how much it asks, and the most that a node it reaches has."""
        reach, asked, total = self._reach[shape], self._asked[shape], self._table.total
        most = (total if reach is None else total[reach]).max(axis=0, initial=0.0)
        short = 1.0 - most / np.maximum(asked, TOLERANCE)
        kind = int(np.argmax(np.where(np.isfinite(asked) & (asked > 0), short, -np.inf)))
        return self.kinds[kind], float(asked[kind]), float(most[kind])

    def roomiest(self, shape: int, left: Floats | None = None) -> int:
        """The row that is nearest to having room for the shape; −1 where none could once the tasks there have ended.

        `left`: what tasks find on each node then.
        """
        could = self.possible(shape) & self._table.open
        if left is not None:
            could &= holding(left, self._amounts[shape])
        rows = np.flatnonzero(could)
        if not rows.size:
            return -1
        asked = self._asked[shape]
        share = np.divide(self.room[rows], asked, out=np.full((len(rows), len(asked)), np.inf), where=asked > 0)
        return int(rows[np.argmax(share.min(axis=1))])


def _together(snapshot: Snapshot) -> NodeTable:
    """Where only sums are known: a row for each queue, as if its nodes were one."""
    queues, requests = snapshot.queues, [group.request for app in snapshot.apps for group in app.groups]
    kinds = NOTHING.kinds(*[each for queue in queues for each in (queue.free, queue.capacity)], *requests)
    names = tuple(queue.name for queue in queues)
    shape = (len(queues), len(kinds))
    total = np.array([queue.most(queue.capacity).vector(kinds) for queue in queues]).reshape(shape)
    room = np.array([queue.free.vector(kinds) for queue in queues]).reshape(shape)
    flags = np.ones(len(queues), np.bool_)
    index = {name: row for row, name in enumerate(names)}
    return NodeTable(kinds, names, index, total, room, np.full(shape, np.inf), flags)
