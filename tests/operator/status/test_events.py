"""Events: what is told on pods, once each, how much of it, and to whom nothing is told."""

import asyncio
from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from slackwater.cycle.appverdicts import REFUSALS, WaitReason
from slackwater_cluster.api.session import Answer, Session
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.metrics import Metrics
from slackwater_operator.status.appstatus import AppStatus
from slackwater_operator.status.events import EventWriter, Happened, Happening
from support.fakes.cluster import World, enforcing, node
from support.fakes.writes import Writes


def announcer(world: World, writes: Writes, burst: float = 50) -> EventWriter:
    """An announcer on the world's clock."""
    return EventWriter(cast("Session", writes), Metrics(), world.clock, TokenBucket(1, burst, world.clock))


def test_events_on_hold_release_and_admission_once_each() -> None:
    """A hold is told after a few seconds, a start at once, and nothing twice in a minute."""
    world = enforcing(node("a", cpu=2))
    world.create("other", cpu=1, namespace="plain", gates=(), scheduler="default-scheduler", node="a")
    lead = world.create("t0", cpu=2, app="etl")
    operator = world.operator()
    writes = Writes()
    speaker = announcer(world, writes)
    for _ in range(10):
        operator.step()
        speaker.observe(operator.said("etl"), lead, started=False, problems=())
    world.add_nodes(node("b"))
    for _ in range(3):
        operator.step()
        speaker.observe(operator.said("etl"), lead, started=True, problems=())
    asyncio.run(speaker.post())
    assert [body["reason"] for _, _, body in writes.made] == ["Held", "Admitted", "Released"]


@pytest.mark.parametrize("reason", sorted(REFUSALS))
def test_every_refusal_is_told_as_one_and_at_once(reason: WaitReason) -> None:
    """Waiting will not help: the event says the same as the phase of the TrackedApp."""
    world = enforcing()
    lead = world.create("t", app="etl")
    writes = Writes()
    speaker = announcer(world, writes)
    said = AppStatus("team/etl", cast("Any", None), reason, "too large", held=1)
    speaker.observe(said, lead, started=False, problems=())
    asyncio.run(speaker.post())
    assert [(body["reason"], body["type"]) for _, _, body in writes.made] == [("Refused", "Warning")]


def test_a_flood_of_events_is_cut_off() -> None:
    """Beyond the burst ten wait for their turn, and the rest is dropped and counted."""
    world = enforcing()
    lead = world.create("t", app="etl")
    writes = Writes()
    speaker = announcer(world, writes, burst=5)
    for number in range(20):
        said = AppStatus(f"team/{number}", cast("Any", None), "infeasible", "too large", held=1)
        speaker.observe(said, lead, started=False, problems=())
    asyncio.run(speaker.post())
    assert len(writes.made) == 5
    assert {body["reason"] for _, _, body in writes.made} == {Happening.REFUSED.value}
    assert speaker.metrics.events.labels("dropped")._value.get() == 5


def test_a_namespace_that_tells_more_than_the_rate_drops_nobody_elses_events() -> None:
    """It had every token as soon as there was one, and what happened to others was told to nobody."""
    world = enforcing()
    world.namespace("calm")
    busy, calm = world.create("t", app="busy"), world.create("c", namespace="calm", app="calm")
    writes = Writes()
    speaker = announcer(world, writes, burst=5)
    for second in range(30):
        for number in range(20):
            speaker.add(f"team/{second}/{number}", Happened(Happening.UNREADABLE, busy, "nonsense"))
        asyncio.run(speaker.post())
        if second % 10 == 5:
            speaker.add(f"calm/{second}", Happened(Happening.HELD, calm, "no room"))
            asyncio.run(speaker.post())
        world.now += 1
    told = [body["involvedObject"]["name"] for _, _, body in writes.made]
    assert told.count("c") == 3
    assert len(told) == 5 + 29, "and no event less is told"


@pytest.mark.parametrize(
    ("status", "message", "counted", "tries"),
    [
        (403, 'events "t." is forbidden: ... because it is being terminated', "gone", 1),
        (404, "namespaces team not found", "gone", 1),
        (403, "user may not create events", "refused", 3),
    ],
    ids=["namespace ends", "namespace is gone", "no right"],
)
def test_events_about_a_namespace_that_goes_are_not_tried_again(
    status: int, message: str, counted: str, tries: int
) -> None:
    """Pods of a namespace under deletion come and go for a while; a refusal for any other reason is logged."""
    world = enforcing()
    writes = Writes(Answer(status, msgspec.json.encode({"message": message})))
    speaker = announcer(world, writes)
    for number in range(3):
        lead = world.create(f"t{number}", app=f"etl-{number}")
        speaker.add(f"team/etl-{number}", Happened(Happening.HELD, lead, "no room"))
    with capture_logs() as logs:
        asyncio.run(speaker.post())
    assert len(writes.made) == tries
    assert speaker.metrics.events.labels(counted)._value.get() == 3
    assert len(logs) == (3 if counted == "refused" else 0)


def test_messages_are_cut_by_bytes() -> None:
    """The API server counts bytes, and our sentences hold signs of more than one."""
    world = enforcing()
    lead = world.create("t", app="etl")
    body = announcer(world, Writes())._body(Happened(Happening.HELD, lead, "×" * 2000))
    assert len(str(body["message"]).encode()) == 1024
