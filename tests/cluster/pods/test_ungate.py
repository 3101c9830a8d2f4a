"""Gates are lifted side by side, and nobody waits for those whose gate cannot be lifted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from slackwater_cluster.pods.unbound import UnboundPod
from slackwater_cluster.pods.ungate import WORKERS, Ungater
from support.fakes.manypods import ManyPods


def play(server: ManyPods, work: Callable[[Ungater], Awaitable[None]]) -> None:
    """Let somebody lift the gates of a server's pods."""

    async def run() -> None:
        async with server.session() as session, asyncio.timeout(30):
            await work(Ungater(session))

    asyncio.run(run())


def ignore(_: UnboundPod, __: bool, ___: str) -> None:
    """Whatever came of it."""


def numbers(pods: list[UnboundPod]) -> list[int]:
    """Which pods of the server they are."""
    return [int(pod.name[1:]) for pod in pods]


def test_who_was_tried_in_vain_comes_behind_all_others_each_in_its_turn() -> None:
    """None twice before all had another try."""

    async def work(ungater: Ungater) -> None:
        for pod in (await ungater.turns())[:10]:
            ungater.begin(pod, ignore)
        await ungater.finish()
        turns = await ungater.turns()
        assert numbers(turns) == [*range(10, 20), *range(5)]
        for pod in turns[:13]:
            ungater.begin(pod, ignore)
        await ungater.finish()
        assert numbers(await ungater.turns()) == [3, 4, 0, 1, 2]

    server = ManyPods(20, 10, refused=frozenset(range(5)))
    play(server, work)
    assert server.lifted == set(range(5, 20))


def test_each_is_told_how_it_ended() -> None:
    """Lifted, refused, or not answered."""
    told = dict[str, tuple[bool, str]]()

    def hear(pod: UnboundPod, done: bool, trouble: str) -> None:
        told[pod.name] = done, trouble

    async def work(ungater: Ungater) -> None:
        for pod in await ungater.turns():
            ungater.begin(pod, hear)
        await ungater.finish()

    play(ManyPods(3, 10, refused=frozenset({1}), silent=frozenset({2})), work)
    assert told["p000000"] == (True, "")
    assert told["p000001"] == (False, "422: not this one")
    assert told["p000002"][0] is False
    assert "Timeout" in told["p000002"][1]


def test_writes_under_way_are_bounded_and_not_begun_twice() -> None:
    """Who was tried before may have half of the places, so that the others always find one."""

    async def work(ungater: Ungater) -> None:
        pods = await ungater.turns()
        for number, pod in enumerate(pods):
            assert ungater.ready(pod) is (number < WORKERS)
            if number < WORKERS // 2:
                assert not ungater.tried(pod)
            if ungater.ready(pod):
                ungater.begin(pod, ignore)
            if number == WORKERS // 2 - 1:
                assert not ungater.ready(pods[0])
        assert numbers(await ungater.turns()) == list(range(WORKERS, WORKERS + 5))
        await ungater.stop()

    play(ManyPods(WORKERS + 5, 10, silent=frozenset(range(WORKERS + 5))), work)


@pytest.mark.parametrize("count", [1, WORKERS])
def test_who_stops_waits_for_no_answer_and_begins_anew(count: int) -> None:
    """Nobody hears of what was given up, and the oldest come first again."""
    told = list[str]()

    async def work(ungater: Ungater) -> None:
        for pod in await ungater.turns():
            ungater.begin(pod, lambda each, *_: told.append(each.name))
        async with asyncio.timeout(1):
            await ungater.stop()
        assert numbers(await ungater.turns()) == list(range(count))

    play(ManyPods(count, 10, silent=frozenset(range(count))), work)
    assert told == []
