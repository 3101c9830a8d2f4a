"""How many pods may be on their way to a node at once, all queues together: the window of releases.

A pod that the scheduler never binds takes a place until it is parked, and is tried again and again. Many of them would
take all places from everybody, for as long as they are tried. So retries take at most half of the window from others:

    W        the window
    r, f     retries on their way, and all other pods
    a retry goes         while r + f < W
    any other pod goes   while min(r, W ÷ 2) + f < W

The first retry of a namespace that has none on its way goes like any other pod, so that no namespace keeps out the
retries of another one. Nobody is held back by all this who would go without it. While nobody else waits, retries have
the whole window, and who comes then still finds the other half; so there may be one window and a half on their way, and
one pod more of each namespace. Places are taken in the order of the round: priority decides who gets the next one. What
a retry may wait for while pods of lower priority go is other retries of its own namespace.

A gang takes all of its places at once, and counts as no retry however often it was tried: it waits for places that are
kept for it, from everybody of no higher priority.
"""

from __future__ import annotations

from collections import Counter

from slackwater.cycle.snapshot import App, PodGroup, Snapshot


class ReleaseWindow:
    """The places of one round: those that were taken before it, and those that it takes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.size = snapshot.window
        self.flight = self._retries = 0  # pods on their way, and the retries among them
        self._by_priority = Counter[int]()  # pods on their way
        self._by_namespace = Counter[str]()  # retries
        self._gang: App | None = None  # it has room and waits for places
        for app in snapshot.apps:
            for group in app.groups:
                if group.released and group.in_flight:
                    self.take(app, group, group.in_flight)

    @property
    def left(self) -> int:
        """Places for pods that are no retries."""
        return self.size - (self.flight - self._retries) - min(self._retries, self.size // 2)

    def take(self, app: App, group: PodGroup, pods: int = 1) -> None:
        """So many go."""
        self.flight += pods
        self._by_priority[app.priority] += pods
        if _is_retry(app, group):
            self._retries += pods
            self._by_namespace[app.namespace] += pods

    def places(self, app: App, group: PodGroup) -> int:
        """How many pods of a group may still go."""
        return self.size - self.flight if self._in_crowd(app, group) else self.left

    def takes_gang(self, gang: App, pods: int) -> bool:
        """Whether so many may go at once.

        A gang larger than the window would never fit into it: it goes when nothing but more urgent pods is on its way.
        """
        alone = not any(taken for priority, taken in self._by_priority.items() if priority <= gang.priority)
        return pods <= self.left or (pods > self.size and self.left > 0 and alone)

    def keep_for(self, gang: App) -> None:
        """Places are all that a gang lacks: it gets them as they come free."""
        self._gang = gang

    def kept_for(self, app: App) -> App | None:
        """The gang for which places are kept from pods of an app, which is of no higher priority."""
        return self._gang if self._gang is not None and app.priority <= self._gang.priority else None

    def closed_to(self, app: App, group: PodGroup) -> bool:
        """Whether no pod of a group may go: there is no place for it, or places are kept for a gang."""
        return self.places(app, group) <= 0 or self.kept_for(app) is not None

    def _in_crowd(self, app: App, group: PodGroup) -> bool:
        """Whether the next pod of a group would be one more retry of a namespace."""
        return _is_retry(app, group) and self._by_namespace[app.namespace] > 0


def _is_retry(app: App, group: PodGroup) -> bool:
    return group.tried and not app.gang
