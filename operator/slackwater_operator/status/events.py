"""Events on the pod that stands for an app: admitted, held, released, refused, parked, stalled, outgrown, not evicted.

Never a flood: all namespaces share a rate and take turns at it, a few events of each wait for it, and the rest is
dropped and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

import structlog

from slackwater.cycle.appverdicts import REFUSALS, WaitReason
from slackwater.errors import Unavailable
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.timestamps import stamp
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.metrics import Metrics
from slackwater_operator.status.appstatus import AppStatus
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

COMPONENT = "slackwater-operator"
# The same event about the same app is told again after this many seconds at the soonest.
AGAIN = 60.0
# An app that waits shorter than this is not worth an event.
PATIENCE = 5.0
FEW = 10  # events of a namespace that wait for their turn
MOST = 1024  # bytes the API server accepts in a message
PARKED = "released, but no node took it in time: its share goes to others and it waits for a new one"
ENDING = "because it is being terminated"  # the API server's words about a namespace


class Happening(StrEnum):
    """The reasons of our events."""

    ADMITTED = "Admitted"
    HELD = "Held"
    RELEASED = "Released"
    REFUSED = "Refused"
    PARKED = "Parked"
    STALLED = "Stalled"
    OUTGROWN = "Outgrown"  # it is evicted, because it uses more than it declared on a node near its limit
    NOT_EVICTED = "NotEvicted"  # it was asked to leave, to end a stall, and stays: a disruption budget, or no answer
    UNREADABLE = "Unreadable"  # something the pod states, or the pod itself, could not be read and was set aside
    DOUBTED = "Doubted"  # labels that nothing vouches for, or that cannot be meant

    @property
    def warning(self) -> bool:
        """Whether somebody should look."""
        return self not in (Happening.ADMITTED, Happening.HELD, Happening.RELEASED, Happening.PARKED)


@dataclass(frozen=True, slots=True)
class Happened:
    """One event to be posted."""

    what: Happening
    pod: PodRecord
    message: str


@dataclass
class _Told:
    """What was last known of an app."""

    reason: str = ""
    since: float = 0.0
    told: bool = True
    started: bool = False


@dataclass
class EventWriter:
    """Decides what is worth an event, and posts it."""

    session: Session
    metrics: Metrics
    clock: Callable[[], float]
    bucket: TokenBucket
    lines: WriteLines = field(default_factory=WriteLines)
    _apps: dict[str, _Told] = field(default_factory=dict)
    _last: dict[tuple[str, Happening], float] = field(default_factory=dict)
    _waiting: dict[str, deque[Happened]] = field(default_factory=dict)  # by namespace
    _turns: dict[str, float] = field(default_factory=dict)  # when each had its last turn, in that order
    _ending: dict[str, float] = field(default_factory=dict)  # namespaces that take no more events, and since when

    def observe(self, said: AppStatus, lead: PodRecord, *, started: bool, problems: Iterable[str]) -> None:
        """Compare with what was said before."""
        now = self.clock()
        known = self._apps.setdefault(said.app, _Told(since=now, started=started))
        if said.reason != known.reason:
            known.reason, known.since, known.told = said.reason, now, False
        if started and not known.started:
            words = f"app {said.name or said.app} starts: {said.sentence}"
            self.add(said.app, Happened(Happening.ADMITTED, lead, words))
        known.started = started
        for problem in problems:
            self.add(said.app, Happened(Happening.DOUBTED, lead, problem))
        if not known.told and (said.held or said.reason == WaitReason.RELEASED):
            self._reason(said, known, lead, now)

    def _reason(self, said: AppStatus, known: _Told, lead: PodRecord, now: float) -> None:
        if said.reason == WaitReason.RELEASED:
            what = Happening.RELEASED
        elif said.reason in REFUSALS:
            what = Happening.REFUSED
        elif now - known.since < PATIENCE:
            return
        else:
            what = Happening.HELD
        known.told = True
        self.add(said.app, Happened(what, lead, said.sentence))

    def parked(self, pod: PodRecord) -> None:
        """A pod was parked."""
        self.add(pod.uid, Happened(Happening.PARKED, pod, PARKED))

    def add(self, about: str, happened: Happened) -> None:
        """Queue an event, unless the same one was told a moment ago."""
        now = self.clock()
        key = (about, happened.what)
        if now - self._last.get(key, float("-inf")) < AGAIN:
            return
        self._last[key] = now
        self._waiting.setdefault(happened.pod.namespace, deque()).append(happened)

    def forget(self, alive: set[str]) -> None:
        """Drop what is known of apps that are gone."""
        for app in [app for app in self._apps if app not in alive]:
            del self._apps[app]
        for key in [key for key, at in self._last.items() if self.clock() - at >= AGAIN and key[0] not in alive]:
            del self._last[key]

    async def post(self) -> None:
        """Send what is queued, as far as the rate allows; a few wait for the next time, the rest is dropped."""
        now = self.clock()
        self._ending = {name: at for name, at in self._ending.items() if now - at < AGAIN}
        self._turns = {name: at for name, at in self._turns.items() if now - at < AGAIN}
        for happened in self._in_turn():
            if not self.lines.add(happened.pod.namespace, partial(self._post, happened)):
                self.metrics.events.labels("dropped").inc()
        await self.lines.settle()
        self._drop()

    def _in_turn(self) -> Iterator[Happened]:
        """What may be sent now: first of namespaces that had no turn for longest, else a busy one would have them all.

        Where a webhook hangs nothing more is sent: it would only take turns.
        """
        quick = [name for name in self._waiting if not self.lines.stuck(name)]
        ready = deque(sorted(quick, key=lambda name: self._turns.get(name, float("-inf"))))
        while ready and self.bucket.take():
            name = ready.popleft()
            self._turns[name] = self.clock()
            line = self._waiting[name]
            yield line.popleft()
            if line:
                ready.append(name)
            else:
                del self._waiting[name]

    def _drop(self) -> None:
        """Of what could not be sent a few stay for each namespace, with those that are being sent."""
        for name, line in list(self._waiting.items()):
            while len(line) + self.lines.length(name) > FEW and line:
                line.pop()
                self.metrics.events.labels("dropped").inc()
            if not line:
                del self._waiting[name]

    async def _post(self, happened: Happened) -> None:
        pod = happened.pod
        if pod.namespace in self._ending:
            self.metrics.events.labels("gone").inc()
            return
        try:
            answer = await self.session.write("POST", api_path("events", namespace=pod.namespace), self._body(happened))
        except Unavailable as problem:
            log.warning("event not posted", pod=pod.key, trouble=str(problem))
            return
        self.metrics.events.labels(self._result(answer, pod)).inc()

    def _result(self, answer: Answer, pod: PodRecord) -> str:
        """What became of an event. A namespace that is being deleted takes none, while its pods still come and go."""
        if answer.ok:
            return "posted"
        message = answer.message()
        if answer.status == 404 or ENDING in message:
            self._ending[pod.namespace] = self.clock()
            return "gone"
        log.warning("event refused", pod=pod.key, trouble=message)
        return "refused"

    def _body(self, happened: Happened) -> dict[str, object]:
        pod = happened.pod
        when = stamp(wall(self.clock))
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{pod.name[:200]}.", "namespace": pod.namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
            },
            "type": "Warning" if happened.what.warning else "Normal",
            "reason": happened.what.value,
            "message": happened.message.encode()[:MOST].decode(errors="ignore"),
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "firstTimestamp": when,
            "lastTimestamp": when,
            "count": 1,
        }
