"""Releases that are taken back, parked or decided again while writes of others, or their own, still go on."""

from __future__ import annotations

import asyncio
from typing import Any

from slackwater_cluster.api.session import Answer
from support.fakes.loop import release_loop, until
from support.fakes.slowserver import led, of_broken, slow_tenants
from support.fakes.twotenants import BROKEN, TwoTenants, two_tenants


def hold(world: TwoTenants, *parts: str) -> asyncio.Event:
    """Writes whose path contains all parts wait for this event."""
    write, over = world.write, asyncio.Event()

    async def waiting(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if all(part in path for part in parts):
            await over.wait()
        return await write(method, path, body, content_type=content_type)

    world.write = waiting  # type: ignore[method-assign]
    return over


def test_a_pod_released_again_before_its_first_writes_end_is_written() -> None:
    """Its first release is still in the hands of the API server when the second one stands in line."""
    world = two_tenants(1000)
    loop = release_loop(world, in_flight=1)
    writes = loop.releaser.writes
    pod = world.create("t", app="good")
    over = hold(world, "/pods/t")

    async def story() -> None:
        await loop.releaser.round()
        await asyncio.sleep(0)
        world.cache.end(pod.uid)
        await loop.releaser.round()
        await until(lambda: writes.in_line(pod.uid))
        over.set()
        failed = await asyncio.gather(*writes._under_way, return_exceptions=True)
        assert not any(failed), failed

    asyncio.run(story())
    assert not world.pods[pod.uid].gates


def test_a_release_that_fails_after_it_was_given_up_takes_nothing_from_the_next_one() -> None:
    """The pod counted as held, with room and a write under way, and was released a third time."""
    world = two_tenants(1000)
    loop = release_loop(world, steer_nodes=0)
    writes = loop.releaser.writes
    pod = world.create("t", app="good")
    write, ends = world.write, [asyncio.Event(), asyncio.Event()]
    begun = list[str]()

    async def hanging(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if path.endswith("/pods/t/status") and body["status"]["nominatedNodeName"]:
            begun.append(path)
            number = len(begun)
            await ends[number - 1].wait()
            if number == 1:
                return Answer(403, b'{"message": "no"}')
        return await write(method, path, body, content_type=content_type)

    world.write = hanging  # type: ignore[method-assign]

    async def story() -> None:
        await loop.turn()
        await until(lambda: len(begun) == 1)
        world.now += 3600
        await loop.upkeep.run()
        assert pod.uid not in world.cache.in_flight
        while len(begun) < 2:
            await loop.turn()
            await asyncio.sleep(0.01)
        ends[0].set()
        await until(lambda: len(writes._under_way) == 1)
        assert pod.uid in world.cache.in_flight
        assert world.placed_on(pod)
        world.now += 10
        await loop.turn()
        assert len(begun) == 2, "it is on its way"
        ends[1].set()
        await writes.drain()
        assert not writes._newest

    asyncio.run(story())
    assert not world.pods[pod.uid].gates


def test_a_parked_pod_that_goes_again_keeps_its_new_room_while_others_are_parked() -> None:
    """Room is given back when all of a namespace are parked; what was placed again meanwhile is not that room."""
    world = two_tenants(1000)
    loop = release_loop(world, steer_nodes=0)
    slow, quick = world.create("slow", app="a"), world.create("quick", app="b")

    async def story() -> None:
        await loop.turn()
        await loop.releaser.writes.drain()
        over = hold(world, "/pods/slow")
        world.now += 3600
        await loop.upkeep.run()
        assert world.pods[quick.uid].parked
        world.cache.paused.forget(quick.uid)
        await loop.releaser.round()
        await until(lambda: not world.pods[quick.uid].parked)
        assert world.placed_on(world.pods[quick.uid])
        over.set()
        await loop.releaser.writes.drain()
        assert world.placed_on(world.pods[quick.uid])
        assert not world.placed_on(world.pods[slow.uid])

    asyncio.run(story())


def test_no_release_stands_in_line_for_longer_than_its_place_is_kept() -> None:
    """The extender keeps it for 75 seconds, and tells others of the room after that: it is decided anew before."""
    world = two_tenants(1000)
    loop = release_loop(world, in_flight=2)
    pods = [world.create(f"b{number}", namespace=BROKEN, app=f"b{number}").uid for number in range(4)]
    hold(world, f"/namespaces/{BROKEN}/")
    writes = loop.releaser.writes

    async def story() -> None:
        await loop.releaser.round()
        await until(lambda: writes._hands.slow(BROKEN))
        pods.extend(world.create(f"b{number}", namespace=BROKEN, app=f"b{number}").uid for number in range(4, 10))
        await loop.releaser.round()
        await until(lambda: any(map(writes.in_line, pods)))
        waits = next(filter(writes.in_line, pods))
        world.now += 39
        await loop.releaser.round()
        assert writes.in_line(waits)
        world.now += 2
        await loop.releaser.round()
        assert waits not in world.cache.in_flight
        assert not world.placed_on(world.pods[waits])
        await writes.stop()

    asyncio.run(story())


def test_a_pod_that_somebody_else_let_go_while_in_line_keeps_its_room() -> None:
    """It is on its way: what waits behind slow writes is held again, but for this one."""
    server = slow_tenants(of_broken("/pods/"))
    world = server.world

    async def story() -> None:
        async with led(server) as loop:
            writes = loop.releaser.writes
            pods = [world.create(f"b{number}", namespace=BROKEN, app=f"b{number}").uid for number in range(60)]
            loop.news.set()
            await until(lambda: sum(map(writes.in_line, pods)) > 30)
            last = list(writes._line)[-1]
            world.change(last, gates=())
            assert world.placed_on(world.pods[last])
            await until(lambda: not writes.in_line(last))
            await asyncio.sleep(0.1)
            assert last in world.cache.in_flight
            assert world.placed_on(world.pods[last])

    asyncio.run(story())
