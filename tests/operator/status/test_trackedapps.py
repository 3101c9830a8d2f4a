"""Which TrackedApps are written, ended and deleted first, where fewer writes are allowed than are due."""

import asyncio
from functools import partial
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import CustomRecord
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import World, enforcing, node
from support.fakes.loop import release_loop, turn, written

BROKEN = "broken"


def few_writes(world: World, rate: float) -> ReleaseLoop:
    """The whole loop, with so many writes of TrackedApps a second and one of each in ten seconds."""
    made = release_loop(world)
    made.tracker = type(made.tracker)(
        made.tracker.session, world.clock, every=10, bucket=TokenBucket(rate, 2 * rate, world.clock), keep=60
    )
    return made


def refuse(world: World) -> None:
    """Writes of TrackedApps in one namespace are not answered."""
    write = world.write

    async def failing(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if f"/{BROKEN}/trackedapps" in path:
            raise Unavailable("no answer")
        return await write(method, path, body, content_type=content_type)

    world.write = failing  # type: ignore[method-assign]


def tracked(world: World) -> set[str]:
    """Apps for which an object was made."""
    return {body["spec"]["app"] for method, path, body in world.posted if method == "POST" and "trackedapps" in path}


def finished(world: World) -> set[str]:
    """Objects that say that their app is over."""
    return {
        path.split("/")[-2]
        for _, path, body in world.posted
        if "/trackedapps/" in path and path.endswith("/status") and body["status"].get("phase") == "Finished"
    }


def test_every_app_is_written_about_in_its_turn() -> None:
    """Four times as many wait as can be written about in ten seconds, and with each start all their places change."""
    world = enforcing(node("a", cpu=1))
    world.configure("AdmissionQueue", "default", order="fifo")
    made = few_writes(world, rate=1)
    apps = 40
    for number in range(apps):
        world.create(f"p{number:03}", cpu=1, app=f"app{number:03}")
        world.now += 0.01
    for _ in range(160):
        turn(made, world)
        for pod in [pod for pod in world.pods.values() if pod.node and world.now - pod.started >= 8]:
            world.delete(pod)
            world.create(f"p{apps:03}", cpu=1, app=f"app{apps:03}")
            apps += 1
    there = {pod.name.replace("p", "app") for pod in world.pods.values() if world.now - pod.created > 20}
    over = {f"app{number:03}" for number in range(apps)} - {pod.name.replace("p", "app") for pod in world.pods.values()}
    assert len(over) > 15
    assert there <= tracked(world)
    assert len((over & tracked(world)) - finished(world)) <= 2
    assert [path for method, path, _ in world.posted if method == "DELETE"]


def test_apps_whose_object_cannot_be_written_take_their_turn_like_others() -> None:
    """No answer comes for a namespace whose apps stand first: those of others are written about."""
    world = enforcing(node("a", cpu=1))
    world.namespace(BROKEN)
    refuse(world)
    made = few_writes(world, rate=2)
    for number in range(20):
        world.create(f"b{number}", namespace=BROKEN, cpu=4, app=f"b{number}")
    turn(made, world, 3)
    for number in range(5):
        world.create(f"g{number}", cpu=4, app=f"g{number}")
    turn(made, world, 30)
    assert tracked(world) == {f"g{number}" for number in range(5)}


def test_objects_that_cannot_be_ended_go_behind_those_that_can() -> None:
    """Apps of two namespaces are gone; for one of them no write is answered."""
    world = enforcing(node("a", cpu=1))
    refuse(world)
    made = few_writes(world, rate=2)
    made.tracker.set(
        [
            CustomRecord(name=f"{namespace}{number}", namespace=namespace, spec={"app": f"{namespace}{number}"})
            for namespace in (BROKEN, "team")
            for number in range(10)
        ]
    )
    for _ in range(60):
        asyncio.run(made.tracker.sweep(world.cache))
        world.now += 1
    assert finished(world) == {f"team{number}" for number in range(10)}
    assert not written(world, BROKEN)


def test_objects_of_apps_that_are_gone_take_half_of_the_writes_also_where_each_takes_long() -> None:
    """While one was written there came a place for the next: nothing was told of apps that live."""
    world = enforcing(node("a", cpu=1))
    made, write = few_writes(world, rate=4), world.write

    async def slow(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        world.now += 1
        return await write(method, path, body, content_type=content_type)

    world.write = slow  # type: ignore[method-assign]
    made.tracker.set([CustomRecord(name=f"a{n}", namespace="team", spec={"app": f"a{n}"}) for n in range(20)])
    asyncio.run(made.tracker.sweep(world.cache))
    assert len(finished(world)) == 4


def test_objects_of_a_namespace_that_is_written_all_the_time_are_swept() -> None:
    """At each look one of its apps is being written, as quickly as ever: what is gone was told of never."""
    world = enforcing(node("a", cpu=1))
    made = few_writes(world, rate=100)
    made.tracker.set([CustomRecord(name="old", namespace="team", spec={"app": "old"}, status={"phase": "Running"})])

    async def write() -> None:
        await asyncio.sleep(0.4)

    async def story() -> None:
        for _ in range(3):
            made.tracker.lines.add("team", write)
            await asyncio.sleep(0)
            made.tracker.lines.add("team", write)
            await made.tracker.sweep(world.cache)
        await made.tracker.lines.stop()

    asyncio.run(story())
    assert finished(world) == {"old"}


def test_what_is_gone_does_not_keep_live_apps_from_the_few_writes_of_a_namespace() -> None:
    """Two are written between two looks, and five objects more are to be swept at each: of live apps nothing was told.

    Nor do writes that a namespace cannot take in time use up the rate of others.
    """
    world = enforcing(node("a", cpu=1))
    made = few_writes(world, rate=10)
    places = [(namespace, number) for namespace in ("team", "other") for number in range(30)]
    made.tracker.set(
        [CustomRecord(name=f"{namespace}{n}", namespace=namespace, spec={"app": f"a{n}"}) for namespace, n in places]
    )
    allowed, live, write = asyncio.Semaphore(0), list[int](), world.write

    async def lagging(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if "/team/" in path:
            await allowed.acquire()
        return await write(method, path, body, content_type=content_type)

    world.write = lagging  # type: ignore[method-assign]

    async def tell(number: int) -> None:
        await allowed.acquire()
        live.append(number)

    async def story() -> None:
        for number in range(8):
            await made.tracker.sweep(world.cache)
            made.tracker.lines.add("team", partial(tell, number))
            for _ in range(2):
                allowed.release()
                await asyncio.sleep(0.01)
            world.now += 1
        await made.tracker.lines.stop()

    asyncio.run(story())
    swept = finished(world)
    assert len(live) >= 3
    assert len([name for name in swept if name.startswith("team")]) >= 3
    assert len([name for name in swept if name.startswith("other")]) >= 15


def gone(namespace: str, number: int, **status: Any) -> list[CustomRecord]:
    """Objects of so many apps that are not there."""
    places = [f"{namespace}{each}" for each in range(number)]
    return [CustomRecord(name=name, namespace=namespace, spec={"app": name}, status=status) for name in places]


def test_objects_of_a_namespace_with_thousands_of_gone_apps_hold_up_those_of_no_other() -> None:
    """They came first and took every write for objects of apps that are gone: an app of others went on "running"."""
    world = enforcing(node("a", cpu=1))
    made = few_writes(world, rate=2)
    made.tracker.set([*gone("busy", 3000), *gone("calm", 2)])
    for _ in range(4):
        asyncio.run(made.tracker.sweep(world.cache))
        world.now += 1
    assert {"calm0", "calm1"} <= finished(world)


def test_a_namespace_whose_gone_apps_cannot_be_swept_in_time_gets_no_more_objects() -> None:
    """Making one takes one write and sweeping it two: where apps came and went quickly, objects grew without bound."""
    world = enforcing(node("a", cpu=64))
    world.namespace("busy")
    made = few_writes(world, rate=2)
    made.tracker.set(gone("busy", 3000))
    world.create("late", cpu=1, namespace="busy", app="late")
    world.create("other", cpu=1, app="other")
    turn(made, world, 20)
    assert tracked(world) == {"other"}
    made.tracker.drop(gone("busy", 2500))
    turn(made, world, 20)
    assert tracked(world) == {"other", "late"}


def test_a_new_leader_makes_objects_where_thousands_of_finished_ones_stand() -> None:
    """Each of them took a turn before it was known to be over: new apps had no object for as long as that took."""
    world = enforcing(node("a", cpu=64))
    made = few_writes(world, rate=2)
    made.tracker.set(gone("team", 3000, phase="Finished"))
    world.create("late", cpu=1, app="late")
    turn(made, world, 5)
    assert tracked(world) == {"late"}


def test_a_namespace_with_too_many_finished_apps_gets_an_object_for_each_that_is_deleted() -> None:
    """They are due at one time after a restart; an object for each new app would let them grow without bound."""
    world = enforcing(node("a", cpu=64))
    made = few_writes(world, rate=10)
    made.tracker.set(gone("team", 3000, phase="Finished"))
    asyncio.run(made.tracker.sweep(world.cache))
    world.now += 61
    for number in range(80):
        world.create(f"p{number}", cpu=0.1, app=f"late{number}")
    asyncio.run(made.tracker.sweep(world.cache))
    turn(made, world, 20)
    deleted = len([path for method, path, _ in world.posted if method == "DELETE" and "trackedapps" in path])
    assert 0 < len(tracked(world)) <= deleted < 200
