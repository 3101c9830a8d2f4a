"""The pods of the ledger: which slot each has, and the facts about it that whole-array arithmetic needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.podmatrix import grown
from slackwater.ledger.types import PodClaim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class PodIndex:
    """Claims by uid and by slot, with per-slot arrays beside them."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self._claims: list[PodClaim | None] = []
        self._started: Floats = np.full(64, np.nan)
        self._apps: NDArray[np.intp] = np.zeros(64, np.intp)
        self._drivers: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._changed: NDArray[np.bool_] = np.zeros(64, np.bool_)

    @property
    def started(self) -> Floats:
        """Container start per slot, NaN before it."""
        return self._started[: len(self._claims)]

    @property
    def apps(self) -> NDArray[np.intp]:
        """Id of the app per slot."""
        return self._apps[: len(self._claims)]

    @property
    def drivers(self) -> NDArray[np.bool_]:
        """Which slots hold drivers."""
        return self._drivers[: len(self._claims)]

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which slots hold pods of which something has changed since somebody looked and cleared it."""
        return self._changed[: len(self._claims)]

    def __getitem__(self, slot: int) -> PodClaim:
        claim = self._claims[slot]
        if claim is None:
            raise LookupError(f"slot {slot} is free")
        return claim

    def __iter__(self) -> Iterator[PodClaim]:
        return (claim for claim in self._claims if claim is not None)

    def enter(self, slot: int, claim: PodClaim, app: int) -> None:
        """Note a claim, or its change."""
        self._reserve(slot + 1)
        self.slots[claim.uid] = slot
        self._claims[slot] = claim
        self._started[slot] = np.nan if claim.started is None else claim.started
        self._apps[slot] = app
        self._drivers[slot] = claim.driver
        self._changed[slot] = True

    def forget(self, slot: int) -> None:
        """Free a slot."""
        del self.slots[self[slot].uid]
        self._claims[slot] = None
        self._started[slot] = np.nan
        self._apps[slot] = 0
        self._drivers[slot] = self._changed[slot] = False

    def find(self, uids: Collection[str]) -> NDArray[np.intp]:
        """The slot of each pod, −1 where it is not known."""
        return np.fromiter(map(self.slots.get, uids, repeat(-1)), np.intp, len(uids))

    def _reserve(self, size: int) -> None:
        if size <= len(self._claims):
            return
        self._claims.extend([None] * (size - len(self._claims)))
        self._started = grown(self._started, 0, size)
        self._apps = grown(self._apps, 0, size)
        self._drivers = grown(self._drivers, 0, size)
        self._changed = grown(self._changed, 0, size)
