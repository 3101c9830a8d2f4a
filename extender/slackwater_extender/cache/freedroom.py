"""Numbers the moments at which room came free, so that whoever waits for room need not ask again and again."""

from __future__ import annotations

import threading


class FreedRoom:
    """A count of moments at which room may have grown, and a way to wait for the next one."""

    def __init__(self) -> None:
        self._number = 0
        self._changed = threading.Condition()

    def note(self) -> None:
        """Room may have grown: a pod left, a node changed, samples came."""
        with self._changed:
            self._number += 1
            self._changed.notify_all()

    def after(self, number: int, wait: float) -> int:
        """The number of the last such moment, waiting some seconds for another than `number`.

        Another, not a later one: after a restart the count begins anew.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._number != number, timeout=wait)
            return self._number
