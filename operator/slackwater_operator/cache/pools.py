"""The reservation pools of the queues (paper 004): slot size, totals and the border that survives a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.cycle.appstarts.poolbuilder import PoolMember, PoolTerms, SlotScale, build_pool, slot_scale
from slackwater.cycle.snapshot import App, PodGroup, Pool
from slackwater.pools import demand as rule
from slackwater.pools.appphases import AppPhases
from slackwater.pools.demand import Wanted, more
from slackwater.pools.mediantask import MedianTask
from slackwater.pools.pools import Category, slots
from slackwater.resources import NOTHING, Resources
from slackwater.validation import clip
from slackwater_cluster.customresources import ReservationPoolSpec
from slackwater_operator.cache.apps.apphistory import AppHistories, AppHistory
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.phases import Accuracy, EndedSlots


@dataclass
class PoolState:
    """What must be remembered of one pool between rounds."""

    delta: float
    median_task: MedianTask = field(default_factory=MedianTask)  # as many as there are of it, so many slots there are
    accuracy: Accuracy = field(default_factory=Accuracy)
    ended: EndedSlots = field(default_factory=EndedSlots)


def restored(spec: ReservationPoolSpec, status: Mapping[str, object]) -> PoolState:
    """The border as a leader before us left it, else where the specification starts."""
    delta = status.get("delta")
    known = float(delta) if isinstance(delta, int | float) and 0 <= delta <= 1 else spec.delta.initial
    return PoolState(clip(known, *bounds(spec)))


def bounds(spec: ReservationPoolSpec) -> tuple[float, float]:
    """The owner's own bounds of delta."""
    low = spec.delta.minimum if spec.delta.minimum is not None else 0.0
    high = spec.delta.maximum if spec.delta.maximum is not None else 1.0
    return low, high


def pool(
    name: str,
    spec: ReservationPoolSpec,
    state: PoolState,
    apps: Sequence[AppView],
    histories: AppHistories,
    phases: AppPhases,
    *,
    capacity: Resources,
    free: Resources,
    now: float,
) -> Pool | None:
    """The pool as one round sees it; None while no task is known that could say how large a slot is."""
    for app in apps:
        state.median_task.see(f"{app.namespace}/{app.series or app.app}", _task(app))
    if not state.median_task.current:
        return None
    scale = slot_scale(capacity, state.median_task.current)
    members = [
        PoolMember(
            app.id,
            _category(app, histories.of(app.id), scale, spec.theta),
            sum(slots(group.request, scale.slot) * group.charged for group in app.groups),
            task_slots(app, scale.slot),
            app.counts.bound > 0,
        )
        for app in apps
    ]
    state.ended.count(((each.app, each.task) for each in members), phases.finished)
    terms = PoolTerms(name, state.delta, spec.theta, *bounds(spec), spec.horizon_seconds)
    return build_pool(terms, scale, members, phases, free=free, now=now)


def demand(app: AppView, slot: Resources) -> float | None:
    """Slots an app wants at once; None where nobody said and no task exists yet."""
    pods = wanted(app, slot)
    return None if pods is None else rule.demand(pods, slot)


def wanted(app: AppView, slot: Resources) -> Wanted | None:
    """The pods an app wants at once: its drivers, and the tasks that exist or, where they are more, its stated size.

    An app that is over wants nothing: a completed driver stays for people to read, and would close its pool for good.
    """
    if app.over:
        return ()
    drivers = tuple((g.request, _coming(g)) for g in app.groups if g.driver)
    tasks = tuple((g.request, _coming(g)) for g in app.groups if not g.driver)
    if app.size is not None:
        return drivers + more(tasks, ((app.size.request, app.size.tasks),), slot)
    return None if app.has_driver and not tasks else drivers + tasks


def task_slots(app: AppView, slot: Resources) -> float:
    """Slots of one task of the app; of its largest kind."""
    return max((slots(g.request, slot) for g in app.groups if not g.driver), default=0.0)


def side(guarded: Pool, kind: Category, delta: float, apps: Iterable[App]) -> dict[str, float]:
    """One side of a pool in slots, for its status; `apps` are those of this side."""
    groups = [group for app in apps for group in app.groups]
    occupied = sum(slots(group.request, guarded.slot) * group.charged for group in groups)
    wanted = sum(slots(group.request, guarded.slot) * len(group.held) for group in groups)
    size = guarded.tot * (delta if kind is Category.SMALL else 1 - delta)
    return {
        "occupied": round(occupied, 2),
        "available": round(max(0.0, size - occupied), 2),
        "demand": round(wanted, 2),
        "forecast": round(guarded.releases.get(kind, 0.0), 2),
    }


def _coming(group: PodGroup) -> int:
    """Pods of a group that are not finished."""
    return len(group.held) + group.blocked + group.charged


def _category(app: AppView, history: AppHistory, scale: SlotScale, theta: float) -> Category:
    pods = wanted(app, scale.slot)
    if app.settled:
        history.want(pods, scale.slot)
    return history.classify(pods, scale, theta)


def _task(app: AppView) -> Resources:
    """What a task of the app declares: the first kind of those that exist, else what its framework says of them."""
    existing = next((group.request for group in app.groups if not group.driver), NOTHING)
    return existing or (app.size.request if app.size is not None else NOTHING)
