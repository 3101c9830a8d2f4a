"""What people are told about the start of an app on a real control plane, and when it really started.

Somebody looks at every waiting app again and again, as `slackwater explain` does; and asks `slackwater when` about each
app just before it is submitted. Both are read with the functions of those commands.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.pools.forecastlog import Judged
from slackwater.pools.startforecast import Source, StartInterval
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import reflector
from slackwater_cluster.watch.sources import PODS
from slackwater_lab.lab import Lab
from slackwater_lab.live.drivers import Ask, Course
from slackwater_lab.live.namespace import house
from slackwater_lab.live.play import Create, Player, pod_alone
from slackwater_lab.live.pods import PLAYED, Stage
from slackwater_lab.live.workload import Play
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.views import Start
from slackwater_monitor.when import forecast

NAMESPACE = "starts"
SYSTEM = "slackwater-system"
LOOK = 1.0  # seconds between two looks at all apps
WAITED = 2.0  # seconds: an app that starts within them was not held, whatever was told before it came
PATIENCE = 120.0  # seconds without any pod created, started or ended, after which a play is stopped


@dataclass(frozen=True, slots=True)
class Said:
    """What was told about an app at a moment (Unix seconds)."""

    app: str
    at: float
    told: StartInterval | str


@dataclass
class LiveStarts:
    """Everything that was told, and the moment at which the first pod of each app was bound."""

    looked: list[Said] = field(default_factory=list)  # at held apps, in the order of time
    asked: list[Said] = field(default_factory=list)  # before apps were submitted
    starts: dict[str, float] = field(default_factory=dict)

    def first(self) -> list[Judged]:
        """What was told when each app was first seen to be held."""
        firsts: dict[str, Said] = {}
        for said in self.looked:
            firsts.setdefault(said.app, said)
        return list(judged(firsts.values(), self.starts))

    def later(self, every: float) -> list[Judged]:
        """What was told at later looks, of each app one in so many seconds."""
        last: dict[str, float] = {}
        kept = []
        for said in self.looked:
            if said.app not in last:
                last[said.app] = said.at
            elif said.at - last[said.app] >= every:
                last[said.app] = said.at
                kept.append(said)
        return list(judged(kept, self.starts))

    def before(self) -> list[Judged]:
        """What `slackwater when` told of the apps that had to wait."""
        return [each for each in judged(self.asked, self.starts) if each.wait > WAITED]


def judged(saids: Iterable[Said], starts: Mapping[str, float]) -> Iterable[Judged]:
    """Each forecast with the real wait from then on; of apps that never started nothing can be said."""
    for said in saids:
        if said.app in starts and starts[said.app] >= said.at:
            yield Judged(said.at, said.told, starts[said.app] - said.at)


def interval(start: Start) -> StartInterval | str:
    """What a page or a command says, in the words of the core."""
    if start.low is None or start.middle is None or start.high is None:
        return start.unknown or "not known"
    return StartInterval(start.low, start.middle, start.high, Source(start.source))


class _Bindings:
    """Told of pods by a watch: when the first pod of each app was bound."""

    def __init__(self, starts: dict[str, float]) -> None:
        self._starts = starts

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Pods as they are now."""
        for pod in records:
            if pod.node:
                self._starts.setdefault(pod.labels["slackwater.io/app"], time.time())

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Pods that are gone."""

    def synced(self) -> None:
        """A list is complete."""


async def play(lab: Lab, plays: Sequence[Play], limit: float) -> tuple[list[Course], LiveStarts]:
    """Play the jobs on a lab, look all the while, and ask before each submission."""
    found, where = LiveStarts(), endpoint(lab.site.kubeconfig)
    stage = Stage(NAMESPACE, NAMESPACE, server=where.url)
    questions: list[asyncio.Task[None]] = []

    def creates(ask: Ask, on: Stage) -> list[Create]:
        made = pod_alone(ask, on)
        if ask.part is None:
            questions.append(asyncio.create_task(asyncio.to_thread(_ask, lab, ask, made[0], found)))
        return made

    async with Session(where) as session, house(session, NAMESPACE, managed=True):
        source = reflector.Source(
            api_path("pods", namespace=NAMESPACE),
            PODS.shape,
            PODS.trim,
            params=(("labelSelector", f"{PLAYED}={NAMESPACE}"),),
        )
        watching = asyncio.create_task(reflector.Reflector(session, source, _Bindings(found.starts)).run())
        looking = asyncio.create_task(asyncio.to_thread(_look, lab, found, stop := threading.Event()))
        try:
            courses = await Player(where, stage, creates=creates, patience=PATIENCE, clean=False).play(plays, limit)
        finally:
            stop.set()
            watching.cancel()
            await asyncio.gather(looking, *questions)
    return courses, found


def _look(lab: Lab, found: LiveStarts, stop: threading.Event) -> None:
    """Read what all apps say of their start, until told to stop."""
    with lab.api() as api:
        while not stop.is_set():
            at = time.time()
            apps, _ = decoding.read(
                decoding.apps_at(at), api.items(custom_path("trackedapps", namespace=NAMESPACE)), "trackedapps"
            )
            found.looked += [Said(app.name, at, interval(app.start)) for app in apps if app.start is not None]
            stop.wait(LOOK)


def _ask(lab: Lab, ask: Ask, made: Create, found: LiveStarts) -> None:
    """Ask `slackwater when` about a driver that is submitted in this moment; one that starts at once is left out."""
    at = time.time()
    with lab.api() as api:
        (said,) = forecast(api, _extender(lab, api), [made[1]], NAMESPACE, SYSTEM)
    if said.start is not None:
        found.asked.append(Said(ask.play.id, at, interval(said.start)))


def _extender(lab: Lab, api: ApiClient) -> ExtenderClient:
    return ExtenderClient(api, lab.site.url("extender"))
