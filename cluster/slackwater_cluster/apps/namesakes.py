"""Living drivers that nobody owns and that carry one app label: which of them is the first, however many they are."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from slackwater_cluster.objects.records import PodRecord

SPARE = 16  # drivers gone that are kept in the order at least


class Namesakes:
    """A heap by age. Who has gone leaves it when at its head, or when most of it has."""

    def __init__(self) -> None:
        self._living: set[str] = set()
        self._order: list[tuple[float, str]] = []  # when it was created, uid

    def __len__(self) -> int:
        return len(self._living)

    @property
    def first(self) -> str:
        """The uid of the oldest; "" where there is none."""
        while self._order and self._order[0][1] not in self._living:
            heappop(self._order)
        return self._order[0][1] if self._order else ""

    def add(self, driver: PodRecord) -> None:
        """A driver came."""
        self._living.add(driver.uid)
        heappush(self._order, (driver.created, driver.uid))

    def drop(self, uid: str) -> None:
        """It ended, or leads no longer."""
        self._living.discard(uid)
        if len(self._order) > 2 * len(self._living) + SPARE:
            self._order = [each for each in self._order if each[1] in self._living]
            heapify(self._order)
