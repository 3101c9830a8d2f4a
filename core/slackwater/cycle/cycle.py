"""One round: a snapshot in; releases in order, and a verdict with numbers for every app, out.

    1. sort the apps into their queues; growth pods under way take their room; set aside what no node could ever take
    2. start whoever passes driver admission (002) and pool (004)                 admit
    3. line up the held pods of started apps by preference (001) or level (003)   releasequeue
    4. release from the lines in turn, as far as nodes, pools and the window allow; then, of the room that nobody with
       a better claim can use, whatever fits (work conservation); then, where nodes may be added, pods towards those
                                                                                  queuepass, growthpods, nodegrowth
    5. say of everything that is still held why, for whom, and for how long       holdreasons

The operator and the simulator run this very function; placement then names a node for each release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.admission.budget import Budget, budget
from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.appstarts.nodegrowth import NodeGrowth
from slackwater.cycle.appverdicts import Verdict
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.holdreasons import verdicts
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.growthpods import grow
from slackwater.cycle.podline.releasewindow import ReleaseWindow
from slackwater.cycle.queuepass import Lane, Release, lane, release_all
from slackwater.cycle.snapshot import App, Queue, Snapshot
from slackwater.pools.pools import Adjustment, Category

__all__ = ["Release", "Round", "decide"]


@dataclass(frozen=True, slots=True)
class Round:
    """What one round decided."""

    releases: tuple[Release, ...]
    verdicts: Mapping[str, Verdict]  # by app
    started: tuple[str, ...]  # apps that start with this round
    categories: Mapping[str, Category]
    adjustments: Mapping[str, Adjustment]  # by pool: the new delta, and which branch moved it
    budgets: Mapping[str, Budget]  # by queue
    alphas: Mapping[str, float]  # by queue: HaSTE-A's factor, for placement to go by
    growth_with_room: tuple[str, ...] = ()  # growth pods that fit a node now: they get it before any release


def decide(snapshot: Snapshot, *, explain: bool = True, sizes: AppSizes | None = None) -> Round:
    """Decide one round. Equal snapshots give equal rounds, in whatever order their members are listed.

    Whoever decides often gives the same `sizes` again, so that only apps that changed are measured. `explain=False`
    leaves verdicts and budgets out, where nobody reads them (the simulator). Decisions are the same either way.
    """
    sizes = AppSizes() if sizes is None else sizes
    rooms, driver_nodes, empty = NodeRooms(snapshot), DriverNodes(snapshot, sizes), EmptyNodes(snapshot)
    sizes.forget_others(snapshot.apps)
    queues = _by_queue(snapshot)
    growths = [NodeGrowth(queue, apps, rooms) for queue, apps in queues]
    lanes = [
        lane(snapshot, rooms, driver_nodes, empty, growth, apps, sizes)
        for growth, (_, apps) in zip(growths, queues, strict=True)
    ]
    window = ReleaseWindow(snapshot)
    release_all(lanes, window)
    for each in lanes:
        grow(each)
    return Round(
        releases=tuple(release for each in lanes for release in each.releases),
        verdicts=verdicts(snapshot, lanes, window) if explain else {},
        started=_started(lanes),
        categories={app: size.category for each in lanes for app, size in each.admission.sizes.items()},
        adjustments={
            each.pool.name: each.starts.adjustment
            for each in lanes
            if each.pool is not None and each.starts.adjustment is not None
        },
        budgets={each.queue.name: budget(each.queue.capacity, each.admission.means) for each in lanes if explain},
        alphas={each.queue.name: each.alpha for each in lanes},
        growth_with_room=tuple(uid for growth in growths for uid in growth.with_room),
    )


def _started(lanes: Sequence[Lane]) -> tuple[str, ...]:
    """Apps of which something goes for the first time."""
    found: dict[str, None] = {}
    for each in lanes:
        running = {app.id for app in each.admission.running}
        found.update(dict.fromkeys(release.app for release in each.releases if release.app not in running))
    return tuple(found)


def _by_queue(snapshot: Snapshot) -> list[tuple[Queue, list[App]]]:
    apps: dict[str, list[App]] = {queue.name: [] for queue in snapshot.queues}
    for app in sorted(snapshot.apps, key=lambda app: (app.submitted, app.id)):
        if app.queue in apps:
            apps[app.queue].append(app)
    return [(queue, apps[queue.name]) for queue in sorted(snapshot.queues, key=lambda queue: queue.name)]
