"""Looks up the sizes that frameworks' own objects state, once each, and again where nobody answered.

Runs beside the rounds and the look-ups of owners: an app whose size was not asked for yet waits, and nobody else does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.apps.ownerlookup import ask
from slackwater_cluster.apps.questions import Questions
from slackwater_cluster.apps.size import StatedSize, from_object, has_driver
from slackwater_cluster.frameworks import Framework, SizeRule
from slackwater_operator.cache.apps import sizeobject
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import Part, sentence

log = structlog.get_logger(__name__)


@dataclass
class SizeLookup:
    """Asks the API server about sizes. An app that nobody answered for goes on without."""

    session: Session
    clock: Callable[[], float] = monotonic
    turned: asyncio.Event = field(default_factory=asyncio.Event)  # a round began: there may be something to look up

    def __post_init__(self) -> None:
        self._questions = Questions[str](self.clock)  # about apps, by id

    async def run(self, cache: OperatorCache, learned: Callable[[], None]) -> None:
        """Ask for sizes that apps wait for, until none is due; `learned` is called when one of them need not wait."""

        async def asked(app: str) -> bool:
            return await self._ask(app, cache, learned)

        await self._questions.run(lambda: self._wanted(cache), asked)

    def _wanted(self, cache: OperatorCache) -> list[tuple[str, str]]:
        """Apps that wait for their size, and those that go without because nobody answered."""
        views = cache.views
        views.refresh()
        first = [each for each in views.values() if views.unsized(each)]
        for each in first:
            self._questions.forget(each.id)  # an app of its name before it may have been asked about in vain
        known = (views.get(app) for app in self._questions.unanswered)
        again = [each for each in known if each is not None and each.size is None and not each.over]
        return [(each.id, each.namespace) for each in (*first, *again)]

    async def _ask(self, app: str, cache: OperatorCache, learned: Callable[[], None]) -> bool:
        """Ask, and use the answer if it still is one about this app; whether it was."""
        each = cache.views.get(app)
        if each is None:
            return False
        waits, answer = cache.views.unsized(each), await self._size(each, cache)
        taken = cache.views.resize(each, answer or StatedSize())
        if taken and (waits or answer is not None):
            cache.press()
            learned()
        return taken and answer is not None

    async def _size(self, each: AppView, cache: OperatorCache) -> StatedSize | None:
        """What the framework's object states; None where nobody answered."""
        row = sizeobject.row(cache.table, each)
        if row is None or row.size is None:
            return StatedSize()
        rule = row.size
        try:
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
            answer = await ask(self.session, path)
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
