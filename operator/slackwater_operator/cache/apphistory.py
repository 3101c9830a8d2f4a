"""What was seen of an app and its present pods no longer show: its name, its size, the most it has wanted.

Pods come one by one, in any order, and go again. A round must not decide by the first that it saw, nor forget with the
last; so what counts for all of an app's life is kept here, and forgotten when the app is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slackwater.cycle.starts.poolbuilder import SlotScale
from slackwater.pools.demand import Wanted, category, more
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater_cluster.apps.size import AppSize
from slackwater_operator.cache.appview import AppView


@dataclass(frozen=True, slots=True)
class AppName:
    """What people call an app, the name its runs share, and whether its driver said so."""

    name: str
    series: str
    by_driver: bool


@dataclass(slots=True)
class AppHistory:
    """What was seen of one app."""

    name: AppName | None = None
    size: AppSize | None = None  # told by its framework's own object
    size_asked: bool = False  # whether its framework was asked for its size
    most: Wanted | None = None  # the most it has wanted at once; None: nobody knows
    was_large: bool = False  # a leader before us saw it want more than a small app does
    category: Category | None = None  # as of the last round; None where no pool guards its queue

    def called(self, each: AppView) -> AppView:
        """The app under one name for all its life: its driver's, also while or after only tasks are there."""
        if self.name is None or (each.named_by_driver and not self.name.by_driver):
            self.name = AppName(each.name, each.series, each.named_by_driver)
        return replace(each, name=self.name.name, series=self.name.series)

    def want(self, wanted: Wanted | None, slot: Resources) -> None:
        """The app wants so much now."""
        if wanted is not None:
            self.most = wanted if self.most is None else more(self.most, wanted, slot)

    def classify(self, scale: SlotScale, theta: float) -> Category:
        """The app's category, by the most it has wanted so far."""
        self.category = Category.LARGE if self.was_large else category(self.most, scale.slot, scale.nominal, theta)
        return self.category


class AppHistories:
    """What was seen of all apps that are there, by their names in the whole cluster."""

    def __init__(self) -> None:
        self._by_app: dict[str, AppHistory] = {}

    def __len__(self) -> int:
        return len(self._by_app)

    def of(self, app: str) -> AppHistory:
        """What was seen of an app; nothing yet, where it is new."""
        return self._by_app.setdefault(app, AppHistory())

    def forget(self, app: str) -> None:
        """The app is over."""
        self._by_app.pop(app, None)

    def unclassify(self) -> None:
        """A round begins: whoever a pool guards now gets a category again, others have none."""
        for each in self._by_app.values():
            each.category = None

    def category(self, app: str) -> Category | None:
        """The app's category; None where no pool guards its queue, or no round has seen it."""
        known = self._by_app.get(app)
        return known.category if known is not None else None

    def categories(self) -> Mapping[str, Category]:
        """Every app that has a category."""
        return {app: each.category for app, each in self._by_app.items() if each.category is not None}
