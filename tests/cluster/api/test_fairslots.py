"""Slots that keys share: turns, what takes long, and what is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from slackwater_cluster.api.fairslots import MOST, FairSlots
from support.virtualtime import play

SHORT = 0.02  # the patience of these tests


class Work:
    """Work in slots; each kind of it goes on until it is told to end."""

    def __init__(self, slots: int) -> None:
        self.slots = FairSlots(slots, SHORT)
        self.begun = list[str]()
        self.under_way = self.most = 0
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks = list[asyncio.Task[None]]()

    def begin(self, *names: str) -> None:
        """Work with such names; their first letter is the key."""
        self.tasks += [asyncio.create_task(self._do(name)) for name in names]

    def end(self, *names: str) -> None:
        """It is over."""
        for name in names:
            self._ends.setdefault(name, asyncio.Event()).set()

    def cancel(self) -> None:
        """Nobody wants any of it any more."""
        for task in self.tasks:
            task.cancel()

    async def _do(self, name: str) -> None:
        async with self.slots.slot(name[0]):
            self.begun.append(name)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            try:
                await self._ends.setdefault(name, asyncio.Event()).wait()
            finally:
                self.under_way -= 1


def run(story: Coroutine[Any, Any, None]) -> None:
    """Play a story by a clock of its own, in bounded time."""
    play(asyncio.wait_for(story, 20))


async def moment(patiences: float = 0.0) -> None:
    """Let everything go on."""
    await asyncio.sleep(patiences * SHORT)
    for _ in range(5):
        await asyncio.sleep(0)


def test_keys_take_turns_and_each_keeps_its_order() -> None:
    """A key that came with many does not go before one that came with one."""

    async def story() -> None:
        work = Work(1)
        work.begin("a1", "a2", "a3", "b1", "b2", "c1")
        await moment()
        work.end("a1", "a2", "a3", "b1", "b2", "c1")
        await asyncio.gather(*work.tasks)
        assert work.begun == ["a1", "a2", "b1", "c1", "a3", "b2"]

    run(story())


def test_what_takes_long_leaves_its_slot_to_others_and_the_next_of_its_key_wait_for_it() -> None:
    """Two of the slow key had both slots: others waited as long as they took."""

    async def story() -> None:
        work = Work(2)
        work.begin("a1", "a2", "a3", "a4", "b1", "b2")
        await moment()
        assert work.begun == ["a1", "a2"]
        await moment(10)
        assert {"b1", "b2"} <= set(work.begun)
        assert work.slots.slow("a")
        begun = len([name for name in work.begun if name[0] == "a"])
        work.begin("a5", "c1")
        work.end("b1", "b2")
        await moment(10)
        assert "c1" in work.begun
        assert len([name for name in work.begun if name[0] == "a"]) == begun
        work.end("a1", "a2", "a3", "a4", "a5", "c1")
        await asyncio.gather(*work.tasks)

    run(story())


def test_a_key_that_is_quick_again_is_treated_like_the_others() -> None:
    """Its webhook answers again."""

    async def story() -> None:
        work = Work(2)
        work.begin("a1")
        await moment(10)
        assert work.slots.slow("a")
        work.end("a1", "a2")
        await moment()
        assert work.slots.slow("a"), "the next one may take long, too"
        work.begin("a2")
        await moment(2)
        assert work.slots.slow("a"), "one quick write says little: of several replicas one may hang"
        work.begin("a3")
        work.end("a3")
        await moment()
        assert not work.slots.slow("a")

    run(story())


def test_where_all_keys_are_slow_as_many_go_on_at_once_as_if_none_were() -> None:
    """And never more than three times as many, while they turn out to be slow."""

    async def story() -> None:
        work = Work(4)
        names = [f"{key}{number}" for number in range(3) for key in "abcdefghijklmnop"]
        work.begin(*names)
        for _ in range(12):
            await moment(2)
        assert 4 <= work.most <= 4 * MOST
        for name in names:
            work.end(name)
        await asyncio.gather(*work.tasks)
        assert len(work.begun) == len(names)

    run(story())


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_cancelled_every_slot_comes_back(seed: int) -> None:
    """In line, at its turn, while it is held, and when it is late."""
    chance = Random(seed)

    async def story() -> None:
        work = Work(3)
        names = [f"{chance.choice('abcd')}{number}" for number in range(40)]
        for name in names:
            work.begin(name)
            if chance.random() < 0.4:
                work.end(name)
            if chance.random() < 0.4:
                chance.choice(work.tasks).cancel()
            if chance.random() < 0.3:
                await moment(chance.random() * 2)
            assert work.under_way <= 3 * MOST
        work.end(*names)
        with suppress(asyncio.CancelledError):
            await asyncio.wait(work.tasks)
        again = Work(3)
        again.slots = work.slots
        again.begin("x1", "y1", "z1", "x2")
        await moment()
        assert again.begun == ["x1", "y1", "z1"], "as many slots as before, and no more"
        again.end("x1", "y1", "z1", "x2")
        await asyncio.gather(*again.tasks)

    run(story())


def test_many_keys_that_turn_slow_at_once_leave_slots_to_a_quick_one() -> None:
    """A webhook of several namespaces is down: two of them took all slots, ordinary and slow, while it hung."""

    async def story() -> None:
        work = Work(16)
        for key in "abcdef":
            work.begin(*(f"{key}{number}" for number in range(40)))
            await moment(4)
        work.begin("z1")
        work.end("z1")
        await moment(2)
        assert "z1" in work.begun
        work.cancel()

    run(story())


def test_one_slow_key_never_has_more_than_there_are_slots() -> None:
    """Those that turned out to be slow in ordinary slots count: it had twice as many, and another could not turn."""

    async def story() -> None:
        work = Work(4)
        work.begin("a1")
        work.end("a1")
        work.begin(*(f"a{number}" for number in range(2, 20)))
        for _ in range(10):
            await moment(1)
            assert work.under_way <= 4
        work.cancel()

    run(story())


def test_a_key_taken_for_slow_is_tried_in_a_free_slot() -> None:
    """It was late once, for a pause of the machine: it waited behind the slow ones for as long as they hung."""

    async def story() -> None:
        work = Work(2)
        work.begin("z1")
        await moment(4)
        work.end("z1")
        work.begin("a1", "a2", "a3", "b1", "b2", "b3")
        await moment(8)
        assert work.slots.slow("z")
        work.begin("z2", "z3")
        work.end("z2", "z3")
        await moment(2)
        assert {"z2", "z3"} <= set(work.begun)
        work.begin("z4")
        work.end("z4")
        await moment()
        assert not work.slots.slow("z")
        work.cancel()

    run(story())


def test_a_key_has_all_slots_as_soon_as_one_write_of_it_was_quick() -> None:
    """Until then a few: nobody knows yet whether all of them would hang."""

    async def story() -> None:
        work = Work(4)
        work.begin("a1", "a2", "a3", "a4", "a5")
        await moment()
        assert work.begun == ["a1", "a2"]
        work.end("a1")
        await moment()
        assert work.begun == ["a1", "a2", "a3", "a4", "a5"]
        work.end("a2", "a3", "a4", "a5")
        await asyncio.gather(*work.tasks)

    run(story())
