"""Looks up owners that recognition asks about, and the sizes that frameworks' own objects state. Once each.

Runs beside the rounds, never inside one: an app whose owners or size are not known yet waits, and nobody else does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.apps.ownerlookup import AT_ONCE, TOGETHER, OwnerReader
from slackwater_cluster.apps.size import AppSize, from_object
from slackwater_cluster.watch.records import OwnerRef
from slackwater_operator.cache.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import Part, sentence

log = structlog.get_logger(__name__)


@dataclass
class OwnerLookup:
    """Asks the API server about owners and sizes."""

    session: Session
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._owners = OwnerReader(self.session, self.clock)

    async def run(self, cache: OperatorCache) -> bool:
        """Look up what is unknown; returns whether anything was learned."""
        found = await self._owners.parents(cache.index.unknown())
        for owner, parents in found:
            self._note(cache, owner, parents)
        return await self._sizes(cache) or bool(found)

    def _note(self, cache: OperatorCache, owner: OwnerRef, parents: Sequence[OwnerRef] | Exception) -> None:
        if isinstance(parents, Exception):
            for pod in cache.index.asking(owner.uid):
                words = f"its owner {owner.kind} {owner.name!r} cannot be looked up and counts as topmost"
                cache.quarantine.add(Part.OWNER, pod, f"{words}: {sentence(parents)}")
            parents = ()
        cache.learn(owner, parents)

    async def _sizes(self, cache: OperatorCache) -> bool:
        """Ask for the sizes of apps that wait for it; one that cannot be read is asked for once only."""
        hands = asyncio.Semaphore(TOGETHER)
        cache.refresh()
        wanting = [each for each in cache.views.values() if cache.unsized(each)][:AT_ONCE]
        sizes = await asyncio.gather(*(self._size(each, cache, hands) for each in wanting))
        for each, size in zip(wanting, sizes, strict=True):
            cache.sized(each, size)
        return bool(wanting)

    async def _size(self, each: AppView, cache: OperatorCache, hands: asyncio.Semaphore) -> AppSize | None:
        row = cache.size_row(each)
        if row is None or row.size is None:
            return None
        rule = row.size
        try:
            name = cache.size_object(each, row)
            path = api_path(rule.plural, name, group=rule.group, version=rule.version, namespace=each.namespace)
            async with hands:
                answer = await self._owners.ask(path)
            return from_object(rule, answer.json()) if answer.ok else None
        except Unavailable as problem:
            log.warning("size not read", app=each.id, trouble=str(problem))
        except Exception as problem:  # noqa: BLE001 - whatever a tenant's object holds, its app alone goes without
            lead = cache.index.pod(each.lead)
            if lead is not None:
                words = f"the size that {rule.kind} {each.app!r} states is not read"
                cache.quarantine.add(Part.SIZE, lead, f"{words}: {sentence(problem)}")
        return None
