"""What bounds of delta that the owner of a pool wrote leave to either side in one round (004), kind by kind.

    most_k = max(share · (held_k + free_k), slot_k)   share: delta.maximum for small apps, 1 − delta.minimum for large
    a pod may go  ⇔  asked_k ≤ most_k − taken_k  in every kind that it asks for

So of every kind there stays free what the other side's share still lacks, and no more: where one kind is scarce, nobody
is kept from another one that is not. Kinds that a slot has none of are not pooled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from slackwater.cycle.appsize import AppSize
from slackwater.cycle.snapshot import App, Pool, taken
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources, least, total


class BoundShortage(NamedTuple):
    """The kind that closes a side, and the amounts of it that decide."""

    kind: str
    most: float  # what the side may hold …
    capacity: float  # … of so much
    charged: float  # what it holds
    ask: float


class OwnersBound:
    """One pool pair: what either side may hold at the most, and what it holds with what this round has released.

    A side of which no task runs may always run one pod or gang: a bound shares the work out, it does not end it.
    """

    def __init__(self, pool: Pool | None, free: Resources, apps: Sequence[App], sizes: Mapping[str, AppSize]) -> None:
        shares = {} if pool is None else {Category.SMALL: pool.high, Category.LARGE: 1 - pool.low}
        self._shares = {side: share for side, share in shares.items() if share < 1}
        self._slot = pool.slot if pool else NOTHING
        bounded = apps if self._shares else ()
        groups = {side: [g for a in bounded if sizes[a.id].category is side for g in a.groups] for side in Category}
        self._taken = {side: taken(groups[side]) for side in Category}
        self._whole = total((free.at_least(NOTHING), *self._taken.values()))
        self._idle = {side for side in self._shares if not any(g.charged for g in groups[side] if not g.driver)}
        self._first: dict[Category, Resources] = {}  # what a side may run of which no task runs

    def open(self, portion: Callable[[Category], Resources]) -> None:
        """Let each side of which no task runs, and nothing went, run what of it goes first (`portion`)."""
        self._first = {side: portion(side) for side in self._idle}

    def allows(self, side: Category, asked: Resources) -> bool:
        """Whether so much may go at once."""
        return self.shortage(side, asked) is None

    def shortage(self, side: Category, asked: Resources) -> BoundShortage | None:
        """The kind of which the bound leaves the side less than it asks for; None where so much may go."""
        if side not in self._shares or (side in self._first and asked.fits(self._first[side])):
            return None
        charged = self._taken[side]
        for kind, slot in self._slot.items():
            most = max(self._shares[side] * self._whole[kind], slot)
            if most - charged[kind] < least(asked[kind]):
                return BoundShortage(kind, most, self._whole[kind], charged[kind], asked[kind])
        return None

    def take(self, side: Category, asked: Resources) -> None:
        """So much goes."""
        if side in self._shares:
            self._taken[side] = self._taken[side] + asked
            self._idle.discard(side)
            self._first.pop(side, None)
