"""A pool's slots in one round (004): who holds them, to whom they were promised, and where the border is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from slackwater.cycle.appsize import AppSize
from slackwater.cycle.snapshot import App, Pool
from slackwater.pools.forecast import first_fit
from slackwater.pools.pools import (
    Adjustment,
    Branch,
    Category,
    Pools,
    Supply,
    adjust,
    even,
    required,
    slots,
)
from slackwater.validation import TOLERANCE, clip


class PoolSlots:
    """One pool pair: what its started apps hold and were promised. `spent` counts what this round has released."""

    def __init__(
        self,
        pool: Pool,
        sizes: Mapping[str, AppSize],
        running: Sequence[App],
        serves: Callable[[App], bool],
    ) -> None:
        self.pool = pool
        self._sizes, self._running = sizes, running
        self._delta = pool.delta
        self.spent = dict.fromkeys(Category, 0.0)
        self.occupied = dict.fromkeys(Category, 0.0)  # slots that pods hold, and what started apps were promised
        self._charged = dict.fromkeys(Category, 0.0)  # slots that pods hold
        self._promised: dict[tuple[Category, int], float] = {}  # … and the rest, by priority
        for app in running:
            size = sizes[app.id]
            self._charged[size.category] += size.charged
            committed = size.committed(app)
            # What can never run beside the drivers there are is promised nothing.
            if committed != size.charged and not serves(app):
                committed = size.charged
            self._occupy(app, committed, size.charged)

    def _occupy(self, app: App, committed: float, charged: float) -> None:
        kind = self._sizes[app.id].category
        self.occupied[kind] += committed
        self._promised[kind, app.priority] = self._promised.get((kind, app.priority), 0.0) + committed - charged

    def enter(self, app: App) -> None:
        """An app starts: what it was let in for is promised to it."""
        self._occupy(app, max(self._sizes[app.id].committed(app), self.need(app, self.pools())), 0.0)

    @property
    def alone(self) -> bool:
        """Whether nobody holds a slot or was promised one."""
        return sum(self.occupied.values()) <= TOLERANCE

    # ---- what is left ---------------------------------------------------------------------------------------------

    def pools(self, priority: int | None = None, more: float = 0.0) -> Pools:
        """The pools as they are; or as an app of this priority sees them: no promise to a lower one counts.

        `more` slots will be there once nodes were added.
        """
        small, large = (max(0.0, self.occupied[kind] - self._lower(kind, priority)) for kind in Category)
        return Pools(self._delta, self.pool.tot + more, small, large)

    def _lower(self, kind: Category, priority: int | None) -> float:
        """Slots that apps of lower priority were promised and do not hold."""
        if priority is None:
            return 0.0
        return sum(amount for (side, of), amount in self._promised.items() if side is kind and of < priority)

    def headroom(self) -> dict[Category, float]:
        """Slots each pool has left for pods of started apps, beside what this round has released.

        By pods, not by commitments: what a started app has not taken yet is its own to take.
        """
        pools = self.pools()
        return {kind: max(0.0, pools.size(kind) - self._charged[kind] - self.spent[kind]) for kind in Category}

    def free(self, pools: Pools) -> float:
        """Slots nobody holds or was promised. A promise beyond its own pool takes nothing from the other one."""
        occupied = {Category.SMALL: pools.small_occupied, Category.LARGE: pools.large_occupied}
        taken = (max(self._charged[kind], min(occupied[kind], pools.size(kind))) for kind in Category)
        return pools.total - sum(taken)

    # ---- what an app needs ----------------------------------------------------------------------------------------

    def need(self, app: App, pools: Pools) -> float:
        """Slots that must be there before it starts: all of a gang, else a driver and a task."""
        size = self._sizes[app.id]
        r = required(size.demand(app), pools, size.category, gang=app.gang)
        first = slots(size.driver, self.pool.slot) + slots(size.task, self.pool.slot)
        return r if app.gang else min(r, first)

    def first(self, app: App, need: float) -> float:
        """Slots of what goes first: the driver; all it needs where it has none or goes as a gang."""
        driver = self._sizes[app.id].driver
        return need if app.gang or not driver else min(need, slots(driver, self.pool.slot))

    # ---- the border -----------------------------------------------------------------------------------------------

    def adjust(self, waiting: Sequence[App]) -> Adjustment:
        """Algorithm 3, before anybody is let in."""
        pool, occupied = self.pool, self.occupied
        pools = Pools(pool.delta, pool.tot, occupied[Category.SMALL], occupied[Category.LARGE])
        supplies = [Supply(pools.available(kind), pool.releases.get(kind, 0.0)) for kind in Category]
        wants = self._wants(waiting, pools)
        needs = {kind: occupied[kind] + sum(wants[kind]) for kind in Category}
        # What was promised and has no slot any more, because Tot or the border moved, is a demand like any other.
        for kind in Category:
            wants[kind].append(max(0.0, occupied[kind] - pools.size(kind)))
        moved = adjust(
            pool.delta,
            pool.tot,
            supplies[0],
            supplies[1],
            wants[Category.SMALL],
            wants[Category.LARGE],
            bounds=(pool.low, pool.high),
        )
        if moved.branch is Branch.BOTH_SHORT:
            border = clip(even(needs[Category.SMALL], needs[Category.LARGE], pool.tot), pool.low, pool.high)
            moved = replace(moved, delta=clip(border, 1 / pool.tot, 1 - 1 / pool.tot))
        self._delta = moved.delta
        return moved

    def _wants(self, waiting: Sequence[App], pools: Pools) -> dict[Category, list[float]]:
        """Slots that apps ask for beyond what they have, side by side."""
        wants: dict[Category, list[float]] = {kind: [] for kind in Category}
        for app in waiting:
            size = self._sizes[app.id]
            wants[size.category].append(required(size.demand(app), pools, size.category, gang=app.gang))
        for app in self._running:
            size = self._sizes[app.id]
            more = size.charged + size.held - size.committed(app)
            if more > TOLERANCE:
                wants[size.category].append(more)
        return wants

    def waits(self, line: Sequence[App]) -> dict[str, float | None]:
        """When each waiting app's turn comes, if nobody new arrives: what those before it and it need, released."""
        pools = self.pools()
        free, needed, found = max(0.0, self.free(pools)), 0.0, dict[str, float | None]()
        for app in line if self.pool.outlook else ():
            needed += self.need(app, pools)
            found[app.id] = first_fit(needed, free, self.pool.outlook)
        return found
