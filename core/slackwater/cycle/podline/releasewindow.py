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

A gang takes all of its places at once. One that is tried again also goes where half of the window has places for all of
it beside the retries of its priority, and one of any size where none of these is on its way; one of each namespace is
not counted. So it waits for such retries alone, until they are bound or held again, and keeps places from these alone.
"""

from __future__ import annotations

from collections import Counter

from slackwater.cycle.snapshot import App, PodGroup, Snapshot


class ReleaseWindow:
    """The places of one round: those that were taken before it, and those that it takes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.size = snapshot.window
        self.flight = self._retries = 0  # pods on their way, and the retries among them
        self._by_priority = Counter[tuple[int, bool]]()  # the same by priority, and whether they are retries
        self._by_namespace = Counter[str]()  # retries
        self._kept_for: dict[bool, App] = {}  # gangs that have room and wait for places: of retries (True), of others
        for app in snapshot.apps:
            for group in app.groups:
                if group.in_flight:
                    self.take(app, group, group.in_flight)

    @property
    def left(self) -> int:
        """Places for pods that are no retries."""
        return self.size - (self.flight - self._retries) - min(self._retries, self.size // 2)

    def take(self, app: App, group: PodGroup, pods: int = 1) -> None:
        """So many go."""
        again = _is_retry(app, group)
        self.flight += pods
        self._by_priority[app.priority, again] += pods
        if again:
            self._retries += pods
            self._by_namespace[app.namespace] += pods

    def places(self, app: App, group: PodGroup) -> int:
        """How many pods of a group may still go."""
        return self.size - self.flight if self._in_crowd(app, group) else self.left

    def takes_gang(self, gang: App, pods: int) -> bool:
        """Whether so many may go at once.

        A gang larger than the window would never fit into it: it goes when nothing but more urgent pods is on its way.
        """
        places = self.places(gang, gang.groups[0])
        if pods <= places or self._takes_again(gang, pods):
            return True
        alone = not any(taken for (priority, _), taken in self._by_priority.items() if priority <= gang.priority)
        return pods > self.size and places > 0 and alone

    def _takes_again(self, gang: App, pods: int) -> bool:
        """Whether a gang of retries may go beside those of its priority that are more than one of each namespace."""
        taken = self._by_priority[gang.priority, True] - len(self._by_namespace)
        return _is_retry(gang, gang.groups[0]) and self.left > 0 and (taken <= 0 or taken + pods <= self.size // 2)

    def keep_for(self, gang: App) -> None:
        """Places are all that a gang lacks: it gets them as they come free."""
        self._kept_for[_is_retry(gang, gang.groups[0])] = gang

    def kept_for(self, app: App, group: PodGroup) -> App | None:
        """The gang for which places are kept from pods of a group."""
        return next((gang for gang in self._kept_for.values() if self.keeps(gang, app, group)), None)

    def keeps(self, gang: App, app: App, group: PodGroup) -> bool:
        """Whether a gang that waits for places keeps them from a group of no higher priority: a retry from retries."""
        kind = not _is_retry(gang, gang.groups[0]) or self._in_crowd(app, group)
        return kind and app.priority <= gang.priority

    def closed_to(self, app: App, group: PodGroup) -> bool:
        """Whether no pod of a group may go: there is no place for it, or places are kept for a gang."""
        return self.places(app, group) <= 0 or self.kept_for(app, group) is not None

    def _in_crowd(self, app: App, group: PodGroup) -> bool:
        """Whether the next pod of a group would be one more retry of a namespace, or a gang of them."""
        return _is_retry(app, group) and (app.gang or self._by_namespace[app.namespace] > 0)


def _is_retry(app: App, group: PodGroup) -> bool:
    """Whether pods of a group are retries; of a gang, which goes as a whole, all are."""
    return any(each.tried for each in app.groups) if app.gang else group.tried
