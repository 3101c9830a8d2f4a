"""What placement may not reorder: PriorityClass and fair shares, decided when pods were chosen for release.

    class of a release = (priority of its app, its namespace where the queue is fair)
    a new rank begins where the next release of a queue is of another class than its last one in this rank

Within a rank the pods of each queue are equals: there HaSTE (paper 001) chooses by fitness on the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.cycle.cycle import Release
from slackwater.cycle.snapshot import Order, Snapshot


def ranks(snapshot: Snapshot, releases: Iterable[Release]) -> dict[str, int]:
    """The rank of each pod by uid; `releases` stand in the order in which they were chosen."""
    apps = {app.id: app for app in snapshot.apps}
    fair = {queue.name for queue in snapshot.queues if queue.order is Order.FAIR}
    found: dict[str, int] = {}
    rank, classes = 0, dict[str, tuple[int, str]]()
    for release in releases:
        app = apps[release.app]
        own = app.priority, app.namespace if app.queue in fair else ""
        if classes.get(app.queue, own) != own:
            rank += 1
            classes.clear()
        classes[app.queue] = own
        found[release.uid] = rank
    return found
