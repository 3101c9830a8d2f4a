"""Gangs whose writes take long keep their room for as long as they are written. In virtual time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from slackwater_cluster import names
from slackwater_cluster.api.fairslots import FairSlots
from slackwater_cluster.api.paths import namespace_of
from slackwater_cluster.api.session import Answer, Session
from support.fakes.cluster import World, enforcing, node
from support.fakes.loop import release_loop, until
from support.virtualtime import play

KEPT = 75.0  # seconds for which the extender keeps a place
MEMBERS = 64


class SlowPods:
    """An API server that takes long for each write to a pod, sixteen at once."""

    def __init__(self, world: World, seconds: float) -> None:
        self.world, self.seconds, self.slots = world, seconds, FairSlots(16)
        self.when: dict[str, float] = {}  # … the gate of a pod was lifted, by its path

    async def get(self, path: str, *_: Any, **__: Any) -> Answer:
        """At once."""
        return await self.world.get(path)

    async def write(self, method: str, path: str, body: Any, **more: Any) -> Answer:
        """When its turn comes."""
        async with self.slots.slot(namespace_of(path)):
            if "/pods/" in path:
                await asyncio.sleep(self.seconds)
            self.when.setdefault(path, asyncio.get_running_loop().time())
            return await self.world.write(method, path, body)


async def longest() -> float:
    """The longest time for which a member of a gang relied on the place that it was given."""
    world = enforcing(*[node(f"n{number}", cpu=8) for number in range(16)])
    slow = SlowPods(world, 30.0)
    now = asyncio.get_running_loop().time
    asked: dict[str, list[float]] = {}
    loop, start, place = release_loop(world, cast("Session", slow)), world.now, world.place

    async def noted(wishes: Any, **more: Any) -> Any:
        for each in wishes:
            asked.setdefault(each.uid, []).append(now())
        return await place(wishes, **more)

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.1)
            world.now = start + now()
            world.schedule()

    loop.releaser.places.place = noted  # type: ignore[method-assign]
    beside = [asyncio.create_task(tick()), asyncio.create_task(loop.run())]
    gang: dict[str, Any] = {"labels": {names.GANG: "true"}, "annotations": {names.TASKS: str(MEMBERS)}}
    pods = [world.create(f"m{number}", app="gang", **gang) for number in range(MEMBERS)]
    loop.news.set()
    await until(lambda: not any(world.pods[pod.uid].gates for pod in pods), 600)
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    lifted = {pod.uid: slow.when[f"/api/v1/namespaces/team/pods/{pod.name}"] for pod in pods}
    waits = [
        later - earlier
        for uid, times in asked.items()
        for earlier, later in zip(times, [*times[1:], lifted[uid]], strict=True)
    ]
    assert max(lifted.values()) > KEPT, "it takes longer than a place is kept"
    return max(waits)


def test_a_gang_in_line_is_kept_its_room() -> None:
    """The extender gave it to others after 75 s, while the gang was still being released."""
    assert play(longest()) < KEPT
