"""A held pod is decided on as soon as it can be: no round waits for a clock where there is news."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from slackwater_cluster import names
from slackwater_cluster.names import UNKNOWN_POD
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.clients.extenderclient import Placement, PlacementWish
from slackwater_operator.release.loop import ReleaseLoop
from slackwater_operator.release.pace import LEAST, rest
from support.fakes.cluster import World, enforcing, node
from support.fakes.loop import release_loop

SOON = 1.0  # seconds; each clock of the loop is set to far more


def running(world: World, story: Callable[[ReleaseLoop], Awaitable[None]]) -> None:
    """Play a story while the whole loop runs, with periods so long that only news can move it."""

    async def play() -> None:
        made = release_loop(world, period=30.0, idle_period=60.0)
        loop = asyncio.create_task(made.run())
        try:
            async with asyncio.timeout(10 * SOON):
                await story(made)
        finally:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)

    asyncio.run(play())


async def released(world: World, *uids: str) -> bool:
    """Whether the gates of these pods are lifted soon."""
    for _ in range(100):
        if set(uids) <= set(world.released):
            return True
        world.now += SOON / 100
        await asyncio.sleep(SOON / 100)
    return False


@pytest.mark.parametrize(
    ("took", "most", "expected"),
    [(0.0, 0.25, LEAST), (0.005, 0.25, 0.02), (0.5, 0.25, 0.25), (0.1, 0.001, 0.001)],
    ids=["at least a moment", "four times as long", "at most the period", "a shorter period"],
)
def test_rest_follows_what_a_round_takes(took: float, most: float, expected: float) -> None:
    """Rounds that release nothing take a fifth of the time at most."""
    assert rest(took, most) == pytest.approx(expected)


def test_a_pod_that_comes_right_behind_a_round_is_released_at_once() -> None:
    """The round before it released nothing, or something: it need not wait for the period either way."""
    world = enforcing(node("a"))

    async def story(made: ReleaseLoop) -> None:
        for name in ("first", "second", "third"):
            pod = world.create(name, app=name)
            made.news.set()
            assert await released(world, pod.uid), name

    running(world, story)


def test_room_that_only_the_extender_sees_is_used_at_once() -> None:
    """A sample, or a pod's end that our watch showed before the extender knew of it: no watch will tell us again."""
    world = enforcing(node("a", cpu=4))
    other = world.create("other", cpu=4, app="other", gates=())
    world.schedule()

    async def story(made: ReleaseLoop) -> None:
        pod = world.create("task", app="etl")
        made.news.set()
        await asyncio.sleep(0.1)
        assert world.released == []
        del world.pods[other.uid]  # the extender's ledger alone
        world.freed_room += 1
        assert await released(world, pod.uid)

    running(world, story)


def test_a_pod_the_extender_learns_of_a_moment_later_is_released_then() -> None:
    """On an idle cluster nothing else would bring the next round."""
    world = enforcing(node("a"))
    behind = _FirstBehind(world)

    async def story(made: ReleaseLoop) -> None:
        made.releaser.places = behind
        pod = world.create("task", app="etl")
        made.news.set()
        assert await released(world, pod.uid)

    running(world, story)
    assert behind.asked > 1


def test_tasks_follow_the_start_of_their_driver_at_once() -> None:
    """They are held until it runs, and its start is no news of a held pod."""
    world = enforcing(node("a"))

    async def story(made: ReleaseLoop) -> None:
        driver = world.create("driver", app="etl", role=names.DRIVER)
        task = world.create("task", app="etl")
        made.news.set()
        assert await released(world, driver.uid)
        world.schedule()
        made.news.set()
        assert await released(world, task.uid)

    running(world, story)


def test_news_of_running_tasks_bring_no_round_of_their_own() -> None:
    """A full cluster tells of its pods all the time; only what could let a held pod go is pressing."""
    world = enforcing(node("a", cpu=4))
    other = world.create("other", cpu=4, app="other", gates=())
    world.schedule()

    async def story(made: ReleaseLoop) -> None:
        world.create("task", app="etl")
        made.news.set()
        rounds = await still(asked)
        for number in range(5):
            world.change(other.uid, annotations={"note": str(number)})
            made.news.set()
            await asyncio.sleep(0.03)
        assert len(asked) == rounds
        world.create("second", app="etl")
        made.news.set()
        assert await still(asked) > rounds

    asked = _counted(world)
    running(world, story)


async def still(asked: Sequence[float]) -> int:
    """How many rounds there were once none has come for a while: a round rests four times as long as it took."""
    before, ticks = len(asked), 0
    while ticks < 80:
        await asyncio.sleep(SOON / 100)
        ticks = ticks + 1 if len(asked) == before else 0
        before = len(asked)
    return before


def _counted(world: World) -> list[float]:
    """A line for each time that a round asks for room."""
    asked, rooms = list[float](), world.rooms

    async def counted() -> Rooms:
        asked.append(world.now)
        return await rooms()

    world.rooms = counted  # type: ignore[method-assign]  # the question is what is counted
    return asked


class _FirstBehind:
    """An extender that does not know a pod when it is asked about it for the first time."""

    def __init__(self, world: World) -> None:
        self.world, self.asked = world, 0
        self.rooms, self.reserve, self.unreserve = world.rooms, world.reserve, world.unreserve
        self.wakeups, self.freed, self.usage = world.wakeups, world.freed, world.usage

    async def place(self, wishes: Sequence[PlacementWish], **how: Any) -> Placement:
        """Refuse once, in the extender's own words."""
        self.asked += bool(wishes)
        if self.asked == 1 and wishes:
            return Placement({}, {wish.uid: UNKNOWN_POD for wish in wishes})
        return await self.world.place(wishes, **how)
