"""Waits at the extender for room that came free, so that held pods are decided on at once.

Its watch may show a pod's end after ours does, and samples show room that no watch shows: without this, either would be
found by the next round that happens for another reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from slackwater.errors import Unavailable
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.clients.extenderclient import WAIT, PlacementSource
from slackwater_operator.release.pace import LEAST

TROUBLE = 1.0  # seconds before it is asked again where it does not answer, or lets nobody wait


@dataclass
class RoomWatch:
    """Calls `wake` when the extender's ledger may have more room than before, while pods are held."""

    cache: OperatorCache
    places: PlacementSource
    wake: Callable[[], None]
    period: float  # seconds between two looks whether pods are held
    _number: int = 0  # the last moment at which room came free, by the extender's count

    async def look(self) -> None:
        """Wait once; held pods have a round when something came free."""
        if not self.cache.holding:
            await asyncio.sleep(self.period)
            return
        began = perf_counter()
        try:
            number = await self.places.freed(self._number)
        except Unavailable:  # rounds find that out too, and say so
            await asyncio.sleep(TROUBLE)
            return
        if number != self._number:
            self._number = number
            self.cache.press()
            self.wake()
            await asyncio.sleep(LEAST)
        elif perf_counter() - began < WAIT / 2:  # others wait there, and we may not
            await asyncio.sleep(TROUBLE)
