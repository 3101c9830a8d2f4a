"""The cluster of a soak: apps come, work and go for days; what is over is deleted, and time may be told wrong.

It can be written to a file and read again, so that a soak that was stopped goes on.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any
from zlib import crc32

import msgspec

from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import PodRecord
from support.search.lives import Life
from support.search.plan import AppPlan, NodePlan, StagePlan, WorldPlan
from support.walk.programs import TEAMS, Store

NODES = 20
HOUR, DAY = 3600.0, 86_400.0
KEPT = 300.0  # seconds a finished pod stays, as a Job's ttlSecondsAfterFinished
EVENT = HOUR  # seconds an Event stays, as the API server keeps it by default
SERIES = 200  # recurring apps
SHORT = (30.0, 60.0, 120.0, 300.0)  # seconds of tasks
PLAN = WorldPlan(
    seed=0,
    nodes=tuple(NodePlan(f"node-{number}", 16, 64, daemon=0.25) for number in range(NODES)),
    apps=(),
)


class SoakCluster(Store):
    """Nodes, and a stream of apps: `rate` an hour, half as many at night and half as many again at noon."""

    def __init__(
        self,
        rate: float,
        seed: int,
        *,
        series: int = SERIES,
        once: float = 0.1,
        kept: float = KEPT,
        event: float = EVENT,
    ) -> None:
        super().__init__(PLAN)
        self.rate, self.rng = rate, Random(seed)
        self.series, self.once, self.kept, self.event = series, once, kept, event
        self.lives: dict[str, Life] = {}
        self.next, self.made, self.done, self.failed = self.now, 0, 0, 0
        self.events: deque[float] = deque()
        self.learned: dict[str, str] = {}  # what the extender keeps in its ConfigMap
        self.uses_of = self._use
        self.offset = 0.0  # by how much the machines' clock is wrong
        self.measured = True
        for kind, spec in (
            ("SlackPolicy", {"mode": "enforce", "estimation": {"knownMarginPercent": 20}}),
            ("AdmissionQueue", {}),
            ("ReservationPool", {"queue": "default"}),
        ):
            self.apply(kind, "default", spec=spec)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but who watches."""
        gone = ("cache", "uses_of", "broken", "assigned")
        kept = {name: value for name, value in vars(self).items() if name not in gone}
        return {**kept, "watchers": [], "pairs": []}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """As it was written; only for tests, which read their own files."""
        vars(self).update(kept)
        self.broken = lambda _: False
        self.assigned = lambda _: ""
        self.uses_of = self._use

    def wall(self) -> float:
        """Unix seconds as the machines of our programs have them."""
        return self.now + self.offset

    @property
    def hour(self) -> float:
        """Hours since the beginning."""
        return (self.now - 1000.0) / HOUR

    # -- apps ---------------------------------------------------------------------------------------------------------

    def live(self) -> None:
        """Apps come, work and end; what ended some time ago is deleted."""
        while self.next <= self.now:
            self._submit()
            wave = 1.0 - 0.5 * math.cos(2 * math.pi * self.hour / 24)
            self.next += self.rng.expovariate(self.rate / HOUR * wave)
        for life in list(self.lives.values()):
            life.step()
            if life.over:
                del self.lives[life.id]
                self.done += 1
                self.failed += life.failed
        self.delete(*(pod for pod in self.pods.values() if pod.done and self.now - pod.finished >= self.kept))
        while self.events and self.now - self.events[0] >= self.event:
            self.events.popleft()
        self.writes.clear()
        self.released.clear()

    def _use(self, pod: PodRecord) -> tuple[float, float]:
        """Between three and nine tenths of what was declared, the same in each run of a series."""
        share = 0.3 + crc32(pod.labels.get(names.APP, pod.name).rpartition("-")[0].encode()) % 7 / 10
        return pod.declared["cpu"] * share, pod.declared["memory"] * share

    def _submit(self) -> None:
        """Some have a name that never comes again, as people choose who put a word of their own into it."""
        self.made += 1
        rng = self.rng
        number = rng.randrange(self.series)
        name = f"etl{number}-{28_000_000 + self.made}" if rng.random() >= self.once else f"adhoc{self.made}x-run"
        kind = Random(number)
        stages = tuple(
            StagePlan(kind.randint(1, 4), kind.choice((0.5, 1, 2)), kind.choice((1, 2, 4)), kind.choice(SHORT))
            for _ in range(kind.choice((1, 1, 2)))
        )
        driver = (0.5, 1.0) if kind.random() < 0.6 else None
        plan = AppPlan(name, stages, TEAMS[number % 2], self.now - 1000.0, driver=driver, announces=kind.random() < 0.5)
        life = Life(self, plan)
        self.lives[life.id] = life

    # -- the API server -----------------------------------------------------------------------------------------------

    def apply(self, kind: str, name: str, **parts: Any) -> None:
        """Custom resources have a time of creation."""
        if (kind, name) not in self.customs:
            parts.setdefault("created", self.now)
        super().apply(kind, name, **parts)

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """Every Job that is asked for is there, and nobody owns it."""
        name = path.rpartition("/")[2]
        return Answer(200, msgspec.json.encode({"metadata": {"name": name, "uid": f"job-{name}"}}))

    def _note(self, method: str, path: str, body: Any) -> Answer:
        if path.endswith("/events"):
            self.events.append(self.now)
            return Answer(201, b"{}")
        return super()._note(method, path, body)

    # -- the ConfigMap of what was learned, as the extender's store asks for it ---------------------------------------

    def read_learned(self, _: str) -> dict[str, Any]:
        """The ConfigMap."""
        return {"binaryData": self.learned}

    def write_learned(self, _: str, body: Mapping[str, Any]) -> None:
        """A patch of it."""
        self.learned = dict(body["binaryData"])
