"""Looks up owners that recognition asks about, and the sizes that frameworks' own objects state, once each.

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
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.apps.ownerlookup import AT_ONCE, TOGETHER, OwnerReader
from slackwater_cluster.apps.size import StatedSize, from_object, has_driver
from slackwater_cluster.frameworks import Framework, SizeRule
from slackwater_cluster.objects.records import OwnerRef
from slackwater_operator.cache.apps import sizeobject
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import Part, sentence

log = structlog.get_logger(__name__)

AGAIN = 10.0  # seconds until a size is asked for again that nobody told


@dataclass
class OwnerLookup:
    """Asks the API server about owners and sizes."""

    session: Session
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._owners = OwnerReader(self.session, self.clock)
        self._again: dict[str, float] = {}  # apps whose size nobody answered, and when it is asked for again

    async def run(self, cache: OperatorCache) -> bool:
        """Look up what is unknown; returns whether anything was learned."""
        found = await self._owners.parents(cache.index.unknown())
        for owner, parents in found:
            self._note(cache, owner, parents)
        return await self._sizes(cache) or bool(found)

    def _note(self, cache: OperatorCache, owner: OwnerRef, parents: Sequence[OwnerRef] | Exception) -> None:
        if isinstance(parents, Exception):
            for pod in cache.index.asking(owner.key):
                words = f"its owner {owner.kind} {owner.name!r} cannot be looked up and counts as topmost"
                cache.quarantine.add(Part.OWNER, pod, f"{words}: {sentence(parents)}")
            parents = ()
        cache.learn(owner, parents)

    async def _sizes(self, cache: OperatorCache) -> bool:
        """Ask for the sizes of apps that wait for it, and again where nobody answered; the app goes on meanwhile."""
        hands = asyncio.Semaphore(TOGETHER)
        cache.views.refresh()
        first = [each for each in cache.views.values() if cache.views.unsized(each)][:AT_ONCE]
        wanting = [*first, *self._due(cache, AT_ONCE - len(first))]
        answers = await asyncio.gather(*(self._size(each, cache, hands) for each in wanting))
        for each, answer in zip(wanting, answers, strict=True):
            if answer is None:
                self._again[each.id] = self.clock() + AGAIN
            cache.views.resize(each, answer or StatedSize())
            cache.press()
        return bool(wanting)

    def _due(self, cache: OperatorCache, most: int) -> list[AppView]:
        """Some apps whose size was asked for in vain a while ago; the others stay noted."""
        lacking = {app: due for app, due in self._again.items() if app in cache.views and not cache.views[app].over}
        due = [app for app, at in lacking.items() if at <= self.clock()][:most]
        self._again = {app: at for app, at in lacking.items() if app not in due}
        return [cache.views[app] for app in due if not cache.views.unsized(cache.views[app])]

    async def _size(self, each: AppView, cache: OperatorCache, hands: asyncio.Semaphore) -> StatedSize | None:
        """What the framework's object states; None where nobody answered."""
        row = sizeobject.row(cache.table, each)
        if row is None or row.size is None:
            return StatedSize()
        rule = row.size
        try:
            async with hands:
                return _stated(each, row, rule, await self._object(each, row, rule))
        except Unavailable as problem:
            log.warning("size not read", app=each.id, trouble=str(problem))
            return None
        except Exception as problem:  # noqa: BLE001 - whatever a tenant's object holds, its app alone goes without
            lead = cache.index.pod(each.lead)
            if lead is not None:
                words = f"the size that {rule.kind} {each.app!r} states is not read"
                cache.quarantine.add(Part.SIZE, lead, f"{words}: {sentence(problem)}")
        return StatedSize()

    async def _object(self, each: AppView, row: Framework, rule: SizeRule) -> Answer | None:
        """The object in the first version of its API in which it is served."""
        name = sizeobject.name(each, row)
        for version in sizeobject.versions(each, row):
            path = api_path(rule.plural, name, group=rule.group, version=version, namespace=each.namespace)
            answer = await self._owners.ask(path)
            if answer.ok:
                return answer
        return None


def _stated(each: AppView, row: Framework, rule: SizeRule, answer: Answer | None) -> StatedSize:
    if answer is None:
        return StatedSize()
    body = answer.json()
    # An object of another kind may have the same name; of a driver only the app's own owner says that there is none,
    # and not where one of the pods may be named as the coordinator.
    mine = each.owner.partition("/")[0] == rule.kind and not row.coordinator
    return StatedSize(
        from_object(rule, body, row.driver_names), has_driver(rule, body, row.driver_names) if mine else None
    )
