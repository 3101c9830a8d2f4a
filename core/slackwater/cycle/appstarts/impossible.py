"""What no node could ever take: such pods hold nothing, count nowhere, and are refused with the numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

from slackwater.admission.budget import in_words
from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.appverdicts import Verdict, WaitReason, describe, enlarged
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.earlystart import at_once, precedes
from slackwater.cycle.snapshot import App, PodGroup, Queue
from slackwater.resources import Resources, times

NAMED = 4  # sizes of a gang's pods that a sentence names


class PossibleApps:
    """The apps of one queue without groups that no node could ever take, and the shapes of the others."""

    def __init__(self, queue: Queue, rooms: NodeRooms, empty: EmptyNodes, apps: Sequence[App]) -> None:
        self._queue, self._rooms, self._empty = queue, rooms, empty
        self.shapes: dict[tuple[str, str], int] = {}  # of groups with held pods, by app and key
        self._impossible: dict[str, PodGroup] = {}  # by app: a group that no node could ever take
        self.apps = self._shaped(apps)

    def _shaped(self, apps: Sequence[App]) -> list[App]:
        held = [(app, group) for app in apps for group in app.groups if group.held]
        numbers = self._rooms.shapes(self._queue, [group for _, group in held])
        for (app, group), number in zip(held, numbers, strict=True):
            self.shapes[app.id, group.key] = number
        if self._queue.grows:
            return list(apps)  # nodes that do not exist yet may be larger
        never = {number for number in set(numbers) if not self._rooms.possible(number).any()}
        if not never:
            return list(apps)
        return [self._without(app, never) for app in apps]

    def _without(self, app: App, never: Collection[int]) -> App:
        lost = [g for g in app.groups if g.held and self.shapes[app.id, g.key] in never]
        if not lost:
            return app
        self._impossible[app.id] = lost[0]
        whole = app.gang or any(group.driver for group in lost)
        # A later stage would hold its room for ever: what it waits for never runs.
        gone = {group.key for group in lost}
        first = {(group.level, group.waiting): group for group in lost}.values()  # this tells what waits for a group

        def vain(group: PodGroup) -> bool:
            return whole or group.key in gone or any(precedes(app, each, group) for each in first)

        groups = tuple(replace(g, held=()) if g.held and vain(g) else g for g in app.groups)
        return replace(app, groups=groups)

    def too_large(self, app: App, position: int) -> Verdict | None:
        """The verdict on an app of which nothing is left but what no node could ever take."""
        group = self._impossible.get(app.id)
        if group is None or app.held_pods:
            return None
        kind, ask, most = self._rooms.largest(self.shapes[app.id, group.key])
        missing = next((k for k, value in group.request.items() if value > 0 and k not in self._rooms.kinds), None)
        if missing is not None:
            kind, ask, most = missing, group.request[missing], 0.0
        numbers = {"queue": self._queue.name, "kind": kind, "ask": in_words(kind, ask), "most": in_words(kind, most)}
        return Verdict(app.id, WaitReason.TOO_LARGE, numbers, position)

    def gang_too_large(self, app: App, position: int) -> Verdict | None:
        """The verdict on a gang of which one group is more than all nodes together could hold, were they empty."""
        for group in app.groups if app.gang else ():
            places = self._rooms.places(self.shapes[app.id, group.key]) if group.held else group.together
            if group.held and self._rooms.known and group.together > places:
                return self._never(
                    app, f"at most {places} of its {group.together} pods of {describe(group.request)}", position
                )
        return None

    def never_together(self, app: App, position: int) -> Verdict | None:
        """The verdict on a gang whose pods of several sizes the empty nodes could not hold together."""
        if not app.gang or (short := self._empty.shortage(app)) is None:
            return None
        if short.kind:
            size = f"{in_words(short.kind, short.size)} {short.kind}"
            return self._never(app, f"at most {short.places} of its {short.pods} pods of {size} or more", position)
        sizes = [f"{len(group.held)} of {describe(group.request)}" for group in at_once(app)]
        more = ["others"] if len(sizes) > NAMED else []
        return self._never(app, f"only a part of these {short.pods}: {', '.join([*sizes[:NAMED], *more])}", position)

    def _never(self, app: App, most: str, position: int) -> Verdict:
        numbers = {"queue": self._queue.name, "most": most, "remedy": enlarged(self._queue.maximum)}
        return Verdict(app.id, WaitReason.GANG_TOO_LARGE, numbers, position)

    def beyond_all(self, app: App, position: int) -> Verdict | None:
        """The verdict on an app of which nothing is within what the queue may ever have: no pod, or not its gang."""
        if app.gang:
            pieces = [times((group.request, group.together) for group in app.groups)]
        else:
            pieces = [group.request for group in app.groups if group.held]
        lacking = [self._beyond(asked) for asked in pieces]
        if not lacking or not all(lacking):
            return None
        asked, kind, most = pieces[0], lacking[0], self._most
        numbers = {"ask": asked[kind], "kind": kind, "queue": self._queue.name, "limit": most[kind]}
        numbers["remedy"] = enlarged(self._queue.maximum)
        return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position)

    def _beyond(self, asked: Resources) -> str:
        """A kind of which more is asked for than there may ever be; nobody knows of those a maximum does not name."""
        unbounded = set(asked) - set(self._queue.maximum or asked) if self._queue.grows else set[str]()
        return next((kind for kind in asked.lacking(self._most) if kind not in unbounded), "")

    @cached_property
    def _most(self) -> Resources:
        """The most that there may ever be."""
        return self._queue.most(self._empty.capacity(self._queue))


def incomplete(app: App, position: int = 0) -> Verdict | None:
    """A gang's tasks go all at once or not at all, so all must exist first; a driver that makes them goes before.

    While some of them run, all have been there: what is made anew meanwhile need not be complete again. Those that have
    finished count for nothing: pods made anew after all of them ended are the next try of the whole gang.
    """
    if not app.gang:
        return None
    tasks = [group for group in app.groups if not (group.driver or group.ended)]
    if not tasks or any(group.charged for group in tasks):
        return None
    drivers = sum(group.together for group in app.groups if group.driver)
    expected = drivers + max(app.announced, sum(group.together for group in tasks))
    present = app.held_pods + sum(group.charged for group in app.groups)
    if present >= expected:
        return None
    return Verdict(app.id, WaitReason.GANG, {"expected": expected, "present": present}, position)
