"""Look-ups of sizes: each app's own, again where nobody answered, and nobody waits for the answer of another."""

from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import release_loop, turn

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
