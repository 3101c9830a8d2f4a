"""Writes that take long in one namespace, for a webhook that hangs there, hold up nothing of anybody else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_operator.clients.extenderclient import NodeUse, Usage
from slackwater_operator.release import release
from slackwater_operator.release.loop import ReleaseLoop
from slackwater_operator.status.events import Happened, Happening
from support.fakes.cluster import node, owned
from support.fakes.loop import leading, release_loop, until
from support.fakes.memoryapi import GIB
from support.fakes.slowserver import led, of_broken, slow_tenants
from support.fakes.twotenants import BROKEN, TwoTenants, two_tenants

HUGE = 5000.0  # cores: more than any node has
# Seconds within which others are released, and told of; without slow writes it is 0.2 and 1.4 on an idle machine.
RELEASED, TOLD = 3.0, 6.0


def neighbours(world: TwoTenants, loop: ReleaseLoop) -> tuple[list[str], list[str]]:
    """Pods of the other tenant, each an app: such that are released at once, and such that wait."""
    pods = [world.create(f"t{number}", app=f"good{number}").uid for number in range(5)]
    held = [world.create(f"w{number}", app=f"waits{number}", cpu=HUGE).uid for number in range(5)]
    loop.news.set()
    return pods, held


def tracked(world: TwoTenants) -> set[str]:
    """Apps of the other tenant that have a TrackedApp."""
    return {body["spec"]["app"] for how, path, body in world.posted if how == "POST" and "/team/trackedapps" in path}


def told(world: TwoTenants) -> set[str]:
    """Pods of the other tenant that have an Event."""
    return {body["involvedObject"]["name"] for _, path, body in world.posted if path.endswith("/team/events")}


@pytest.mark.parametrize(
    ("parts", "cores"),
    [
        (["/pods/"], 1.0),
        (["/status"], 1.0),
        (["/events"], HUGE),
        (["/trackedapps"], HUGE),
        (["/"], HUGE),
        (["/"], 1.0),
    ],
    ids=["pods", "nominations", "events", "trackedapps", "words", "everything"],
)
def test_slow_writes_of_one_tenant_delay_neither_releases_nor_words_of_another(parts: list[str], cores: float) -> None:
    """A hundred apps came first, of which each write is refused after ten seconds: others waited for up to minutes."""
    server = slow_tenants(of_broken(*parts))
    world = server.world

    async def story() -> None:
        async with led(server, steer_nodes=0) as loop:
            for number in range(100):
                world.create(f"b{number}", namespace=BROKEN, app=f"b{number}", cpu=cores)
            loop.news.set()
            await until(lambda: bool(server.hung))
            pods, held = neighbours(world, loop)
            await until(lambda: all(world.pods[uid].node for uid in pods), RELEASED)
            await until(lambda: len(tracked(world)) == 10, TOLD)
            await until(lambda: {f"w{number}" for number in range(5)} <= told(world), TOLD)
            await until(lambda: all(names.REASON in world.pods[uid].annotations for uid in held), TOLD)

    asyncio.run(story())


def test_more_apps_than_the_window_has_places_leave_it_to_others() -> None:
    """Each write takes ten seconds: those that wait behind it are held again, and take neither places nor room."""
    server = slow_tenants(of_broken("/pods/"))
    world = server.world

    def on_their_way() -> int:
        return sum(world.pods[uid].namespace == BROKEN for uid, _ in world.cache.in_flight.all())

    async def story() -> None:
        async with led(server) as loop:
            for number in range(400):
                world.create(f"b{number}", namespace=BROKEN, app=f"b{number}")
            loop.news.set()
            await until(lambda: on_their_way() > 150)
            await until(lambda: on_their_way() <= 64)
            pods, _ = neighbours(world, loop)
            await until(lambda: all(world.pods[uid].node for uid in pods), RELEASED)
            await until(lambda: not loop.releaser.writes._writing["team"], RELEASED)  # the last answers are read

    asyncio.run(story())


def test_a_gang_whose_writes_take_long_is_released_whole() -> None:
    """It waits in line, others go meanwhile, and no part of it is held again."""
    server = slow_tenants(of_broken("/pods/"), seconds=1.3, status=0)
    world = server.world

    async def story() -> None:
        async with led(server) as loop:
            gang = [
                world.create(f"b{number}", namespace=BROKEN, app="gang", labels={names.GANG: "true"}).uid
                for number in range(40)
            ]
            loop.news.set()
            await until(lambda: len(server.hung) >= 16)
            assert all(uid in world.cache.in_flight for uid in gang)
            for number in range(40):
                world.create(f"s{number}", namespace=BROKEN, app=f"s{number}")
            pods, _ = neighbours(world, loop)
            await until(lambda: all(world.pods[uid].node for uid in pods), RELEASED)
            while not all(not world.pods[uid].gates for uid in gang):
                assert all(uid in world.cache.in_flight for uid in gang if world.pods[uid].gates)
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(story(), 30))


def test_what_was_refused_slowly_is_written_once_the_webhook_is_well() -> None:
    """Releases, objects and reasons are tried again; nothing is lost but Events, of which each is told once."""
    server = slow_tenants(of_broken("/"), seconds=1.5, status=500)
    world = server.world

    async def story() -> None:
        async with led(server) as loop:
            pods = [world.create(f"b{number}", namespace=BROKEN, app=f"b{number}").uid for number in range(5)]
            loop.news.set()
            await until(lambda: len(server.hung) > 10)
            server.slow = lambda *_: False
            await until(lambda: not any(world.pods[uid].gates for uid in pods), 15)
            made = f"/namespaces/{BROKEN}/trackedapps"
            await until(lambda: any(made in path for _, path, _ in world.posted), 15)

    asyncio.run(story())


def test_a_webhook_that_hangs_in_many_namespaces_holds_up_no_other() -> None:
    """Two that turned slow at once took every slot there is, slow ones included, for as long as the webhook hung."""
    bad = [f"bad{number}" for number in range(6)]
    server = slow_tenants(lambda _, path: path.startswith("/api/v1/namespaces/bad") and "/pods/" in path, seconds=20)
    world = server.world
    for namespace in bad:
        world.namespace(namespace)

    async def story() -> None:
        async with led(server, steer_nodes=0) as loop:
            for namespace in bad:
                for number in range(40):
                    world.create(f"b{number}", namespace=namespace, app=f"b{number}")
            loop.news.set()
            await until(lambda: {path.split("/")[4] for path in server.hung} == set(bad), 15)
            pods, _ = neighbours(world, loop)
            await until(lambda: all(world.pods[uid].node for uid in pods), TOLD)

    asyncio.run(story())


class Hanging:
    """Writes with such a part in their path, in the broken namespace, get no answer."""

    def __init__(self, world: TwoTenants, part: str) -> None:
        self.begun = list[str]()
        self._part, self._write = part, world.write
        world.write = self._hang  # type: ignore[method-assign]

    async def _hang(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if f"/namespaces/{BROKEN}/" in path and self._part in path:
            self.begun.append(path)
            await asyncio.Event().wait()
        return await self._write(method, path, body, content_type=content_type)


def test_pods_that_take_long_to_park_hold_up_no_parking_of_others() -> None:
    """All were parked together, and until the last was nothing else was looked after."""
    world = two_tenants(1000)
    loop = release_loop(world, steer_nodes=0)
    for number in range(30):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number}")
    pod = world.create("t", app="good")

    async def story() -> None:
        await loop.turn()
        await loop.releaser.writes.drain()
        hanging = Hanging(world, "/pods/")
        world.now += 3600
        await asyncio.wait_for(loop.upkeep.run(), 2)
        assert world.pods[pod.uid].parked
        assert hanging.begun
        begun = len(hanging.begun)
        await asyncio.wait_for(loop.upkeep.run(), 2)
        assert len(hanging.begun) == begun, "each is parked once at a time"
        await loop.releaser.writes.stop()

    asyncio.run(story())


def test_evictions_that_take_long_hold_up_neither_those_of_others_nor_the_look_at_use() -> None:
    """Node after node was waited for, with all that is told behind them."""
    world = two_tenants(1000)
    world.configure("AdmissionQueue", "all", namespaces=["team", BROKEN], relief={"evictYoungestTask": True})
    for number in range(10):
        namespace = "team" if number == 9 else BROKEN
        owners = [owned("Job", f"p{number}", group="batch", namespace=namespace)]
        pod = world.create(f"p{number}", namespace=namespace, app=f"a{number}", gates=(), owners=owners)
        world.change(pod.uid, node=f"n{number}", phase="Running", started=world.now)
        world.uses[pod.uid] = Resources(memory=300 * GIB)
    hanging = Hanging(world, "/eviction")
    loop = release_loop(world)

    async def story() -> None:
        for _ in range(3):
            world.now += 10
            samples = {name: NodeUse(Resources(memory=399 * GIB), world.now - 1, False) for name in world.nodes}
            await asyncio.wait_for(loop.relief.run(Usage(world.uses, samples)), 2)
        assert world.named("team", "p9") is None
        assert len(hanging.begun) == 1, "one after the other in a namespace, and none is asked twice"
        await loop.relief.lines.stop()

    asyncio.run(story())


def test_a_new_leader_does_not_wait_for_nominations_that_take_long_to_clear() -> None:
    """A dead leader left them; all of them were cleared before anybody was released."""
    world = two_tenants(1000)
    for number in range(30):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number}", nominated="n1")
    world.create("t", app="good", nominated="n2")
    hanging = Hanging(world, "/status")
    loop = release_loop(world, steer_nodes=0)

    async def story() -> None:
        assert await asyncio.wait_for(loop.upkeep.clean(), 2) == 31
        for _ in range(20):
            await asyncio.wait_for(loop.turn(), 2)
            world.now += 1
            await asyncio.sleep(0.1)
        assert not world.named("team", "t").gates  # type: ignore[union-attr]
        assert len(hanging.begun) < 10
        await loop.releaser.writes.stop()

    asyncio.run(story())


def test_another_extender_is_not_kept_waiting_by_slow_writes_and_keeps_their_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All rounds stood still until the last of them was written, so long that the probe of the operator failed."""
    monkeypatch.setattr(release, "WRITTEN", 0.2)
    world = two_tenants(10)
    loop = release_loop(world, steer_nodes=0)
    slow = [world.create(f"b{number}", namespace=BROKEN, app=f"b{number}") for number in range(3)]
    Hanging(world, "/pods/")

    async def story() -> None:
        await loop.turn()
        nodes = {pod.uid: world.placed_on(pod) for pod in slow}
        assert all(nodes.values())
        pods = [world.create(f"t{number}", app=f"t{number}") for number in range(10)]
        world.replace_extender()
        await asyncio.wait_for(loop.turn(), 5)
        await until(lambda: sum(not world.pods[pod.uid].gates for pod in pods) == 7)
        assert {pod.uid: world.placed_on(pod) for pod in slow} == nodes
        await loop.releaser.writes.stop()

    asyncio.run(story())


def test_a_leader_that_ends_leaves_no_write_behind() -> None:
    """Of those under way and in line none goes on: releases, parkings and words."""
    world = two_tenants(1000)
    for number in range(60):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number}")
    hanging = Hanging(world, "")

    async def story() -> int:
        loop = release_loop(world, steer_nodes=0)
        async with leading(loop):
            await until(lambda: len(hanging.begun) > 3)
        begun = len(hanging.begun)
        await asyncio.sleep(0.2)
        return len(hanging.begun) - begun

    assert asyncio.run(story()) == 0


def test_a_leader_that_ends_while_it_takes_over_leaves_no_write_behind() -> None:
    """Nominations of a dead leader were cleared on, and the next leader's with them."""
    world = two_tenants(1000)
    for number in range(10):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number}", nominated="n1")
    hanging = Hanging(world, "")

    async def story() -> None:
        async with leading(release_loop(world, steer_nodes=0)):
            await until(lambda: bool(hanging.begun))

    asyncio.run(story())


def test_ten_thousand_events_of_a_namespace_that_takes_none_are_not_kept() -> None:
    """A hundred wait, the rest is dropped and counted; one of another namespace is posted at once."""
    world = two_tenants(40)
    loop = release_loop(world)
    broken, good = world.create("b", namespace=BROKEN, app="b"), world.create("t", app="good")
    hanging = Hanging(world, "/events")

    async def story() -> None:
        for number in range(10_000):
            loop.announcer.add(f"{BROKEN}/{number}", Happened(Happening.HELD, broken, "no room"))
        loop.announcer.add("team/good", Happened(Happening.HELD, good, "no room"))
        await asyncio.wait_for(loop.announcer.post(), 2)
        assert told(world) == {"t"}
        assert len(hanging.begun) == 1
        assert len(loop.announcer.lines._lines[BROKEN]) <= 100
        assert loop.metrics.events.labels("dropped")._value.get() >= 9_899
        await loop.announcer.lines.stop()

    asyncio.run(story())


def test_a_policy_whose_status_takes_long_to_write_holds_up_no_round() -> None:
    """Its gate was turned within the round."""
    world = two_tenants(1000)
    world.add_nodes(node("more", cpu=8))
    world.cache.governing.status["SlackPolicy", "default"] = {"openGate": True}
    write = world.write

    async def hanging(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if "/slackpolicies/" in path:
            await asyncio.Event().wait()
        return await write(method, path, body, content_type=content_type)

    world.write = hanging  # type: ignore[method-assign]
    loop = release_loop(world)
    world.create("t", app="good")

    async def story() -> None:
        for _ in range(3):
            await asyncio.wait_for(loop.turn(), 1)
        await loop.releaser.writes.drain()
        await loop.gates.lines.stop()

    asyncio.run(story())
    assert not world.named("team", "t").gates  # type: ignore[union-attr]
