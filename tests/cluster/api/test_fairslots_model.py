"""Slots that keys share, in virtual time: books that add up whatever happens, and how long a quick key waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster.api.fairslots import MOST, MOST_KEYS, FairSlots
from support.virtualtime import play

QUICK, SLOW = (0.0, 0.001, 0.05, 0.3, 0.99), (1.0, 1.2, 2.0, 10.0, 100.0)


def books_add_up(slots: FairSlots) -> None:
    """Every count agrees with every other, and none is more than it may be."""
    assert 0 <= slots._held <= slots.slots
    assert 0 <= slots._held_slow <= (MOST - 1) * slots.slots
    assert slots._held + slots._held_slow == sum(slots._going.values())
    assert slots._going_slow == sum(slots._going[key] for key in slots._late)
    assert min(slots._going.values(), default=0) >= 0
    assert slots._quick_lines.keys().isdisjoint(slots._late)
    assert slots._slow_lines.keys() | slots._well.keys() <= slots._late.keys()
    assert all((*slots._quick_lines.values(), *slots._slow_lines.values()))


def is_empty(slots: FairSlots) -> bool:
    """Whether nothing goes on, waits or is remembered of what is over."""
    counts = slots._held, slots._held_slow, slots._going_slow
    kept = slots._kept, slots._quick_at, slots._quick_lines, slots._slow_lines, +slots._going
    return not any(counts) and not any(kept)


async def crowd(chance: Random) -> None:
    """Writes of several keys, quick and slow by turns, of which some are cancelled at any moment."""
    slots = FairSlots(chance.choice([1, 2, 3, 16]))
    keys = [f"k{number}" for number in range(chance.choice([1, 2, 5, 40]))]
    slow = {key: chance.random() < chance.choice([0.0, 0.2, 0.8]) for key in keys}
    served = Counter[str]()

    async def write(key: str) -> None:
        async with slots.slot(key):
            books_add_up(slots)
            exceptional = chance.random() < 0.05
            await asyncio.sleep(chance.choice(SLOW if slow[key] is not exceptional else QUICK))
        served[key] += 1
        books_add_up(slots)

    writes = list[asyncio.Task[None]]()
    for _ in range(chance.choice([20, 60])):
        if chance.random() < 0.3:
            await asyncio.sleep(chance.choice([0.0, 0.01, 0.5, 2.0]))
        if chance.random() < 0.05:
            turned = chance.choice(keys)
            slow[turned] = not slow[turned]
        writes += [asyncio.create_task(write(chance.choice(keys))) for _ in range(chance.choice([1, 1, 5, 30]))]
        for task in chance.sample(writes, chance.choice([0, 0, 0, 1, len(writes) // 10])):
            task.cancel()
        books_add_up(slots)
    ends = await asyncio.gather(*writes, return_exceptions=True)
    left = [end for end in ends if end is not None]
    assert all(isinstance(end, asyncio.CancelledError) for end in left), left
    assert sum(served.values()) == len(writes) - len(left), "every write that nobody cancelled has its turn"
    assert is_empty(slots)


@given(st.integers(0, 2**32))
def test_books_add_up_and_every_write_has_its_turn(seed: int) -> None:
    """In whatever order writes come, end, turn slow and are cancelled; nothing is left when all is over."""
    play(crowd(Random(seed)))


async def neighbour(chance: Random, slow: int, hang: float, quick_share: float) -> float:
    """The longest wait of a quick key beside several of which most writes hang, in two minutes."""
    slots, longest = FairSlots(16), 0.0
    now = asyncio.get_running_loop().time

    async def hanging(key: str) -> None:
        async with slots.slot(key):
            await asyncio.sleep(0.05 if chance.random() < quick_share else hang)

    async def quick() -> None:
        nonlocal longest
        asked = now()
        async with slots.slot("quick"):
            longest = max(longest, now() - asked)
            await asyncio.sleep(0.05)

    writes = list[asyncio.Task[None]]()
    due = {f"slow{number}": 0.0 for number in range(slow)}
    while now() < 120:
        for key, at in due.items():
            if at <= now():
                writes += [asyncio.create_task(hanging(key)) for _ in range(chance.choice([1, 5, 40]))]
                due[key] = now() + chance.uniform(0, 10)
        writes.append(asyncio.create_task(quick()))
        await asyncio.sleep(chance.uniform(0, 0.4))
    for each in writes:
        each.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    assert is_empty(slots)
    return longest


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("quick_share", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("hang", [10.0, 30.0])
def test_a_quick_key_waits_a_second_at_most_beside_ten_slow_ones(seed: int, quick_share: float, hang: float) -> None:
    """Also where a webhook has one replica that is well: a quick write gave a key all slots, and the next hung."""
    assert play(neighbour(Random(seed), 10, hang, quick_share)) <= 1.0


async def beside_newly_hung(keys: int, apart: float) -> float:
    """The longest wait of a quick key while others, all with many writes under way, begin to hang in turn, for good."""
    slots, longest, asked, hung = FairSlots(16), 0.0, 0.0, set[str]()
    now = asyncio.get_running_loop().time

    async def busy(key: str) -> None:
        while True:
            async with slots.slot(key):
                await asyncio.sleep(0.05)
                if key in hung:
                    await asyncio.Event().wait()

    async def quick() -> None:
        nonlocal longest, asked
        while True:
            asked = now()
            async with slots.slot("quick"):
                longest = max(longest, now() - asked)
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.1)

    writes = [asyncio.create_task(quick())]
    for number in range(keys):
        writes += [asyncio.create_task(busy(f"k{number}")) for _ in range(40)]
        await asyncio.sleep(apart)
        hung.add(f"k{number}")
        await asyncio.sleep(apart)
    await asyncio.sleep(30)
    longest = max(longest, now() - asked)
    for each in writes:
        each.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    assert is_empty(slots)
    return longest


@pytest.mark.parametrize("apart", [0.2, 1.0])
@pytest.mark.parametrize("keys", [3, 12])
def test_keys_that_begin_to_hang_one_after_another_leave_slots_to_a_quick_one(keys: int, apart: float) -> None:
    """Three had all places, ordinary and slow ones: each had sixteen in the moment in which its webhook hung."""
    assert play(beside_newly_hung(keys, apart)) <= 1.1


async def one_after_another(slots: FairSlots | asyncio.Semaphore, keys: int, seconds: float) -> float:
    """How long 400 writes of so many keys take that last so long each."""

    async def write(number: int) -> None:
        async with slots if isinstance(slots, asyncio.Semaphore) else slots.slot(f"k{number % keys}"):
            await asyncio.sleep(seconds)

    await asyncio.gather(*map(write, range(400)))
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("keys", [1, 2, 20])
@pytest.mark.parametrize("seconds", [0.02, 0.6, 0.99, 1.2, 2.5, 10.0])
def test_an_api_server_that_is_slow_for_everybody_is_written_to_as_by_one_line(keys: int, seconds: float) -> None:
    """Every key is slow then: it takes no longer than if sixteen of whatever key went on, but for the beginning."""

    async def fair() -> float:
        return await one_after_another(FairSlots(16), keys, seconds)

    async def plain() -> float:
        return await one_after_another(asyncio.Semaphore(16), keys, seconds)

    assert play(fair()) <= play(plain()) + 4 * seconds


def test_only_so_many_slow_keys_are_remembered() -> None:
    """Namespaces come and go; that of writes without one is the empty key, and kept all others from being forgotten."""

    async def story() -> int:
        slots = FairSlots(1000)
        for number in range(0, MOST_KEYS + 1000, 1000):
            writes = [slow(slots, "" if key == 0 else f"k{key}") for key in range(number, number + 1000)]
            await asyncio.gather(*writes)
        return len(slots._late)

    async def slow(slots: FairSlots, key: str) -> None:
        async with slots.slot(key):
            await asyncio.sleep(2)

    assert play(story()) == MOST_KEYS
