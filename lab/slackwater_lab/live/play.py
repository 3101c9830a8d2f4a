"""Gives the play: watches its pods, creates what the conductor asks for, ends drivers, and cleans the stage."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.contenttypes import JSON, STRATEGIC
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.reflector import Reflector, Source
from slackwater_cluster.watch.sources import PODS
from slackwater_lab.live.drivers import GONE, Ask, Conductor, Course
from slackwater_lab.live.pods import PLAYED, Stage, manifest
from slackwater_lab.live.realdrivers import Director
from slackwater_lab.live.workload import Play, checked

TURN = 0.1  # seconds between two looks at the clock; news of pods is taken up at once
EXISTS = 409
PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds between attempts of a write that got no answer
Create = tuple[str, Mapping[str, Any]]  # the address of a list, and what is created there


def _quiet(_: float) -> None:
    return


def pod_alone(ask: Ask, stage: Stage) -> list[Create]:
    """What is created for an ask: its pod, and nothing else."""
    return [(api_path("pods", namespace=stage.namespace), manifest(ask, stage))]


class Player:
    """One performance. `progress` is called with the share of jobs that are over.

    `creates` says which objects an ask becomes, in order; `patience` ends a play in which no pod was created, started
    or ended for so many seconds; `clean` false leaves the pods where they are, for a cluster that is thrown away.
    """

    def __init__(
        self,
        where: Endpoint,
        stage: Stage,
        progress: Callable[[float], None] = _quiet,
        creates: Callable[[Ask, Stage], Sequence[Create]] = pod_alone,
        *,
        patience: float = math.inf,
        clean: bool = True,
    ) -> None:
        self._where, self._stage, self._progress = where, stage, progress
        self._creates, self._patience, self._cleans = creates, patience, clean
        self._news = asyncio.Event()
        self._told: list[tuple[str, str]] = []
        self._phases: dict[str, str] = {}
        self._moved = monotonic()

    async def play(self, plays: Sequence[Play], limit: float) -> list[Course]:
        """Play until every job is over, or for `limit` seconds. The stage is cleaned whatever happens."""
        conductor = (Director if self._stage.image else Conductor)(checked(plays))
        async with Session(self._where, in_flight=16) as session:
            watching = asyncio.create_task(Reflector(session, self._source(), self).run())
            try:
                await self._perform(session, conductor, watching, limit)
            finally:
                watching.cancel()
                if self._cleans:
                    await asyncio.shield(self._clean(session))
        return conductor.courses

    # -- what the reflector tells -------------------------------------------------------------------------------------

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Pods as they are now."""
        self._told += [(pod.name, pod.phase) for pod in records]
        if any(self._phases.get(pod.name) != pod.phase for pod in records):
            self._moved = monotonic()
        self._phases |= {pod.name: pod.phase for pod in records}
        self._news.set()

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Pods that are gone."""
        self._told += [(pod.name, GONE) for pod in records]
        self._news.set()

    def synced(self) -> None:
        """A list is complete."""

    # -- the performance ----------------------------------------------------------------------------------------------

    async def _perform(
        self, session: Session, conductor: Conductor | Director, watching: asyncio.Task[None], limit: float
    ) -> None:
        """Writes go their own way: a stage of many pods must not keep other drivers from asking."""
        began = self._moved = monotonic()
        async with asyncio.TaskGroup() as writes:
            while conductor.share < 1 and (now := monotonic() - began) < limit and not self._stalled():
                told, self._told = self._told, []
                asks = [ask for name, phase in told for ask in conductor.seen(name, phase, now)]
                more, ends = conductor.step(now)
                for ask in [*asks, *more]:
                    writes.create_task(self._create(session, ask))
                for name in ends:
                    writes.create_task(self._end(session, name))
                self._progress(conductor.share)
                if watching.done():
                    watching.result()  # raises what ended the watch
                await self._rest()

    def _stalled(self) -> bool:
        return monotonic() - self._moved > self._patience

    async def _rest(self) -> None:
        self._news.clear()
        if self._told:
            return
        try:
            await asyncio.wait_for(self._news.wait(), TURN)
        except TimeoutError:
            return

    async def _create(self, session: Session, ask: Ask) -> None:
        for path, body in self._creates(ask, self._stage):
            answer = await self._written(session, "POST", path, body)
            if not answer.ok and answer.status != EXISTS:
                kind = str(body.get("kind", "Pod")).lower()
                raise Unavailable(f"{kind} {ask.name} was not created: {answer.message()}")

    async def _end(self, session: Session, name: str) -> None:
        """A simulated driver has no program that could end: its end is written for it."""
        await self._written(
            session, "PATCH", f"{self._path}/{name}/status", {"status": {"phase": "Succeeded"}}, STRATEGIC
        )

    @staticmethod
    async def _written(session: Session, method: str, path: str, body: object, kind: str = JSON) -> Answer:
        """A write whose answer does not come is sent again: a busy machine must not end the play."""
        for pause in PAUSES:
            try:
                return await session.write(method, path, body, content_type=kind)
            except Unavailable:
                await asyncio.sleep(pause)
        return await session.write(method, path, body, content_type=kind)

    async def _clean(self, session: Session) -> None:
        query = f"?labelSelector={PLAYED}%3D{self._stage.play}&gracePeriodSeconds=0"
        await session.write("DELETE", self._path + query, {})

    @property
    def _path(self) -> str:
        return api_path("pods", namespace=self._stage.namespace)

    def _source(self) -> Source[PodRecord]:
        return Source(self._path, PODS.shape, PODS.trim, params=(("labelSelector", f"{PLAYED}={self._stage.play}"),))
