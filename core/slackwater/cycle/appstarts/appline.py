"""The order in which waiting apps are tried.

PriorityClass, small before large, then FIFO or weighted fair share between namespaces. While both pools are short, the
smallest demand goes first (in a fair queue of those of a namespace), but whoever lost patience keeps its place at the
head.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from slackwater.cycle.appsize import AppSize
from slackwater.cycle.snapshot import App, Order, PodGroup, Queue, taken
from slackwater.pools.pools import Category
from slackwater.resources import Resources


class FairShares:
    """What each namespace holds of a queue, as a share of it and of the namespace's weight."""

    def __init__(self, queue: Queue, running: Sequence[App]) -> None:
        self._queue = queue
        groups: dict[str, list[PodGroup]] = {}
        for app in running if queue.order is Order.FAIR else ():
            groups.setdefault(app.namespace, []).extend(app.groups)
        self.by_namespace = {name: queue.fair_share(name, taken(theirs)) for name, theirs in groups.items()}

    def add(self, namespace: str, amount: Resources) -> None:
        """A namespace takes more."""
        more = self._queue.fair_share(namespace, amount)
        self.by_namespace[namespace] = self.by_namespace.get(namespace, 0.0) + more


class AppLine:
    """Puts the waiting apps of one queue in order."""

    def __init__(
        self, queue: Queue, sizes: Mapping[str, AppSize], shares: FairShares, now: float, patience: float
    ) -> None:
        self._queue, self._sizes, self._shares = queue, sizes, shares
        self._now, self._patience = now, patience

    def ordered(self, waiting: Iterable[App], *, ascending: bool) -> list[App]:
        """Waiting apps in the order in which they are tried."""
        buckets: dict[tuple[int, int], list[App]] = {}
        for app in waiting:
            small = self._sizes[app.id].category is Category.SMALL
            buckets.setdefault((-app.priority, 0 if small else 1), []).append(app)
        inside = self._ascending if ascending else _fifo
        line: list[App] = []
        for _, bucket in sorted(buckets.items()):
            alike = inside(bucket)
            line += self._fair(alike) if self._queue.order is Order.FAIR else alike
        return line

    def _ascending(self, apps: Iterable[App]) -> list[App]:
        """Both pools short: smallest demand first, but whoever lost patience keeps its place at the head."""
        overdue = [app for app in apps if self._now - app.submitted > self._patience]
        rest = [app for app in apps if self._now - app.submitted <= self._patience]
        sizes = self._sizes
        return [*_fifo(overdue), *sorted(rest, key=lambda app: (sizes[app.id].demand(app), app.submitted, app.id))]

    def _fair(self, apps: Iterable[App]) -> list[App]:
        """Weighted DRF between namespaces: whoever has the least share of its weight is next; inside as they stand."""
        lines: dict[str, list[App]] = {}
        for app in apps:
            lines.setdefault(app.namespace, []).append(app)
        shares = dict(self._shares.by_namespace)
        turns: list[App] = []
        while lines:
            namespace = min(lines, key=lambda name: (shares.get(name, 0.0), lines[name][0].submitted, name))
            app = lines[namespace].pop(0)
            turns.append(app)
            first = self._sizes[app.id].first
            shares[namespace] = shares.get(namespace, 0.0) + self._queue.fair_share(namespace, first)
            if not lines[namespace]:
                del lines[namespace]
        return turns


def _fifo(apps: Iterable[App]) -> list[App]:
    return sorted(apps, key=lambda app: (app.submitted, app.id))
