"""Looks up owners that recognition asks about, once each.

Runs beside the rounds, never inside one: an app whose owners are not known yet waits, and nobody else does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from slackwater_cluster.api.session import Session
from slackwater_cluster.apps.ownerlookup import OwnerReader, Parents
from slackwater_cluster.objects.records import OwnerRef
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import Part, sentence


@dataclass
class OwnerLookup:
    """Asks the API server about owners."""

    session: Session
    clock: Callable[[], float] = monotonic
    turned: asyncio.Event = field(default_factory=asyncio.Event)  # a round began: there may be something to look up

    def __post_init__(self) -> None:
        self._owners = OwnerReader(self.session, self.clock)

    async def run(self, cache: OperatorCache, learned: Callable[[], None]) -> None:
        """Look up what is unknown, until nothing is due; `learned` is called after each answer."""

        def note(owner: OwnerRef, parents: Parents) -> None:
            _note(cache, owner, parents)
            learned()

        await self._owners.run(cache.index.unknown, note)


def _note(cache: OperatorCache, owner: OwnerRef, parents: Parents) -> None:
    if isinstance(parents, Exception):
        for pod in cache.index.asking(owner.key):
            words = f"its owner {owner.kind} {owner.name!r} cannot be looked up and counts as topmost"
            cache.quarantine.add(Part.OWNER, pod, f"{words}: {sentence(parents)}")
        parents = ()
    cache.learn(owner, parents)
