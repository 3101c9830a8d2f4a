"""The status of policies, queues and pools: judgements, and the numbers of the last round. Written when different."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import structlog

from slackwater.cycle.snapshot import App
from slackwater.errors import Unavailable
from slackwater.pools.forecastlog import ForecastLog
from slackwater.pools.pools import Category
from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.api.fairslots import FairSlots
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources import kind_named
from slackwater_cluster.frameworks import Framework
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord
from slackwater_cluster.timestamps import stamp
from slackwater_cluster.watch import trim
from slackwater_cluster.watch.decoding import Decoding
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.pools import side
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.status.appstatus import said_start, written
from slackwater_operator.status.conditions import ConditionSet, conditions, judge, limits, unlisted
from slackwater_operator.status.mergepatch import replacing
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# LimitRanges and quotas change rarely; they are read again after this many seconds, or when a namespace joins.
LIMITS_SECONDS = 60.0
ANSWER = 30.0  # seconds for one of these lists
LARGEST = 64 * 2**20  # bytes of it
LIMITS: Mapping[str, type[Any]] = {"limitranges": wire.LimitRange, "resourcequotas": wire.ResourceQuota}
Key = tuple[str, str]


@dataclass
class ResourceStatusWriter:
    """Writes status. The watch tells it of every object (`set`, `drop`); the loop lets it write (`report`)."""

    session: Session
    cache: OperatorCache
    clock: Callable[[], float]
    every: float = 10.0
    rows: tuple[Framework, ...] = ()  # of users' ConfigMaps
    lines: WriteLines = field(default_factory=lambda: WriteLines(slots=FairSlots(1)))  # one for each object
    measured: bool = False  # whether the extender tells what each pod uses
    _objects: dict[Key, CustomRecord] = field(default_factory=dict)
    _at: dict[Key, float] = field(default_factory=dict)
    _limits: tuple[float, Sequence[wire.LimitRange], Sequence[wire.ResourceQuota]] = (float("-inf"), (), ())
    _limited: frozenset[str] = frozenset()  # the namespaces that were managed when limits were last read

    def set(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Objects of one kind as the watch shows them."""
        for record in records:
            key = (kind, record.name)
            self._objects[key] = record
            if record.status.get("observedGeneration") != record.generation:
                self._at.pop(key, None)

    def drop(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Objects that are gone."""
        for record in records:
            self._objects.pop((kind, record.name), None)
            self._at.pop((kind, record.name), None)

    async def report(self, result: RoundResult, forecastlog: ForecastLog | None = None) -> None:
        """Bring every status up to date that is due. One that cannot be put together is left out; the others go on."""
        for key in list(self._objects):
            if self.lines.busy("/".join(key)) or self.clock() - self._at.get(key, float("-inf")) < self.every:
                continue
            self._at[key] = self.clock()
            self.lines.add("/".join(key), partial(self._report, key, result, forecastlog))
        await self.lines.settle()

    async def _report(self, key: Key, result: RoundResult, forecastlog: ForecastLog | None) -> None:
        if key not in self._objects:
            return
        try:
            await self._write(key, await self.status(key, result, forecastlog))
        except Exception:
            log.exception("status not written", kind=key[0], name=key[1])

    async def status(self, key: Key, result: RoundResult, forecastlog: ForecastLog | None = None) -> dict[str, Any]:
        """The status an object should have."""
        kind, name = key
        known = self._objects[key]
        before: Mapping[str, Any] = known.status
        judged = self._judge(key)
        now = stamp(wall(self.clock))
        generation = known.generation
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "conditions": conditions(before.get("conditions"), judged, generation, now),
        }
        if kind == "AdmissionQueue":
            status |= self._queue(name, result) | self._next(name, result, forecastlog)
        elif kind == "ReservationPool":
            status |= self._pool(name, result)
        else:
            status |= await self._policy(name)
        return status

    def _judge(self, key: Key) -> ConditionSet:
        kind, name = key
        if name not in self.cache.governing.known(kind):
            return ConditionSet(False, "NotSeen", "the operator has not read it yet")
        labels = [node.labels for node in self.cache.node_requests.nodes.values()]
        return judge(kind, name, self.cache.governing, labels)

    def _queue(self, name: str, result: RoundResult) -> dict[str, Any]:
        found = next((queue for queue in result.snapshot.queues if queue.name == name), None)
        budget = result.round.budgets.get(name)
        apps = [app for app in result.snapshot.apps if app.queue == name]
        drivers = [group for app in apps for group in app.groups if group.driver]
        return {
            "capacity": dict(written(found.capacity)) if found else {},
            "reservation": dict(written(budget.reserved, budget.capacity)) if budget else {},
            "budget": dict(written(budget.left, budget.capacity)) if budget else {},
            "driversRunning": sum(group.charged for group in drivers),
            "driversWaiting": sum(len(group.held) for group in drivers),
            "podsHeld": sum(len(group.held) for app in apps for group in app.groups),
            "podsReleased": sum(group.released for app in apps for group in app.groups),
        }

    def _next(self, name: str, result: RoundResult, forecastlog: ForecastLog | None) -> dict[str, Any]:
        """How many apps wait, and when one would start that came next, by size: small ones stand before large ones."""
        apps = [app for app in result.snapshot.apps if app.queue == name and not app.started]
        waiting = [app.id for app in apps if any(group.held for group in app.groups)]
        small = sum(result.round.categories.get(app) is Category.SMALL for app in waiting)
        places = {Category.SMALL: small + 1, Category.LARGE: len(waiting) + 1}
        said: dict[str, Any] = {"appsWaiting": len(waiting)}
        if forecastlog is None:
            return said
        for kind, place in places.items():
            start = said_start(forecastlog.next(name, kind.value, place), forecastlog.moved.get(name, 0.0), digits=2)
            said[f"next{kind.value.title()}"] = start.body() if start else None
        return said

    def _pool(self, name: str, result: RoundResult) -> dict[str, Any]:
        found = next((pool for pool in result.snapshot.pools if pool.name == name), None)
        state = self.cache.queues.pool_states.get(name)
        if state is None:
            return {}
        status: dict[str, Any] = {"delta": round(state.delta, 4), "forecastError": round(state.accuracy.mean, 3)}
        if found is not None:
            status["total"] = round(found.tot, 1)
            for kind in Category:
                mine = [app for app in result.snapshot.apps if self._guards(name, kind, app)]
                status[kind.value] = side(found, kind, state.delta, mine)
        return status

    def _guards(self, pool: str, kind: Category, app: App) -> bool:
        return self.cache.views.histories.category(app.id) is kind and self.cache.governing.pool_of(app.queue) == pool

    async def _policy(self, name: str) -> dict[str, Any]:
        governing = self.cache.governing
        users = [each for each in governing.managed_namespaces() if governing.namespaces[each].policy == name]
        spec = governing.policies.get(name)
        if spec is None:
            return {}
        _, ranges, quotas = await self._read_limits()
        warnings = [*limits(spec, ranges, quotas, users), *unlisted(self.rows, spec)]
        if spec.reclaim.enabled and not self.measured:
            warnings.append("reclaim.enabled has no effect: the extender does not tell what pods use (GET /v1/usage)")
        return {"namespaces": users[:1000], "warnings": warnings[:100]}

    async def _read_limits(self) -> tuple[float, Sequence[wire.LimitRange], Sequence[wire.ResourceQuota]]:
        managed = frozenset(self.cache.governing.managed_namespaces())
        if self.clock() - self._limits[0] >= LIMITS_SECONDS or not managed <= self._limited:
            try:
                found = [await self._listed(plural, shape) for plural, shape in LIMITS.items()]
                self._limits, self._limited = (self.clock(), found[0], found[1]), managed
            except Unavailable as problem:
                log.warning("limits not read", trouble=str(problem))
        return self._limits

    async def _listed(self, plural: str, shape: type[Any]) -> Sequence[Any]:
        """All objects of a kind that can be read; whoever may make one decides about no status but by what it says."""
        answer = await self.session.get(api_path(plural), seconds=ANSWER, most=LARGEST)
        return Decoding(shape, _passed_over).chunk(answer.body).items if answer.ok else ()

    async def _write(self, key: Key, status: Mapping[str, Any]) -> None:
        kind, name = key
        if key not in self._objects:
            return  # it was deleted while this was put together
        before: Mapping[str, Any] = self._objects[key].status
        changed = {
            field: replacing(before.get(field), value) for field, value in status.items() if before.get(field) != value
        }
        if not changed:
            return
        path = custom_path(kind_named(kind).plural, name, subresource="status")
        try:
            answer = await self.session.write("PATCH", path, {"status": changed}, content_type=MERGE)
        except Unavailable as problem:
            log.warning("status not written", kind=kind, name=name, trouble=str(problem))
            return
        if key not in self._objects:
            return  # it was deleted while this was written
        if answer.ok:
            self._objects[key] = trim.custom(msgspec.json.decode(answer.body, type=wire.Custom, strict=False))
        elif answer.status != 404:
            log.warning("status not written", kind=kind, name=name, trouble=answer.message())


def _passed_over(problem: Exception, meta: wire.Meta | None) -> None:
    log.warning("limits not understood", object=f"{meta.namespace}/{meta.name}" if meta else "", problem=str(problem))
