"""Room that is kept for an app which has waited longer than patience and fits nowhere, until its deadline.

Its claim lasts one patience and rests for one, so that what does not come together for long does not idle the nodes.
Nothing is kept for a gang that the nodes could not hold at once even without other pods of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.earlystart import at_once
from slackwater.cycle.podline.readiness import lacking_room
from slackwater.cycle.snapshot import App, PodGroup, Queue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class Assembly:
    """The app of one queue for which room is kept in this round, if any."""

    def __init__(
        self,
        rooms: NodeRooms,
        driver_nodes: DriverNodes,
        empty: EmptyNodes,
        shapes: Mapping[tuple[str, str], int],
        queue: Queue,
        now: float,
        patience: float,
    ) -> None:
        self._rooms, self._driver_nodes, self._empty, self._shapes = rooms, driver_nodes, empty, shapes
        self._queue, self._now, self._patience = queue, now, patience
        self._usable: dict[str, Mask] = {}  # by app: the nodes on which it could start
        self.app: App | None = None
        self.keeps = False  # whether it fits nowhere yet, so that room is kept from others

    def deadline(self, app: App) -> float | None:
        """Until when an app may keep room that it cannot use yet; None while it may not."""
        since = app.waits_since
        periods = int((self._now - since) / self._patience) if self._patience > 0 else 0
        return since + (periods + 1) * self._patience if periods > 0 and periods % 2 == 1 else None

    def may_claim(self, app: App) -> bool:
        """Whether an app has waited long enough for room, and nothing else keeps it: it could not use any."""
        return (
            self.deadline(app) is not None and (app.started or not app.behind) and bool(lacking_room(app, self._queue))
        )

    def could_use(self, app: App, queue: Queue, rows: Mask) -> bool:
        """Whether something of an app that lacks nothing but room could start on one of these nodes."""
        if app.id not in self._usable:
            shapes = self._rooms.shapes(queue, lacking_room(app, queue))
            masks = [self._rooms.possible(shape) for shape in set(shapes)]
            self._usable[app.id] = np.logical_or.reduce([np.zeros(len(self._rooms.names), np.bool_), *masks])
        return bool((self._usable[app.id] & rows).any())

    def keep(self, app: App) -> bool:
        """Keep room for an app that may claim some; False where nothing that is kept could help it."""
        ready = lacking_room(app, self._queue)
        groups = at_once(app) if app.gang and ready else ready
        held = [(self._shapes[app.id, group.key], len(group.held)) for group in groups]
        if not held or not self._driver_nodes.serves(app):
            return False
        if app.gang:
            return self._keep_whole(app, held)
        if not any(self._rooms.fits(shape) for shape, _ in held):
            row = self._rooms.roomiest(held[0][0], self._open_to(app, groups[0]))
            if row < 0:
                return False
            self._rooms.keep_row(row)
            self.keeps = True
        self.app = app
        return True

    def _keep_whole(self, gang: App, held: Sequence[tuple[int, int]]) -> bool:
        """Keep room for as many pods of a gang as find any; nothing where it would never come together."""
        keeps = not self._rooms.holds_all(held)
        if keeps and not self._empty.could_hold(gang):
            return False
        if keeps:
            self._rooms.keep_most(held)
        self.app, self.keeps = gang, keeps
        return True

    def _open_to(self, app: App, group: PodGroup) -> Floats | None:
        """What tasks leave of each node once they have ended; nothing of one that a driver may not take even then."""
        if not self._driver_nodes.known:
            return None
        barred = self._driver_nodes.bars(app, group.request).barred if group.driver else None
        return self._driver_nodes.left if barred is None else np.where(barred[:, None], 0.0, self._driver_nodes.left)


def idle(app: App) -> bool:
    """A started app of which no task runs and some wait."""
    tasks = [group for group in app.groups if not group.driver]
    return any(group.held and not group.pausing for group in tasks) and not any(group.charged for group in tasks)
