"""Look-ups of sizes: again where nobody answered, and nobody waits for the answer of another."""

import asyncio
from itertools import pairwise

from slackwater_cluster.api.session import Answer
from slackwater_cluster.apps.questions import LONGEST_PAUSE, TOGETHER
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import hang, leading, look_up, release_loop, turn, until
from support.fakes.ownerserver import GROUPS, KINDS

TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}


def ray_heads(world: World, count: int, namespace: str = "team", first: int = 0) -> list[str]:
    """Heads of RayClusters of five workers, none of which fits; the ids of their apps."""
    for number in range(first, first + count):
        name = f"r{number}"
        path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}"
        world.objects[path] = {"spec": {"workerGroupSpecs": [{"replicas": 5, "template": TEMPLATE}]}}
        world.create(
            f"head{number}",
            namespace=namespace,
            cpu=4,
            role="driver",
            labels={"ray.io/cluster": name, "ray.io/node-type": "head"},
            owners=[owned("RayCluster", name, group="ray.io", namespace=namespace)],
        )
    return [f"{namespace}/ray/r{number}" for number in range(first, first + count)]


def sized(world: World) -> set[str]:
    """The apps whose size is known."""
    world.cache.views.refresh()
    return {app for app, each in world.cache.views.items() if each.size is not None}


def test_every_size_that_nobody_told_is_asked_for_again() -> None:
    """More apps than are asked about in one go: none of them is forgotten."""
    world = enforcing(node("a", cpu=1))
    apps = ray_heads(world, 80)
    made = release_loop(world)
    world.broken = lambda path: "rayclusters" in path
    turn(made, world, 2, seconds=100)
    assert not sized(world)
    world.broken = lambda _: False
    turn(made, world, 4, seconds=100)
    assert sized(world) == set(apps)


def test_pauses_grow_while_nobody_tells_a_size() -> None:
    """From a second to the longest; the app is asked about for as long as it lives."""
    world = enforcing(node("a", cpu=1))
    ray_heads(world, 1)
    made, asked, get = release_loop(world), list[float](), world.get

    async def noted(path: str, *parameters: object, **more: object) -> Answer:
        if "rayclusters" in path:
            asked.append(world.now)
        return await get(path)

    world.get = noted  # type: ignore[method-assign]
    world.broken = lambda path: "rayclusters" in path
    for _ in range(400):
        asyncio.run(look_up(made))
        world.now += 1
    gaps = [later - before for before, later in pairwise(asked)]
    assert gaps == [1, 2, 4, 8, 16, 32, *[LONGEST_PAUSE] * (len(gaps) - 6)]
    assert len(gaps) > 8


def test_a_size_is_used_though_others_are_not_answered() -> None:
    """Three of four questions hang: the fourth app has its size, and a round follows."""
    world = enforcing(node("a", cpu=1))
    ray_heads(world, 3)
    world.namespace("other")
    begun = hang(world, "/team/rayclusters/")
    (app,) = ray_heads(world, 1, "other", first=3)
    made = release_loop(world)

    async def play() -> None:
        async with leading(made):
            await until(lambda: sized(world) == {app})
            await until(lambda: made.cache.views[app].size is not None and not made.cache.news)

    asyncio.run(play())
    assert len(begun) == 3


def test_questions_that_hang_again_leave_hands_for_new_ones() -> None:
    """Nobody answers for one tenant's apps, again and again; another's app that comes meanwhile is asked about."""
    world = enforcing(node("a", cpu=1))
    ray_heads(world, 40)
    world.namespace("other")
    made = release_loop(world)
    world.broken = lambda path: "rayclusters" in path
    turn(made, world, 2)
    world.broken = lambda _: False
    begun = hang(world, "/team/rayclusters/")
    world.now += LONGEST_PAUSE

    async def play() -> None:
        async with leading(made):
            await until(lambda: len(begun) > 0)
            (app,) = ray_heads(world, 1, "other", first=100)
            made.news.set()
            await until(lambda: app in sized(world))

    asyncio.run(play())
    assert len(begun) < TOGETHER


def test_owners_are_looked_up_while_sizes_hang() -> None:
    """A framework's objects are not answered; the owner of another tenant's pod is known at once."""
    world = enforcing(node("a", cpu=1))
    ray_heads(world, 40)
    world.objects |= {"/apis": GROUPS, "/apis/batch/v1": KINDS}
    begun = hang(world, "rayclusters")
    made = release_loop(world)

    async def play() -> None:
        async with leading(made):
            await until(lambda: len(begun) == TOGETHER)
            pod = world.create("p", owners=[owned("Job", "j", group="batch")])
            made.news.set()
            await until(lambda: not world.cache.index.unknown())
            assert world.cache.index.member(pod.uid)

    asyncio.run(play())
