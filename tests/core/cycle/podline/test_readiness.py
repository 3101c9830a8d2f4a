"""May this group go now, were there room: one answer for the round, what is said, and who looks afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline.readiness import lacking_room, readiness
from slackwater.cycle.snapshot import App, PodGroup, Queue
from slackwater.roles import Role
from support.builders.snapshots import group, queue, released, snapshot

ROOMY = queue(64)
WORKERS, SERVERS = group("app", held=2, stage="w"), group("app", held=1, stage="s")
DRIVER = group("app", role=Role.DRIVER, held=1, stage="d")


def app(*groups: PodGroup, **more: object) -> App:
    """An app that has started, of these groups."""
    return replace(App("app", "team", 0.0, groups, started=True), **more)  # type: ignore[arg-type]  # fields by name


def gang(*groups: PodGroup, **more: object) -> App:
    """The same, all at once or not at all."""
    return app(*groups, gang=True, **more)


CASES = {
    "nothing keeps it": (app(WORKERS), ROOMY, None),
    "its app is paused": (app(WORKERS, paused=True), ROOMY, WaitReason.PAUSED),
    "its queue is paused": (app(WORKERS), replace(ROOMY, paused=True), WaitReason.PAUSED),
    "a draining queue starts nothing": (
        app(WORKERS, started=False),
        replace(ROOMY, draining=True),
        WaitReason.DRAINING,
    ),
    "a draining queue lets others finish": (app(WORKERS), replace(ROOMY, draining=True), None),
    "a release came to nothing": (app(replace(WORKERS, pausing=True)), ROOMY, WaitReason.NOT_BOUND),
    "no node was found": (app(replace(WORKERS, unplaceable=True)), ROOMY, WaitReason.UNPLACED),
    "what stands aside keeps no others": (app(WORKERS, replace(SERVERS, pausing=True)), ROOMY, None),
    "… but for the rest of its gang": (gang(WORKERS, replace(SERVERS, pausing=True)), ROOMY, WaitReason.NOT_BOUND),
    "… whichever way": (gang(WORKERS, replace(SERVERS, unplaceable=True)), ROOMY, WaitReason.UNPLACED),
    "a gang is not complete": (gang(WORKERS, announced=3), ROOMY, WaitReason.GANG),
    "its driver does not run": (app(WORKERS, DRIVER), ROOMY, WaitReason.DRIVER),
    "a driver goes": (app(DRIVER, WORKERS), ROOMY, None),
    "a driver that came back goes before its gang is complete": (gang(DRIVER, WORKERS, announced=3), ROOMY, None),
    "… but not the first one, if tasks are there": (
        gang(DRIVER, WORKERS, announced=3, started=False),
        ROOMY,
        WaitReason.GANG,
    ),
    "a stage before it is not placed": (
        app(replace(WORKERS, level=1), SERVERS, strict=True),
        ROOMY,
        WaitReason.PARENTS,
    ),
}


@pytest.mark.parametrize(("seen", "at", "reason"), CASES.values(), ids=CASES)
def test_a_group_is_ready_or_told_what_it_waits_for(seen: App, at: Queue, reason: WaitReason | None) -> None:
    """The first group of each app."""
    assert readiness(seen, at)[0].reason is reason


@pytest.mark.parametrize(("seen", "at", "reason"), CASES.values(), ids=CASES)
def test_whoever_is_ready_goes_if_there_is_room_and_nobody_else_does(
    seen: App, at: Queue, reason: WaitReason | None
) -> None:
    """The round releases just those that are ready, and who looks afterwards finds a claim on whatever is held."""
    world = snapshot(seen, on=at)
    decided = decide(world)
    assert (seen.groups[0].held[0] in released(decided)) is (reason is None)
    assert {each.claim for each in holds(world, decided)} <= {Claim.NOT_READY}


def test_of_a_group_without_held_pods_nothing_is_said() -> None:
    """It waits for nothing."""
    (ready,) = readiness(app(group("app", running=1), paused=True), ROOMY)
    assert (ready.pods, ready.reason) == (0, None)


def test_a_gang_of_which_a_part_pauses_lacks_more_than_room() -> None:
    """Also where placement found no node for the rest of it: kept room would be of no use to it."""
    waiting = gang(replace(WORKERS, unplaceable=True), replace(SERVERS, pausing=True))
    assert lacking_room(waiting, ROOMY) == []


ASIDE = {
    "a driver before it starts": (app(replace(DRIVER, unplaceable=True), started=False), "a pod that asks for 1 cpu"),
    "tasks of a started app": (app(replace(WORKERS, unplaceable=True)), "a pod that asks for 1 cpu"),
    "a gang": (gang(WORKERS, replace(SERVERS, unplaceable=True)), "all pods of its gang"),
}


@pytest.mark.parametrize(("seen", "what"), ASIDE.values(), ids=ASIDE)
def test_what_stands_aside_is_told_that_no_node_has_room_only_where_none_has(seen: App, what: str) -> None:
    """Placement found none a moment ago: pods of its gang had none, its likes need more, or room has come since."""
    roomy, full = (decide(snapshot(seen, on=at)).verdicts["app"] for at in (ROOMY, queue(64, free=0.5)))
    assert (roomy.reason, full.reason) == (WaitReason.UNPLACED, WaitReason.FRAGMENTED)
    assert roomy.sentence.startswith(f"placement found no node for {what} a moment ago, although")
    assert full.sentence.startswith("no single node of queue default has room for 1 cpu")
