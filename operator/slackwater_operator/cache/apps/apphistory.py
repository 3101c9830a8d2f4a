"""What was seen of an app and its present pods no longer show: its name, its size, the most it has wanted.

Pods come one by one, in any order, and go again. A round must not decide by the first that it saw, nor forget with the
last; so what counts for all of an app's life is kept here, and forgotten when its run is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from slackwater.admission.awaitedpods import GRACE, awaited, driver_awaited
from slackwater.admission.currentrun import IDLE
from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.appstarts.poolbuilder import SlotScale
from slackwater.pools.demand import Wanted, category, more
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.size import AppSize
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appstages import AwaitedStages
from slackwater_operator.cache.apps.appview import AppView

MOST_NAMED = 3  # stages that are told of, and parents of each: the first few tell enough


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
    left: float = 0.0  # when a pod of it was last taken away
    size: AppSize | None = None  # told by its framework's own object
    size_asked: bool = False  # whether its framework was asked for its size
    most: Wanted | None = None  # the most it has wanted at once; None: nobody knows
    was_large: bool = False  # a leader before us saw it want more than a small app does
    category: Category | None = None  # as of the last round; None where no pool guards its queue
    latest: float | None = None  # when the last of its pods was created
    led: bool = False  # a driver was seen
    led_well: bool = False  # the last one ended well and is gone: none is waited for until another one comes
    promoted: frozenset[str] = frozenset()  # drivers that were taken for tasks before they owned pods
    driverless: bool = False  # its framework's own object says that there is none
    assembled: bool = False  # a gang: its tasks have all been there, for some have gone
    stages: set[str] = field(default_factory=set)  # those of which a pod was seen

    def see(self, each: AppView) -> AppView:
        """Take in what its pods show now; returns the app as it is known with all that was seen before."""
        self.latest = each.latest if self.latest is None else max(self.latest, each.latest)
        if each.settled:  # a pod whose owners are not known may belong to another app
            self._keep(each)
        return self._without_seen_parents(self.called(each))

    def lose(self, pod: PodRecord, role: Role, now: float) -> None:
        """A pod of it is gone. A driver that was told to go may end well, too, and comes again."""
        self.left = now
        if role is Role.DRIVER:
            self.led_well = pod.phase == "Succeeded" and not pod.deleted

    def _keep(self, each: AppView) -> None:
        if not each.promoted <= self.promoted:  # what seemed to be a task is a driver: count anew
            self.most, self.assembled = None, False
        self.promoted |= each.promoted
        if each.led:
            self.led, self.led_well = True, False
        tasks = [group for group in each.groups if not group.driver]
        self.assembled = self.assembled or any(group.charged or group.finished for group in tasks)
        self.stages.update(group.stage for group in each.groups)

    def _without_seen_parents(self, each: AppView) -> AppView:
        """Stages that came and went are not waited for; of the others it is told that they are not there."""
        if not each.awaited:
            return each
        missing = ((stage, parents - self.stages, since) for stage, parents, since in each.awaited)
        lacking = tuple(AwaitedStages(*one) for one in missing if one[1])
        told = [
            f"{names.PARENTS}: stage {stage!r} waits for {', '.join(sorted(parents)[:MOST_NAMED])}, "
            f"of which no pod has come; a strict one waits {GRACE:.0f} s for that"
            for stage, parents, _ in lacking[:MOST_NAMED]
        ]
        return replace(each, awaited=lacking, problems=(*each.problems, *told))

    def has_driver(self, each: AppView, now: float) -> bool:
        """Whether the app has a driver, or waits for the one that its framework's apps have."""
        if each.led or not each.has_driver:
            return each.led
        # Who is neither driver nor task waits for nobody: KubeRay's clean-up comes after the head.
        waiting = [group.role for group in each.groups if group.held]
        if waiting and all(role is Role.UNKNOWN for role in waiting):
            return False
        if self.driverless or self.led_well:
            return False
        return driver_awaited(seen=self.led, first_task=each.first_task, now=now)

    def complete(self, each: AppView, now: float) -> bool:
        """Whether a gang that was whole once goes on with what there is: no more of it came for a while."""
        return self.assembled and not awaited(each.waits_since, now)

    def called(self, each: AppView) -> AppView:
        """The app under one name for all its life: its driver's, also while or after only tasks are there.

        Before all owners are known it may still be another one: what is read then is shown, and not kept.
        """
        if each.settled and (self.name is None or (each.named_by_driver and not self.name.by_driver)):
            self.name = AppName(each.name, each.series, each.named_by_driver)
        return replace(each, name=self.name.name, series=self.name.series) if self.name is not None else each

    def want(self, wanted: Wanted | None, slot: Resources) -> None:
        """The app wants so much now; one that is over wants nothing, which says nothing of what it will want."""
        if wanted:
            self.most = wanted if self.most is None else more(self.most, wanted, slot)

    def classify(self, wanted: Wanted | None, scale: SlotScale, theta: float) -> Category:
        """The app's category, by the most it has wanted so far; `wanted` is what it wants now, if that is known."""
        known = wanted if self.most is None else self.most
        self.category = Category.LARGE if self.was_large else category(known, scale.slot, scale.nominal, theta)
        return self.category


@dataclass(slots=True)
class BlockedTasks:
    """Tasks that found no room beside their own driver, and when a pod of their app was last seen alive."""

    need: TaskNeed
    alive: float


class GivenUp(NamedTuple):
    """An app whose driver was evicted to end a stall: when, and the others that waited in it."""

    at: float
    others: tuple[str, ...]


class Recalled(NamedTuple):
    """What a leader before us wrote of an app."""

    large: bool  # it was seen to want more than a small app does
    whole: float | None  # a gang: its tasks have all been there, and the newest of its pods was made then


class AppHistories:
    """What was seen of all apps that are there, by their names in the whole cluster."""

    def __init__(self) -> None:
        self._by_app: dict[str, AppHistory] = {}
        self._blocked: dict[str, BlockedTasks] = {}
        self._given_up: dict[str, GivenUp] = {}
        self._recalled: dict[str, Recalled] = {}  # of apps that have not been seen yet

    def __len__(self) -> int:
        return len(self._by_app)

    def of(self, app: str) -> AppHistory:
        """What was seen of an app; nothing yet, where it is new."""
        return self._by_app.setdefault(app, AppHistory())

    def recall(self, app: str, said: Recalled, each: AppView | None) -> None:
        """Take over what was written of an app, once it is seen: owners may have to be looked up for its name."""
        self._recalled[app] = said
        if each is not None:
            self._believe(each)

    def see(self, each: AppView) -> AppView:
        """Take in what an app's pods show, and what a leader before us knew of the same run."""
        seen = self.of(each.id).see(each)
        self._believe(each)
        return seen

    def _believe(self, each: AppView) -> None:
        """What was written counts once all pods are known to be the app's; that a gang was whole, for the same run."""
        if each.settled and (said := self._recalled.pop(each.id, None)) is not None:
            known = self.of(each.id)
            known.was_large |= said.large
            known.assembled |= said.whole is not None and each.began <= said.whole

    def follow(self, each: AppView) -> bool:
        """Begin anew where a name is used again: none of its pods was there before. Returns whether it is so."""
        known = self._by_app.get(each.id)
        if known is None or known.latest is None or each.began <= known.latest:
            return False
        self.forget(each.id)
        return True

    def forget(self, app: str) -> None:
        """The app is over."""
        self._by_app.pop(app, None)

    def unclassify(self) -> None:
        """A round begins: whoever a pool guards now gets a category again, others have none."""
        for each in self._by_app.values():
            each.category = None

    def block(self, app: str, need: TaskNeed, now: float) -> None:
        """The app's driver was evicted because such tasks of its own found no room beside it."""
        self._blocked[app] = BlockedTasks(need, now)

    def blocked(self, app: str) -> TaskNeed | None:
        """Tasks that an earlier driver of the app's present run kept out.

        An evicted driver may have been the last pod of its app, and the next one comes a moment later. So this lasts
        beyond the last pod, as long as a run may pause.
        """
        known = self._blocked.get(app)
        return known.need if known is not None else None

    def give_way(self, app: str, others: Iterable[str], now: float) -> None:
        """The app's driver was evicted to end a stall in which these others waited."""
        self._given_up[app] = GivenUp(now, tuple(others))

    def behind(self, app: str, views: Mapping[str, AppView]) -> str:
        """An app that goes before this one, whose driver was given up for it; none once all of them have got on.

        Else the driver that was given up would be back in the room before those it was given up for. One whose own
        driver was given up later has had its turn: two that wait for each other would wait for ever.
        """
        known = self._given_up.get(app)
        if known is None:
            return ""
        later = {other for other, each in self._given_up.items() if each.at > known.at}
        waiting = (other for other in known.others if other in views and other not in later)
        return next((other for other in waiting if any(group.held for group in views[other].groups)), "")

    def expire(self, views: Mapping[str, AppView], now: float) -> None:
        """Forget blocked tasks of apps whose run is over, and drivers that were given up as long ago as a run lasts."""
        self._given_up = {app: each for app, each in self._given_up.items() if now - each.at <= IDLE}
        self._blocked = {app: each for app, each in self._blocked.items() if now - each.alive <= IDLE}
        for app, each in self._blocked.items():
            if app in views and not views[app].over:
                each.alive = now

    def category(self, app: str) -> Category | None:
        """The app's category; None where no pool guards its queue, or no round has seen it."""
        known = self._by_app.get(app)
        return known.category if known is not None else None

    def categories(self) -> Mapping[str, Category]:
        """Every app that has a category."""
        return {app: each.category for app, each in self._by_app.items() if each.category is not None}
