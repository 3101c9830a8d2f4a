"""How large an app is: its driver, one task, the slots of a pool that it takes or will take, what it has still to run.

Measured once per app, and again only when it has changed; every test of the round reads the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slackwater.cycle.snapshot import App, PodGroup, PoolScale
from slackwater.pools.pools import Category, classify, slots
from slackwater.resources import NOTHING, Resources, largest, times

# Stands for what pods ask of a node beside room where nobody knows it: any node of the queue may do.
ANY = "?"


class AppSize(NamedTuple):
    """One app, measured. Slots are 0 where no pool guards its queue."""

    category: Category
    driver: Resources  # what its drivers declare together
    task: Resources  # what one task declares
    slots: tuple[float, ...]  # of one pod, group by group
    charged: float  # slots its released and running pods take
    held: float  # slots its held pods would take
    held_pods: int
    coming: float  # slots of all pods that are not finished

    @property
    def first(self) -> Resources:
        """What the app takes to begin with: its driver and one task."""
        return self.driver + self.task

    def demand(self, app: App) -> float:
        """Slots the app wants at once; an unknown size counts by what is known to exist."""
        return app.demand if app.demand is not None else self.held + self.charged

    def committed(self, app: App) -> float:
        """Slots a started app occupies: what it has, and what it was let in for and will still ask for.

        A driver starts before its tasks exist; without the commitment the next app would be let in on its slots.
        """
        if app.demand is None:
            return self.charged
        return max(self.charged, min(app.demand, self.coming))


class TaskNeed(NamedTuple):
    """Tasks of one kind that are still to run: what one asks for, where it may run, how many run at once."""

    request: Resources
    constraints: str
    queue: str
    together: int = 1
    later: bool = False  # another stage comes first


class TaskReach(NamedTuple):
    """Tasks of an app that ask the same of a node beside room, and their sizes; nothing while nobody knows any."""

    constraints: str
    requests: tuple[Resources, ...]


class AppHead(NamedTuple):
    """What of an app goes first."""

    groups: tuple[PodGroup, ...]  # its drivers that are held; where there are none, all groups with held pods
    driver: PodGroup | None  # the first of these drivers


class AppFacts(NamedTuple):
    """What the tests of a round ask of an app's groups, whatever its pool."""

    driver: PodGroup | None  # a driver that is held
    home: str  # what its driver asks of a node beside room
    reach: tuple[TaskReach, ...]  # where its tasks may run; while there are none, where its driver may
    needs: tuple[TaskNeed, ...]  # what is still to run beside drivers
    guessed: bool = False  # tasks were announced, and none was ever seen: they are taken to run where its driver may

    def anywhere(self) -> AppFacts:
        """The same if nothing is taken to be known of where its announced tasks may run."""
        last = self.needs[-1]
        reach = tuple(dict.fromkeys(each._replace(constraints=ANY) for each in self.reach))
        return self._replace(reach=reach, needs=(*self.needs[:-1], last._replace(constraints=ANY)), guessed=False)


class AppSizes:
    """Apps and their sizes, kept by whoever decides round after round: what did not change is not measured again."""

    def __init__(self) -> None:
        # By app, each beside what it was told of.
        self._known: dict[str, tuple[App, PoolScale | None, AppSize]] = {}
        self._heads: dict[str, tuple[App, AppHead]] = {}
        self._facts: dict[str, tuple[App, AppFacts]] = {}

    def of(self, app: App, scale: PoolScale | None) -> AppSize:
        """The app in slots of its pool, if it has one."""
        known = self._known.get(app.id)
        if known is None or known[0] is not app or known[1] != scale:
            known = self._known[app.id] = app, scale, measure(app, scale)
        return known[2]

    def head(self, app: App) -> AppHead:
        """What of the app goes first."""
        known = self._heads.get(app.id)
        if known is None or known[0] is not app:
            known = self._heads[app.id] = app, head(app)
        return known[1]

    def facts(self, app: App) -> AppFacts:
        """What else of the app needs no pool to be told."""
        known = self._facts.get(app.id)
        if known is None or known[0] is not app:
            known = self._facts[app.id] = app, facts(app)
        return known[1]

    @property
    def count(self) -> int:
        """Apps of which something is kept."""
        return max(len(self._known), len(self._heads), len(self._facts))

    def forget_others(self, apps: Sequence[App]) -> None:
        """Keep these apps only; looked after where many are gone."""
        if self.count > 2 * len(apps) + 100:
            stay = {app.id for app in apps}
            self._known = {name: known for name, known in self._known.items() if name in stay}
            self._heads = {name: known for name, known in self._heads.items() if name in stay}
            self._facts = {name: known for name, known in self._facts.items() if name in stay}


def measure(app: App, scale: PoolScale | None) -> AppSize:
    """Measure one app in slots of its pool."""
    drivers, tasks = parts(app)
    each: list[float] = []
    size = charged = held = coming = 0.0
    pods, asked = 0, None
    for group in app.groups:
        waiting = len(group.held)
        pods += waiting
        if scale:
            if group.request is not asked:  # stages of an app often ask for the same
                asked, size = group.request, slots(group.request, scale.slot)
            each.append(size)
            charged += size * group.charged
            held += size * waiting
            coming += size * (group.total - group.finished)
    # The tasks of a driver that has just started do not exist yet: its whole demand is still to come.
    if app.has_driver and not (tasks or app.tasks):
        coming = app.demand or 0.0
    own = category(app, scale), driver_size(drivers), task_size(app, tasks)
    return AppSize(*own, tuple(each) or (0.0,) * len(app.groups), charged, held, pods, coming if scale else 0.0)


def parts(app: App) -> tuple[Sequence[PodGroup], Sequence[PodGroup]]:
    """The groups of an app that have not ended: its drivers, and all others."""
    drivers, tasks = list[PodGroup](), list[PodGroup]()
    for group in app.groups:
        if not group.finished or group.held or not group.ended:  # what is held has not ended: no need to count
            (drivers if group.driver else tasks).append(group)
    return drivers, tasks


def category(app: App, scale: PoolScale | None) -> Category:
    """The app's class: as given, by the most it has wanted, else by its demand; an unknown size counts as large."""
    if app.category is not None:
        return app.category
    if scale is None or app.demand is None:
        return Category.LARGE
    return classify(app.demand, scale.nominal, scale.theta)


def driver_size(drivers: Sequence[PodGroup]) -> Resources:
    """What an app's drivers declare together; nothing where it has none."""
    each = [(group.request, max(1, len(group.held) + group.charged)) for group in drivers]
    return each[0][0] if len(each) == 1 and each[0][1] == 1 else times(each)


def task_size(app: App, tasks: Sequence[PodGroup]) -> Resources:
    """What one task declares: the largest of the groups that have pods, else what the app announced.

    A group that no node could ever take has none left (`impossible`): it only counts where there is no other, and
    refuses an app that has not started.
    """
    counted = [group for group in tasks if group.held or group.total] or ([] if app.started else tasks)
    requests = [group.request for group in counted]
    if app.task_request is not None:
        requests.append(app.task_request)
    first = requests[0] if requests else NOTHING
    if all(request is first or request == first for request in requests):
        return first
    return largest(requests)


def one_of(kinds: Sequence[TaskNeed], needs: Sequence[TaskNeed], task: Resources) -> Resources:
    """What one task asks for if it is of these kinds; `task` where they are all that an app needs."""
    if len(kinds) == len(needs):
        return task
    return largest(need.request for need in kinds)


def head(app: App) -> AppHead:
    """Drivers go before everything else of their app."""
    held = tuple([group for group in app.groups if group.held])
    drivers = tuple([group for group in held if group.driver])
    return AppHead(drivers or held, drivers[0] if drivers else None)


def facts(app: App) -> AppFacts:
    """Look at the groups of one app."""
    drivers, tasks = parts(app)
    driver = head(app).driver
    home = next((group.constraints for group in (driver, *drivers) if group is not None), "")
    reach = tuple(task_reach(app, drivers, tasks))
    coming = announces(app, tasks)
    needs = tuple(task_needs(app, tasks, home, coming=coming))
    guessed = coming and all(group.driver for group in app.groups)
    return AppFacts(driver, home, reach, needs, guessed)


def task_reach(app: App, drivers: Sequence[PodGroup], tasks: Sequence[PodGroup]) -> Iterable[TaskReach]:
    """Where tasks of the app may run: one entry at the least, unless nothing of it is left."""
    sizes: dict[str, dict[Resources, None]] = {}
    for group in tasks or drivers:
        asked = group.request if tasks else app.task_request or NOTHING
        sizes.setdefault(group.constraints, {})[asked] = None
    return (TaskReach(name, tuple(sizes[name])) for name in sorted(sizes))


def task_needs(app: App, tasks: Sequence[PodGroup], home: str, *, coming: bool) -> Iterable[TaskNeed]:
    """What of the app is still to run beside drivers: pods that wait, and those to come while somebody makes them.

    `coming`: tasks were announced of which none is there (`announces`).
    """
    led = _led(app)
    for group in tasks:
        if group.held or group.growing_in_vain or (led and group.total > group.charged + group.finished):
            together = max(1, len(group.held) + group.charged) if app.gang else 1
            yield TaskNeed(group.request, group.constraints, app.queue, together, group.waiting)
    if app.task_request is not None and coming:
        yield TaskNeed(app.task_request, home, app.queue, app.together)


def announces(app: App, tasks: Sequence[PodGroup]) -> bool:
    """Whether tasks of a size that is known are still to come, and none of them is there."""
    return (
        bool(app.task_request)
        and _led(app)
        and not any(group.alive for group in tasks)
        and (app.begins_anew or not app.tasks)
    )


def _led(app: App) -> bool:
    """Whether a driver is there or may still come: one that has ended makes no more tasks."""
    drivers = [group for group in app.groups if group.driver]
    return not drivers or any(group.total > group.finished for group in drivers)
