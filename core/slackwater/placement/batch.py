"""A node for each of many pods, each placement seen by the next; and the front door to the choice for one pod.

One pod:   fit_one → score → shortlist
Many pods: Batch, advanced in slices by `step`

Lower ranks go first: PriorityClass and fair shares were decided at release and are kept. Within a rank the order is
HaSTE's (paper 001): drivers first, then the group with the greatest P = nm(F) + nm(U) + alpha_A·nm(A) on its best node.
The table given is never changed; what is charged is charged to a working copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from slackwater.network.arrivals import Arrivals
from slackwater.placement.bestnodes import BestNodes, PodShape
from slackwater.placement.filter import Fit, checked, fit_one, judge
from slackwater.placement.knapsack import MAX_NODES, MAX_TASKS, ita
from slackwater.placement.nextpods import Candidates, EqualAsks, ShapeIndex, grouped
from slackwater.placement.reasons import FilterReason
from slackwater.placement.score import HALVES, Weights, score, shortlist
from slackwater.resources import CPU, MEMORY
from slackwater.validation import amount

if TYPE_CHECKING:
    from slackwater.nodetable import NodeTable, PodAsk
    from slackwater.resources import Kinds

__all__ = ["Batch", "Fit", "Placement", "Refusal", "Weights", "fit_one", "score", "shortlist"]

WINDOW = 64  # shapes of pod compared at once; further ones enter as earlier ones are served


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod and the node chosen for it."""

    uid: str
    node: str
    row: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod that no node serves: the commonest reason, and how many nodes gave each."""

    uid: str
    reason: FilterReason
    counts: tuple[tuple[FilterReason, int], ...] = ()


PlacementOutcome = Placement | Refusal


class Batch:
    """Many pods on their way to nodes. Call `step` until `done`; between steps other work may run."""

    def __init__(
        self,
        table: NodeTable,
        asks: Sequence[PodAsk],
        *,
        cold: bool = False,
        alpha: float = 0.0,
        arrivals: Arrivals | None = None,
        balance: Weights | Mapping[str, Weights] = HALVES,
    ) -> None:
        """Set up a batch.

        `cold` packs by knapsack while the batch is within its bounds, if not all of it fits otherwise. `alpha` is
        HaSTE-A's factor. With `arrivals` (paper 003) a task that reads from others gets its node by `balance` of
        fitness and T_in instead of fitness alone, and sees the links that were made busy before it. Weights may be
        given by uid: those of its own namespace count for a pod.
        """
        self._table = checked(table)
        self._alpha = amount("alpha", alpha)
        groups = grouped(ShapeIndex(table, arrivals, balance), asks)
        self._standings = BestNodes(table, min(WINDOW, len({group.shape for group in groups})), arrivals)
        self._stream = self._by_rank(groups, cold=cold)
        self._hopeless: dict[PodShape, Refusal] = {}  # what was refused once is refused again: room only falls
        self.remaining = len(asks)

    @property
    def done(self) -> bool:
        """Whether every pod has its outcome."""
        return self.remaining == 0

    def step(self, max_pods: int) -> list[PlacementOutcome]:
        """Decide up to so many more pods, in the order in which they should be released.

        A knapsack is a slice of its own: the step ends after it, with fewer pods or none. `done` says when to stop.
        """
        decided: list[PlacementOutcome] = []
        for outcome in islice(self._stream, max_pods):
            if outcome is None:
                break
            decided.append(outcome)
        self.remaining -= len(decided)
        return decided

    def _in_order(self, group: EqualAsks) -> Iterator[PlacementOutcome]:
        """Each pod in its turn takes its best node; one that finds none does not hold up the next."""
        shape = group.shape
        for ask in group.asks:
            row = self._standings.one(self._standings.seat(shape))
            if row is not None:
                yield self._placed(ask, shape, row)
            else:
                self._hopeless[shape] = self._hopeless.get(shape) or self._refusal(ask)
                yield replace(self._hopeless[shape], uid=ask.uid)

    def _by_rank(self, groups: Sequence[EqualAsks], *, cold: bool) -> Iterator[PlacementOutcome | None]:
        """Rank after rank: what a lower one was given is not there for the next."""
        for _, ranked in groupby(groups, key=lambda group: group.rank):
            equals = list(ranked)
            if len(equals) == 1 and not cold:  # nobody to compare with; a fair queue's ranks are mostly such
                yield from self._in_order(equals[0])
            else:
                self._standings.clear()
                yield from self._among_equals(equals, cold=cold)

    def _among_equals(self, groups: Sequence[EqualAsks], *, cold: bool) -> Iterator[PlacementOutcome | None]:
        """Drivers outrank all tasks: room only falls, so serving them first is the same as letting them win."""
        tasks = [group for group in groups if not group.driver]
        yield from self._haste([group for group in groups if group.driver])
        if cold and self._within_bounds(tasks) and not self._all_fit(tasks):
            yield from self._packed(tasks)
        yield from self._haste([group for group in tasks if group.asks])

    def _haste(self, groups: Sequence[EqualAsks]) -> Iterator[PlacementOutcome]:
        """RTA, pod-driven: again and again one pod of the candidate with the greatest preference, on its best node."""
        waiting = deque(groups)
        contest = Candidates(self._standings, self._alpha)
        while contest.admit(waiting):
            rows, fitted = contest.best()
            stranded = np.flatnonzero(fitted == -np.inf)
            if stranded.size:
                yield from self._refused(contest.leave(int(stranded[0])))
                continue
            chosen = contest.chosen(fitted)
            group = contest.groups[chosen]
            yield self._placed(group.asks.popleft(), group.shape, int(rows[chosen]))
            if not group.asks:
                contest.leave(chosen)

    def _within_bounds(self, groups: Sequence[EqualAsks]) -> bool:
        tasks = sum(len(group.asks) for group in groups)
        return 0 < tasks <= MAX_TASKS and int(self._table.open.sum()) <= MAX_NODES and len(self._table.kinds) > 0

    def _all_fit(self, groups: Sequence[EqualAsks]) -> bool:
        """Whether all of these find nodes by preference; then packing them would only crowd them.

        Nobody knows yet what they use. Where some use more than they ask for, a node that was filled to the brim loses
        them, and one that has something left does not.
        """
        room, native = self._standings.left
        table = replace(self._table, room=room.copy(), native=native.copy())
        trial = Batch(table, [ask for group in groups for ask in group.asks], alpha=self._alpha)
        return all(isinstance(outcome, Placement) for outcome in trial.step(trial.remaining))

    def _packed(self, groups: Sequence[EqualAsks]) -> Iterator[PlacementOutcome | None]:
        """ITA: node after node by knapsack, a pause (None) before each.

        The native residual is a further limit that is kept, not optimised.
        """
        waiting = [(group, ask) for group in groups for ask in group.asks]
        rows = np.flatnonzero(self._table.open)
        share = np.divide(1.0, self._table.total, out=np.zeros_like(self._table.total), where=self._table.total > 0)
        choices = ita(
            np.concatenate(self._standings.left, axis=1)[rows],
            np.array([group.shape.charge for group, _ in waiting]),
            np.concatenate([share, np.zeros_like(share)], axis=1)[rows],
            axes=_axes(self._table.kinds),
            usable=np.array([group.shape.usable[rows] for group, _ in waiting]),
        )
        for row, choice in zip(rows.tolist(), choices, strict=True):
            yield None
            for group, ask in (waiting[i] for i in choice.chosen):
                group.asks.remove(ask)
                yield self._placed(ask, group.shape, row)

    def _placed(self, ask: PodAsk, shape: PodShape, row: int) -> Placement:
        self._standings.charge(row, shape)
        return Placement(ask.uid, self._table.names[row], row)

    def _refused(self, group: EqualAsks) -> Iterator[Refusal]:
        refusal = self._refusal(group.asks[0])
        while group.asks:
            yield replace(refusal, uid=group.asks.popleft().uid)

    def _refusal(self, ask: PodAsk) -> Refusal:
        counts = judge(self._table, ask, self._standings.left).counts()
        return Refusal(ask.uid, next(iter(counts), FilterReason.NOT_READY), tuple(counts.items()))


def _axes(kinds: Kinds) -> tuple[int, int]:
    """The two columns the knapsack optimises: cpu and memory, else the first two; one kind stands beside its native."""
    if CPU in kinds and MEMORY in kinds:
        return kinds.index(CPU), kinds.index(MEMORY)
    return 0, 1
