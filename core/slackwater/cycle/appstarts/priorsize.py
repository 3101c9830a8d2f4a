"""Task sizes that are taken from an earlier run of an app's name, before any task of this run exists.

Such a size is a guess: another app may have had the name, and this run may ask for something else. It may cost an app
its turn, but it must not keep an app out for ever. So a size that could not run beside the app's driver is forgotten,
and the app is one of which nobody knows what its tasks ask for. What pods of others hold does not count as room here:
who they belong to, and when they end, nobody knows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from slackwater.cycle.appsize import parts
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot


def without_impossible(snapshot: Snapshot, guessed: Collection[str]) -> Snapshot:
    """The snapshot without task sizes that cannot be true, of these apps."""
    if not guessed:
        return snapshot
    driver_nodes, queues = DriverNodes(snapshot), {queue.name: queue for queue in snapshot.queues}
    doubted = {
        app.id: replace(app, task_request=None, together=1, tasks_to_come=app.has_driver)
        for app in snapshot.apps
        if app.id in guessed and not _possible(app, queues.get(app.queue), driver_nodes)
    }
    return replace(snapshot, apps=tuple(doubted.get(app.id, app) for app in snapshot.apps)) if doubted else snapshot


def _possible(app: App, queue: Queue | None, driver_nodes: DriverNodes) -> bool:
    drivers, tasks = parts(app)
    boss = drivers[0] if drivers else None
    # Tasks that are there say themselves what they ask for.
    if boss is None or tasks or not app.task_request or queue is None or queue.grows:
        return True
    return _within(app, boss, queue) and driver_nodes.together(app, boss, beside_others=True)


def _within(app: App, boss: PodGroup, queue: Queue) -> bool:
    """Whether the queue may ever have so much."""
    asked = boss.request + (app.task_request or boss.request)
    return not queue.maximum or all(asked[kind] <= most for kind, most in queue.maximum.items())
