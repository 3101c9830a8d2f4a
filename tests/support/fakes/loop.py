"""The whole loop over a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from slackwater.errors import Unavailable
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.objects.records import CustomRecord
from slackwater_operator.clients.extenderclient import DegradedMode
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.eviction import PressureRelief
from slackwater_operator.release.loop import ReleaseLoop
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.ownerlookup import OwnerLookup
from slackwater_operator.release.release import Releaser
from slackwater_operator.release.sizelookup import SizeLookup
from slackwater_operator.release.stallwatch import StallKeeper
from slackwater_operator.status.customstatus import ResourceStatusWriter
from slackwater_operator.status.events import EventWriter
from slackwater_operator.status.podreasons import ReasonWriter
from slackwater_operator.status.policygate import GateKeeper
from slackwater_operator.status.trackedapps import TrackedAppWriter
from support.fakes.cluster import World, operator_settings


def release_loop(world: World, through: Session | None = None, **wishes: Any) -> ReleaseLoop:
    """Every part of the loop, on the world's clock; it writes to the world itself where no session is given."""
    session, metrics, settings = through or cast("Session", world), Metrics(), operator_settings(**wishes)
    world.cache.views.ask_sizes = True
    writer = PodWriter(session)
    clock = world.clock
    announcer = EventWriter(session, metrics, clock, TokenBucket(100, 100, clock))
    releaser = Releaser(world.cache, world, writer, settings, metrics, DegradedMode(60, clock), clock)
    return ReleaseLoop(
        cache=world.cache,
        releaser=releaser,
        upkeep=Nominations(releaser.writes, told=announcer.parked),
        owners=OwnerLookup(session, clock),
        sizes=SizeLookup(session, clock),
        tracker=TrackedAppWriter(session, clock, 10, TokenBucket(100, 100, clock), 60),
        announcer=announcer,
        labeller=ReasonWriter(writer, TokenBucket(100, 100, clock), clock, 5),
        reporter=ResourceStatusWriter(session, world.cache, clock),
        stalls=StallKeeper(world.cache, clock),
        relief=PressureRelief(world.cache, writer, announcer, metrics, clock),
        gates=GateKeeper(session, world.cache, metrics, clock, settings.open_nodes),
        settings=settings,
        metrics=metrics,
        clock=clock,
    )


async def look_up(made: ReleaseLoop) -> None:
    """Everything that is due to be looked up, as the loops beside the rounds do."""
    for look in (made.owners, made.sizes):
        await look.run(made.cache, made.news.set)


def turn(made: ReleaseLoop, world: World, times: int = 1, seconds: float = 1.0) -> None:
    """Some turns, with time passing and pods being bound in between."""

    async def once() -> None:
        await look_up(made)
        await made.turn()
        await made.releaser.writes.drain()
        await made.maintain()

    for _ in range(times):
        asyncio.run(once())
        world.schedule()
        world.now += seconds


@asynccontextmanager
async def leading(made: ReleaseLoop) -> AsyncIterator[None]:
    """The loop as it runs while its process leads; when that ends, no task of it is left."""
    others = asyncio.all_tasks()
    run = asyncio.create_task(made.run())
    try:
        yield
    finally:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
    assert asyncio.all_tasks() == others


async def until(so: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something is so; a failure where it is not so in time."""
    async with asyncio.timeout(seconds):
        while not so():  # noqa: ASYNC110 - of anything, also of what tells nobody
            await asyncio.sleep(0.01)


def hang(world: World, part: str) -> list[str]:
    """Reads of paths with this part get no answer from here on; returns those that were begun, as they come."""
    begun, get = list[str](), world.get

    async def hanging(path: str, *parameters: Any, **more: Any) -> Answer:
        if part in path:
            begun.append(path)
            await asyncio.Event().wait()
        return await get(path, *parameters, **more)

    world.get = hanging  # type: ignore[method-assign]
    return begun


def seen(made: ReleaseLoop, kind: str, name: str, **status: Any) -> None:
    """An object as the watch shows it."""
    made.reporter.set(kind, [CustomRecord(name=name, generation=3, status=status)])


def written(world: World, part: str) -> list[Any]:
    """Bodies of writes whose path contains a part."""
    return [body for _, path, body in world.posted if part in path]


def running(world: World) -> list[str]:
    """Names of the pods on nodes."""
    return sorted(pod.name for pod in world.pods.values() if pod.node and not pod.done)


class Away:
    """An extender that never answers."""

    async def _fail(self, *_: object, **__: object) -> Any:
        raise Unavailable("connection refused")

    place = reserve = unreserve = rooms = wakeups = freed = usage = _fail
