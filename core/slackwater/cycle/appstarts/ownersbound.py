"""What bounds of delta that the owner of a pool wrote leave to either side in one round (004), kind by kind.

    most_k = max(share · (held_k + free_k), slot_k)   share: delta.maximum for small apps, 1 − delta.minimum for large
    a pod may go  ⇔  asked_k ≤ most_k − taken_k  in every kind that it asks for

So of every kind there stays free what the other side's share still lacks, and no more: where one kind is scarce, nobody
is kept from another one that is not. Kinds that a slot has none of are not pooled.

All of these are of the nodes that there are: a growth pod, which waits for a machine, neither widens nor narrows what
may go there. It counts as taken where more machines are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from slackwater.cycle.appsize import AppSize
from slackwater.cycle.snapshot import App, PodGroup, Pool, taken
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

    def __init__(
        self,
        pool: Pool | None,
        free: Resources,
        apps: Sequence[App],
        sizes: Mapping[str, AppSize],
        with_room: Collection[str] = (),
    ) -> None:
        shares = {} if pool is None else {Category.SMALL: pool.high, Category.LARGE: 1 - pool.low}
        self._shares = {side: share for side, share in shares.items() if share < 1}
        self._slot = pool.slot if pool else NOTHING
        bounded = apps if self._shares else ()
        groups = {side: [g for a in bounded if sizes[a.id].category is side for g in a.groups] for side in Category}
        self._coming = {side: total(_growing(group, with_room) for group in groups[side]) for side in Category}
        here = {side: [_here(group, with_room) for group in groups[side]] for side in Category}
        self._taken = {side: taken(here[side]) for side in Category}
        self._whole = total((free.at_least(NOTHING), *self._taken.values()))
        self._idle = {side for side in self._shares if not any(g.charged for g in here[side] if not g.driver)}
        self._first: dict[Category, Resources] = {}  # what a side may run of which no task runs
        self._promised: dict[Category, Resources] = {}  # what apps that were let in will take first

    @property
    def binds(self) -> bool:
        """Whether an owner wrote any."""
        return bool(self._shares)

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
        return self._shortage(side, asked, self._taken[side])

    def could_allow(self, side: Category, asked: Resources) -> bool:
        """Whether so much may go, or might as the first of a side of which no task runs."""
        return side not in self._shares or side in self._idle or self._shortage(side, asked, self._taken[side]) is None

    def enter(self, side: Category, asked: Resources, could_go: Callable[[], bool]) -> BoundShortage | None:
        """Let in an app that takes so much first, beside others that were let in; else what there is too little of.

        Whoever is let in holds slots and budget: it must not be one that the bound keeps from going. What could not go
        now takes nothing from those behind it: they would not even ask for nodes that may be added.
        """
        if side not in self._shares:
            return None
        promised = self._promised.get(side)
        alone = promised is None and side in self._idle
        short = None if alone else self._shortage(side, asked, self._taken[side] + (promised or NOTHING))
        if short is None and could_go():
            self._promised[side] = asked + (promised or NOTHING)
        return short

    def _shortage(self, side: Category, asked: Resources, charged: Resources) -> BoundShortage | None:
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

    def may_ask(self, side: Category, asked: Resources) -> bool:
        """Whether machines for so much may be asked for, beside those that were asked for before.

        A side of which no task runs, nor waits for a machine, may always ask for one pod or gang.
        """
        if side not in self._shares or (side in self._idle and not self._coming[side]):
            return True
        return self._shortage(side, asked, self._taken[side] + self._coming[side]) is None

    def ask(self, side: Category, asked: Resources) -> None:
        """Machines for so much are asked for."""
        self._coming[side] = self._coming[side] + asked


def _growing(group: PodGroup, with_room: Collection[str]) -> Resources:
    """What pods of a group ask for that wait for nodes which do not exist yet."""
    waiting = _away(group, with_room)
    return group.request * waiting if waiting else NOTHING


def _here(group: PodGroup, with_room: Collection[str]) -> PodGroup:
    """The group without them."""
    waiting = _away(group, with_room)
    return replace(group, released=group.released - waiting) if waiting else group


def _away(group: PodGroup, with_room: Collection[str]) -> int:
    """How many they are; one whose room is no longer free has found its node."""
    return sum(uid not in with_room for uid in group.growing)
