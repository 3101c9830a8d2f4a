"""The writer of TrackedApps: at most one write per app and ten seconds, and only when something is different.

All apps share a number of writes a second. Half of them, at most, are for objects of apps that are gone: namespaces
take turns at these, and one in which too many wait for them gets a new object for each that is deleted there.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from typing import Any

import structlog

from slackwater.errors import Unavailable
from slackwater.pools.pools import Category
from slackwater_cluster import names
from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.api.paths import custom_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources import TrackedAppSpec, TrackedAppStatus
from slackwater_cluster.customresources.trackedapp import Phase
from slackwater_cluster.objects.records import CustomRecord
from slackwater_cluster.timestamps import parse_or_none, stamp
from slackwater_operator.cache.apps.apphistory import Recalled
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.status.appstatus import ended
from slackwater_operator.status.conditions import ConditionSet, conditions, written_conditions
from slackwater_operator.status.mergepatch import replacing
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# Differences in these alone are not worth a write: they move all the time.
RESTLESS = ("waitSeconds", "start", "waitErrorSeconds", "message", "budget", "reservation", "used", "efficiency")
# But whoever waits should not read an old sentence for long.
READ = ("message", "waitSeconds")
READ_SECONDS = 60.0
# … and a forecast is written again once this share of what it expected has passed.
FORECAST_SHARE = 0.25

# The longest name of an object that leaves kubectl's columns their room in a terminal.
READABLE = 30
ADMITTED = "Admitted"
GOING = (Phase.STARTED.value, Phase.RUNNING.value)
# Seconds the last object of a series stays, for the size of the next run: a weekly job finds its own.
KEEP_LEARNED = 8 * 86_400.0
# Seconds for which nothing is created in a namespace whose last creation was refused: it is being deleted, mostly.
REFUSED = 60.0
# … but of so many series of a namespace at most, the youngest: names that never come again must not fill etcd.
MOST_SERIES = 500
# Objects of a namespace whose apps are gone that may wait to be swept: sweeping one takes more writes than making it.
MOST_GONE = 1000
NEVER = float("-inf")


@dataclass
class TrackedAppWriter:
    """Keeps one TrackedApp per app."""

    session: Session
    clock: Callable[[], float]
    every: float
    bucket: TokenBucket
    keep: float
    # As many as there are apps: which of them is to be written is seen in line.
    lines: WriteLines = field(default_factory=lambda: WriteLines(most=sys.maxsize))
    _known: dict[str, CustomRecord] = field(default_factory=dict)  # by namespace/name, in the order of sweeps
    _written: dict[str, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)
    _unanswered: dict[str, float] = field(default_factory=dict)  # when nobody answered the last write of it
    _ended: dict[str, float] = field(default_factory=dict)
    _objects: dict[str, str] = field(default_factory=dict)  # app → namespace/name of its object
    _closed: dict[str, float] = field(default_factory=dict)  # namespaces that take no object, and until when

    _crowded: frozenset[str] = frozenset()  # namespaces in which more than may wait to be swept
    _freed: dict[str, int] = field(default_factory=dict)  # objects deleted in each of these, and not yet made instead
    _swept: dict[str, float] = field(default_factory=dict)  # when each of those that have any had its last turn

    def __post_init__(self) -> None:
        self.sweeps = self.bucket.half()

    def set(self, records: list[CustomRecord]) -> None:
        """TrackedApps as the watch shows them."""
        for record in records:
            self._keep(record)

    def drop(self, records: list[CustomRecord]) -> None:
        """TrackedApps that are gone."""
        for record in records:
            self._forget(f"{record.namespace}/{record.name}")

    def restore(self, cache: OperatorCache) -> None:
        """Take over what a leader before us wrote."""
        recall(self._known.values(), cache)

    def tried(self, each: AppView) -> float:
        """When the app's object was last written, or that was tried; long ago where it never was."""
        key = self._key(each)
        written = self._written[key][0] if key in self._written else NEVER
        return max(written, self._unanswered.get(key, NEVER))

    async def write(self, each: AppView, status: TrackedAppStatus, queue: str) -> bool:
        """Bring the app's object up to date, unless it was written a moment ago; whether it says this now."""
        key = self._key(each)
        name = key.partition("/")[2]
        body = status.body()
        at, before = self._written.get(key, (NEVER, self._shown(key)))
        if not differs(before, body) and not reads(before, body):
            return True
        patience = self.every if differs(before, body) else max(self.every, lasting(before))
        if (
            (key not in self._known and self._takes_none(each.namespace))
            or self.clock() - at < patience
            or not self.bucket.take()
        ):
            return False
        body |= self._judged(before, body)
        try:
            if key not in self._known and not await self._create(each, name, queue):
                return False
            answer = await self.session.write(
                "PATCH",
                _path(each.namespace, name, "status"),
                {"status": replacing(before, body)},
                content_type=MERGE,
            )
        except Unavailable as problem:
            log.warning("not tracked", app=each.id, trouble=str(problem))
            self._unanswered[key] = self.clock()
            return False
        if answer.ok:
            self._written[key] = (self.clock(), body)
        elif answer.status == 404:
            self._forget(key)
        else:
            log.warning("not tracked", app=each.id, trouble=answer.message())
            self._written[key] = (self.clock(), before)
        return answer.ok

    async def sweep(self, cache: OperatorCache) -> None:
        """Say of apps that are gone that they are, and delete their objects after a while.

        The last one of each series stays longer: it is how a new leader knows the size of the next run.
        """
        behind = self.lines.drop()
        now = self.clock()
        self._closed = {name: until for name, until in self._closed.items() if until > now}
        self._unanswered = {key: at for key, at in self._unanswered.items() if now - at < REFUSED}
        alive = {key for app, key in self._objects.items() if app in cache.views}
        last = self._last_runs()
        self._ended = {key: at for key, at in self._ended.items() if key not in alive}
        gone = dict[str, deque[str]]()
        for key, record in self._known.items():
            if key not in alive and key not in self._ended and self._says_gone(key):
                self._ended[key] = now  # an earlier leader wrote it: no turn is needed to see that
            if key not in alive and self._to_sweep(key, last):
                gone.setdefault(record.namespace, deque()).append(key)
        self._crowded = frozenset(name for name, keys in gone.items() if len(keys) > MOST_GONE)
        self._freed = {name: number for name, number in self._freed.items() if name in self._crowded}
        self._swept = {name: at for name, at in self._swept.items() if name in gone}
        # Before the first write: while one takes long there would be a place for the next, for ever.
        for key, name in list(self._in_turn(gone, behind)):
            self.lines.add(name, partial(self._sweep, key, last, cache))
        await self.lines.settle()

    def _in_turn(self, gone: Mapping[str, deque[str]], behind: Collection[str]) -> Iterator[tuple[str, str]]:
        """What the rate lets sweep now, with its namespace: those first that had no turn for longest.

        One object where writes lag behind, or those of apps never came.
        """
        lines = {name: keys for name, keys in gone.items() if not self.lines.stuck(name)}
        ready = deque(sorted(lines, key=lambda name: self._swept.get(name, NEVER)))
        while ready and self.sweeps.take() and self.bucket.take():
            name = ready.popleft()
            self._swept[name] = self.clock()
            yield lines[name].popleft(), name
            if lines[name] and name not in behind:
                ready.append(name)

    def _to_sweep(self, key: str, last: frozenset[str]) -> bool:
        """Whether it is time to say that the app of an object is gone, or to delete it."""
        kept = KEEP_LEARNED if key in last else self.keep
        return key not in self._ended or self.clock() - self._ended[key] >= kept

    async def _sweep(self, key: str, last: frozenset[str], cache: OperatorCache) -> None:
        """End an object, or delete one that was ended; one for which that fails goes behind all others."""
        record = self._known.get(key)
        if record is None or (self._objects.get(_app(record)) == key and _app(record) in cache.views):
            return  # it is gone, or its app came again, while it stood in line
        if not self._to_sweep(key, last):
            return
        if key in self._ended:
            done = await self._delete(key)
        elif done := await self._end(key):
            self._ended[key] = self.clock()
        if not done and key in self._known:
            self._known[key] = self._known.pop(key)

    def _takes_none(self, namespace: str) -> bool:
        """Whether a namespace gets no new object now: the last was refused, or too many there wait to be swept."""
        full = namespace in self._crowded and not self._freed.get(namespace)
        return full or self._closed.get(namespace, 0.0) > self.clock()

    def _key(self, each: AppView) -> str:
        """The app's object, else the one to make: `job/etl` and `job-etl` would both be called job-etl."""
        if each.id in self._objects:
            return self._objects[each.id]
        name = object_name(each.app, each.name)
        other = self._known.get(f"{each.namespace}/{name}")
        taken = other is not None and _app(other) != each.id
        return f"{each.namespace}/{with_digest(name, each.app) if taken else name}"

    def _judged(self, before: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        """The condition Admitted, for whoever waits with `kubectl wait`. The spec never changes after it was made."""
        old = written_conditions(before.get("conditions"))
        was = any(each.get("type") == ADMITTED and each.get("status") == "True" for each in old)
        admitted = was if body["phase"] == Phase.FINISHED.value else body["phase"] in GOING
        reason = body["reason"].title().replace("-", "") or "Unknown"
        now = stamp(wall(self.clock))
        judged = ConditionSet(admitted, reason, body["message"])
        return {"observedGeneration": 1, "conditions": conditions(old, judged, 1, now, ADMITTED)}

    def _last_runs(self) -> frozenset[str]:
        """The youngest object of each series, for the youngest series of each namespace."""
        found: dict[str, dict[str, tuple[float, str]]] = {}
        for key, record in self._known.items():
            learned = self._shown(key).get("learned")
            if isinstance(learned, Mapping):
                runs, series = found.setdefault(record.namespace, {}), str(learned.get("series"))
                runs[series] = max(runs.get(series, (float("-inf"), "")), (record.created, key))
        return frozenset(key for runs in found.values() for _, key in nlargest(MOST_SERIES, runs.values()))

    async def _end(self, key: str) -> bool:
        """Write that an app is gone; whether its object says so now, or is itself gone."""
        if self._says_gone(key):
            return True
        before, body = self._shown(key), ended().body()
        kept = {"learned": before["learned"]} if before.get("learned") else {}
        kept |= self._judged(before, body)
        namespace, _, name = key.partition("/")
        try:
            answer = await self.session.write(
                "PATCH",
                _path(namespace, name, "status"),
                {"status": {**replacing(before, body), **kept}},
                content_type=MERGE,
            )
        except Unavailable as problem:
            log.warning("not tracked", app=key, trouble=str(problem))
            return False
        if answer.ok:
            self._written[key] = (self.clock(), {**body, **kept})
        return True

    def _says_gone(self, key: str) -> bool:
        """Whether the object says that its app is over and has no pods."""
        status = self._shown(key)
        pods = status.get("pods")
        return status.get("phase") == Phase.FINISHED.value and not (isinstance(pods, Mapping) and any(pods.values()))

    async def _create(self, each: AppView, name: str, queue: str) -> bool:
        spec = TrackedAppSpec(
            app=each.app, name=each.name, framework=each.framework, owner=each.owner, queue=queue
        ).body()
        body = {
            "apiVersion": names.API_VERSION,
            "kind": "TrackedApp",
            "metadata": {"name": name, "namespace": each.namespace},
            "spec": spec,
        }
        answer = await self.session.write("POST", _path(each.namespace), body)
        made = answer.ok or answer.status == 409
        if made:
            self._closed.pop(each.namespace, None)
            self._freed[each.namespace] = max(0, self._freed.get(each.namespace, 0) - 1)
            self._keep(CustomRecord(name=name, namespace=each.namespace, spec=spec))
        else:
            log.warning("not tracked", app=each.id, trouble=answer.message())
            if answer.status in (403, 404):
                self._closed[each.namespace] = self.clock() + REFUSED
            self._written[f"{each.namespace}/{name}"] = (self.clock(), {})
        return made

    async def _delete(self, key: str) -> bool:
        """Delete an object; whether it is gone now."""
        namespace, _, name = key.partition("/")
        try:
            answer = await self.session.write("DELETE", _path(namespace, name), {})
        except Unavailable:
            return False
        gone = answer.ok or answer.status == 404
        if gone:
            self._forget(key)
            self._freed[namespace] = self._freed.get(namespace, 0) + 1
        return gone

    def _keep(self, record: CustomRecord) -> None:
        key = f"{record.namespace}/{record.name}"
        self._known[key] = record
        self._objects[_app(record)] = key

    def _forget(self, key: str) -> None:
        known = self._known.pop(key, None)
        self._written.pop(key, None)
        self._ended.pop(key, None)
        if known is not None and self._objects.get(_app(known)) == key:
            del self._objects[_app(known)]

    def _shown(self, key: str) -> Mapping[str, Any]:
        """The status as last written, else as the watch showed it."""
        if key in self._written:
            return self._written[key][1]
        known = self._known.get(key)
        return known.status if known else {}


def _app(record: CustomRecord) -> str:
    return f"{record.namespace}/{record.spec.get('app', '')}"


def object_name(app: str, called: str = "") -> str:
    """A name the API server accepts: the app's id, and a digest of it where letters had to be changed or cut.

    An id that is too long for a line of a terminal gives way to what people call the app, with that digest.
    """
    if called and len(app) > READABLE:
        return with_digest(object_name(called)[: READABLE - 9], app)
    plain = re.sub(r"[^a-z0-9.]+", "-", app.lower()).strip("-.")
    plain = re.sub(r"\.(?=[-.])|(?<=-)\.", "", plain)
    if plain == app.replace("/", "-") and len(plain) <= 200:
        return plain
    return with_digest(plain[:200], app)


def with_digest(name: str, app: str) -> str:
    """The name, told apart from those of other apps."""
    return f"{name.rstrip('-.')}-{hashlib.sha256(app.encode()).hexdigest()[:8]}".lstrip("-.")


def recall(records: Iterable[CustomRecord], cache: OperatorCache) -> None:
    """What a leader wrote of apps: who is large and which gangs were whole, for their life; sizes, for the next run."""
    for record in sorted(records, key=lambda each: each.created):
        large, whole = record.status.get("category") == Category.LARGE.value, record.status.get("assembled")
        if large or whole:
            said = Recalled(large, parse_or_none(whole))
            cache.views.histories.recall(_app(record), said, cache.views.get(_app(record)))
        learned = record.status.get("learned")
        if isinstance(learned, Mapping):
            cache.views.runs.restore(record.namespace, learned, cache.views.get(_app(record)))
            cache.views.restore_name(_app(record), str(record.spec.get("name", "")), str(learned.get("series", "")))
    cache.views.resize_by_history()


def differs(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether anything but the restless numbers is different; that a number is known at all counts."""
    quiet = [key for key in {*before, *now} if key not in (*RESTLESS, "conditions", "observedGeneration")]
    known = [key for key in READ if (before.get(key) is None) != (now.get(key) is None)]
    forecast = (_middle(before) is None) != (_middle(now) is None)
    return bool(known) or forecast or any(before.get(key) != now.get(key) for key in quiet)


def reads(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether somebody who waits would read something else."""
    return any(before.get(key) != now.get(key) for key in READ)


def lasting(status: Mapping[str, Any]) -> float:
    """Seconds for which a status may be read that only its words and its forecast tell from a newer one."""
    middle = _middle(status)
    return READ_SECONDS if middle is None else min(READ_SECONDS, FORECAST_SHARE * middle)


def _middle(status: Mapping[str, Any]) -> float | None:
    """The seconds that a start is expected in; None where that is not known."""
    start = status.get("start")
    middle = start.get("middleSeconds") if isinstance(start, Mapping) else None
    return float(middle) if isinstance(middle, int | float) else None


def _path(namespace: str, name: str = "", subresource: str = "") -> str:
    return custom_path("trackedapps", name, namespace=namespace, subresource=subresource)
