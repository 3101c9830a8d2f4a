"""A local mirror of one kind of object: list in chunks, watch from there, list again when the server says so.

    list ──► compare with what is held, report what vanished ──► watch ──► (410, or a broken event) ──► list …

Two things stopped typed watches silently before: an ERROR event's object is a Status, and a BOOKMARK's spec holds
nulls. So the ERROR prefix is tested before decoding, shapes allow null, and an unexpected exception is not caught
here: the task ends, and its owner must end the process (`slackwater_cluster.watch.sources` does).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.api.backoff import Backoff
from slackwater_cluster.api.session import Answer, Session, seconds
from slackwater_cluster.objects.records import Record
from slackwater_cluster.objects.wire import Meta
from slackwater_cluster.watch.decoding import Decoding, failure
from slackwater_cluster.watch.timeslices import slices

R = TypeVar("R", bound=Record)
R_contra = TypeVar("R_contra", bound=Record, contravariant=True)

log = structlog.get_logger(__name__)

# The first list takes few round trips (for 150,000 pods, 12 s with 5,000 at a time against 19 s with 500); later ones
# must not hold the interpreter long at a time, because /filter is answered meanwhile: decoding 500 pods takes 4 ms.
FIRST_CHUNK = 5000
CHUNK = 500
# Records handed over at once: a slice of a few milliseconds in the receiver.
SLICE = 200
# A watch is renewed after this many seconds (with jitter), so that no connection grows old.
WATCH_SECONDS = 300
# A watch that ended sooner than this did not do its work: wait before the next one.
TOO_SHORT = 1.0

# How often it is looked whether a kind that was not installed is there now.
ABSENT_SECONDS = 10.0

GONE = 410
MISSING = 404


class Sink(Protocol[R_contra]):
    """Who is told. Called from the reflector's loop, never concurrently for one reflector."""

    def changed(self, records: Sequence[R_contra]) -> None:
        """These exist now, new or not."""

    def vanished(self, records: Sequence[R_contra]) -> None:
        """These exist no more; each is the last state that was held."""

    def synced(self) -> None:
        """A whole list was delivered: what was told so far is complete."""


@dataclass(frozen=True, slots=True)
class Source(Generic[R]):
    """What to reflect: the API path, the shape to decode, how to trim it and what identifies an object."""

    path: str
    shape: type[Any]
    trim: Callable[[Any], R]
    # Of a record or of an object's metadata: both have uid, name and namespace.
    key: Callable[[Any], str] = lambda thing: str(thing.uid)
    params: tuple[tuple[str, str], ...] = ()
    optional: bool = False  # a kind that is not installed (404) counts as an empty list, and is asked for again
    # Of another kind: where it is missing for so many seconds before it was ever listed. What was listed stays.
    patience: float = math.inf


@dataclass(slots=True)
class Health:
    """What is to be said about a reflector: for readiness and for people."""

    synced: bool = False
    trouble: str = "not listed yet"
    events: int = 0
    failures: int = 0
    skipped: int = 0  # objects that could not be decoded


class _Relist(Exception):  # noqa: N818 - control flow, never leaves this module
    """The watch cannot go on from here."""


@dataclass
class Reflector(Generic[R]):
    """Keeps `held` equal to the server and tells the sink of each difference."""

    session: Session
    source: Source[R]
    sink: Sink[R]
    rng: Random = field(default_factory=Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    health: Health = field(default_factory=Health)
    held: dict[str, R] = field(default_factory=dict)
    on_skip: Callable[[Meta, Exception], None] | None = None  # told of each object that cannot be used
    anew: asyncio.Event = field(default_factory=asyncio.Event)  # set: the source's trim keeps other parts from now on

    def __post_init__(self) -> None:
        self._backoff = Backoff(self.rng)
        self._version = ""
        self._missing_since = math.inf
        self._anew = False  # what is held was trimmed by an older rule
        self._decoding = Decoding(self.source.shape, self._skip)

    async def run(self) -> None:
        """Reflect until cancelled. Troubles of server and network are waited out; anything else is raised.

        Whenever `anew` is set, everything is listed and told anew.
        """
        while True:
            self.anew.clear()
            reflecting = asyncio.create_task(self._reflect())
            asking = asyncio.create_task(self.anew.wait())
            try:
                await asyncio.wait({reflecting, asking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                reflecting.cancel()
                asking.cancel()
                await asyncio.gather(reflecting, asking, return_exceptions=True)
            if not reflecting.cancelled():
                reflecting.result()
            self.trim_anew()

    async def _reflect(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except _Relist as reason:
                self._version = ""
                log.info("listing again", path=self.source.path, reason=str(reason))
                await self.sleep(self._backoff.pause())
            except _Refused as refusal:
                if self._is_absent(refusal.status):
                    await self._absent(str(refusal))
                else:
                    await self._wait(str(refusal), refusal.retry_after)
            except Unavailable as problem:
                await self._wait(str(problem))

    def _is_absent(self, status: int) -> bool:
        """Whether the kind counts as not installed."""
        now = asyncio.get_running_loop().time()
        self._missing_since = min(self._missing_since, now) if status == MISSING else math.inf
        if self.source.optional:
            return status == MISSING
        return not self.health.synced and now - self._missing_since >= self.source.patience

    def trim_anew(self) -> None:
        """The source's trim keeps other parts now: the next list tells of every object."""
        self._version, self._anew = "", True

    async def _wait(self, trouble: str, asked: float | None = None) -> None:
        self.health.failures += 1
        if trouble != self.health.trouble:  # once per kind of trouble, not once per attempt
            log.warning("cannot read", path=self.source.path, trouble=trouble)
        self.health.trouble = trouble
        await self.sleep(self._backoff.pause(asked))

    async def _absent(self, trouble: str) -> None:
        gone, self.held = list(self.held.values()), {}
        self._version, self.health.trouble = "", trouble
        if gone:
            self.sink.vanished(gone)
        if not self.health.synced:
            self.health.synced = True
            self.sink.synced()
        await self.sleep(ABSENT_SECONDS)

    # -- list ---------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        """Read everything, chunk by chunk, and report what vanished since the last time."""
        seen: set[str] = set()
        limit = CHUNK if self.health.synced else FIRST_CHUNK
        version = ""
        coming: asyncio.Task[Answer] | None = asyncio.create_task(self._fetch(limit, ""))
        try:
            while coming is not None:
                meta, items, unread = self._decoding.chunk((await coming).body)
                version, token = meta.resource_version, meta.continue_ or ""
                # While one chunk is worked through the server prepares the next.
                coming = asyncio.create_task(self._fetch(limit, token)) if token else None
                seen.update(map(self.source.key, unread))
                await self._take(items, seen)
                del items
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
        for some in slices([key for key in self.held if key not in seen], SLICE):
            # Let go of just before it is told: whoever cancels this list will list again, and the rest is told then.
            self.sink.vanished([self.held.pop(key) for key in some])
            await asyncio.sleep(0)
        self._version, self._anew = version, False
        self.health.synced, self.health.trouble = True, ""
        self._backoff.success()
        self.sink.synced()

    async def _fetch(self, limit: int, token: str) -> Answer:
        params = {**dict(self.source.params), "limit": str(limit), **({"continue": token} if token else {})}
        answer = await self.session.get(self.source.path, params)
        if answer.status == GONE:  # the continue token outlived its snapshot
            raise _Relist("the list expired while it was read")
        if not answer.ok:
            raise _Refused(answer)
        return answer

    async def _take(self, items: Sequence[Any], seen: set[str]) -> None:
        for some in slices(items, SLICE):
            seen.update(self.source.key(item.metadata) for item in some)
            self._hold(list(self._trimmed([item for item in some if self._news(item.metadata)])))
            await asyncio.sleep(0)

    def _news(self, meta: Meta) -> bool:
        """Whether a listed object differs from what is held; most of a list made anew does not."""
        held = self.held.get(self.source.key(meta))
        return (
            self._anew
            or held is None
            or held.version != meta.resource_version
            or not held.version
            or held.uid != meta.uid
        )

    # -- watch --------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Follow changes until the server ends the stream."""
        params = {
            **dict(self.source.params),
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(round(WATCH_SECONDS * self.rng.uniform(1, 2))),
        }
        loop = asyncio.get_running_loop()
        began, before = loop.time(), self.health.events
        async with self.session.stream(self.source.path, params) as reply:
            if reply.status == GONE:
                raise _Relist("410 Gone")
            if reply.status != 200:
                raise _Refused(Answer(reply.status, await reply.read(), seconds(reply.headers.get("Retry-After"))))
            self.health.trouble = ""
            rest = b""
            async for piece in reply.content.iter_any():
                lines = (rest + piece).split(b"\n")
                rest = lines.pop()
                await self._follow(lines)
        if self.health.events == before and loop.time() - began < TOO_SHORT:
            await self.sleep(self._backoff.pause())

    async def _follow(self, lines: Sequence[bytes]) -> None:
        for some in slices(lines, SLICE):
            self._apply(some)
            self._backoff.success()
            await asyncio.sleep(0)

    def _apply(self, lines: Sequence[bytes]) -> None:
        """Take over a run of events, in their order, telling the sink of neighbours of one kind together."""
        changed: list[R] = []
        for line in lines:
            if not line:
                continue
            if failed := failure(line):
                self._hold(changed)
                raise _Relist(f"{failed.code} {failed.message}")
            kind, meta, record = self._event(line)
            if kind == "DELETED":
                self._hold(changed)
                changed = []
                self._drop(meta, record)
            elif record is not None:
                changed.append(record)
        self._hold(changed)

    def _event(self, line: bytes) -> tuple[str, Meta, R | None]:
        event = self._decoding.event(line)
        if event is None:  # what was lost, only a new list can tell
            raise _Relist("an event that is no JSON")
        kind, meta, found = event
        self._version = meta.resource_version or self._version
        if found is None:
            return kind, meta, None
        self.health.events += 1
        return kind, meta, next(self._trimmed((found,)), None)

    # -- what is held -------------------------------------------------------------------------------------------

    def _trimmed(self, items: Sequence[Any]) -> Iterator[R]:
        for item in items:
            try:
                yield self.source.trim(item)
            except Exception as problem:  # noqa: BLE001 - whatever one object holds, the others are told
                self._skip(problem, item.metadata)

    def _skip(self, problem: Exception, meta: Meta | None = None) -> None:
        self.health.skipped += 1
        name = f"{meta.namespace or ''}/{meta.name}" if meta else ""
        log.warning("skipped an object", path=self.source.path, object=name, problem=repr(problem)[:500])
        if meta is not None and self.on_skip is not None:
            self.on_skip(meta, problem)

    def _hold(self, records: list[R]) -> None:
        if not records:
            return
        replaced = []
        for record in records:
            key = self.source.key(record)
            old = self.held.get(key)
            if old is not None and old.uid != record.uid:  # deleted and made again under the same name
                replaced.append(old)
            self.held[key] = record
        if replaced:
            self.sink.vanished(replaced)
        self.sink.changed(records)

    def _drop(self, meta: Meta, record: R | None) -> None:
        """Let go of an object that was deleted; of one that cannot be read any more the last that could be."""
        held = self.held.pop(self.source.key(meta), None)
        # The DELETED event's own record is the last state the server knew.
        gone = held if record is None or (held is not None and held.uid != record.uid) else record
        if gone is not None:
            self.sink.vanished([gone])


class _Refused(Unavailable):
    """The server answered with an error status."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.message())
        self.status = answer.status
        self.retry_after = answer.retry_after
