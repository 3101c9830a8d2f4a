"""The gate of each SlackPolicy is turned in its status: open while nobody waits on a half-empty cluster."""

import asyncio
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.objects.records import CustomRecord
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import World, enforcing, node
from support.fakes.loop import release_loop, turn

PATH = "/apis/slackwater.io/v1alpha1/slackpolicies/default/status"


def made(cores: float = 8, **wishes: Any) -> tuple[World, ReleaseLoop]:
    """A cluster of two nodes that counts as large, with one queue over all of it."""
    world = enforcing(node("a", cpu=cores), node("b", cpu=cores))
    world.configure("AdmissionQueue", "default")
    return world, release_loop(world, **{"open_nodes": 2, **wishes})


def watched(loop: ReleaseLoop, world: World, times: int = 1) -> None:
    """Some turns, after each of which the watch shows what was written."""
    for _ in range(times):
        turn(loop, world)
        if PATH in world.statuses:
            world.cache.governing.status["SlackPolicy", "default"] = world.statuses[PATH]


def turned(world: World) -> list[bool]:
    """How the gate was turned, in order."""
    return [
        body["status"]["openGate"] for _, path, body in world.posted if path == PATH and "openGate" in body["status"]
    ]


def test_it_opens_once_where_nobody_waits() -> None:
    """One write, however many rounds follow."""
    world, loop = made()
    watched(loop, world, 5)
    assert turned(world) == [True]


def test_a_small_cluster_keeps_it_closed() -> None:
    """Its API server has time enough for every write."""
    world, loop = made(open_nodes=3)
    watched(loop, world, 5)
    assert turned(world) == []


def test_it_closes_at_once_and_opens_after_a_while() -> None:
    """Somebody had to wait: the gate stays closed for ten seconds after that."""
    world, loop = made()
    watched(loop, world)
    tasks = [world.create(f"t{number}", app="etl") for number in range(18)]
    watched(loop, world)
    assert turned(world) == [True, False]
    watched(loop, world, 3)
    world.finish(*(task.uid for task in tasks[:17]))
    watched(loop, world, 8)
    assert turned(world) == [True, False]
    watched(loop, world, 6)
    assert turned(world) == [True, False, True]


def test_without_the_extender_it_is_closed() -> None:
    """Nobody would look at nodes for pods whose requests were lowered."""
    world, loop = made()
    watched(loop, world)

    async def away() -> Any:
        raise Unavailable("gone")

    world.rooms = away  # type: ignore[method-assign]
    watched(loop, world)
    assert turned(world) == [True, False]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("AdmissionQueue", {"nodeSelector": {"pool": "batch"}}),
        ("AdmissionQueue", {"capacity": {"maximum": {"cpu": "100"}}}),
        ("AdmissionQueue", {"state": "draining"}),
        ("SlackPolicy", {"mode": "score"}),
        ("SlackPolicy", {"mode": "enforce", "reclaim": {"enabled": True}}),
    ],
    ids=["a queue of some nodes", "a queue with an end", "a queue that drains", "nothing is held", "learned requests"],
)
def test_who_wants_more_of_a_release_keeps_it_closed(kind: str, spec: dict[str, Any]) -> None:
    """Without a gate there is no release."""
    world, loop = made()
    world.configure(kind, "default", **spec)
    watched(loop, world, 3)
    assert turned(world) == []


def test_what_the_watch_shows_is_not_written_again() -> None:
    """A new leader takes over a gate as it finds it, and one that somebody turned is turned back."""
    world, loop = made()
    shown = [CustomRecord(name="default", spec={"mode": "enforce"}, status={"openGate": True})]
    world.cache.governing.set("SlackPolicy", shown)
    watched(loop, world, 3)
    assert turned(world) == []
    world.cache.governing.status["SlackPolicy", "default"] = {"openGate": False}
    watched(loop, world)
    assert turned(world) == [True]


def test_a_write_that_fails_is_tried_again() -> None:
    """The next round is soon."""
    world, loop = made()
    world.broken = lambda path: path == PATH
    watched(loop, world, 2)
    world.broken = lambda _: False
    watched(loop, world)
    assert turned(world) == [True]


def test_policies_may_come_and_go_while_a_gate_is_turned() -> None:
    """The watch tells of one that is made and of one that is deleted between two writes; the others are turned."""
    world, loop = made()
    for name in ("second", "third"):
        world.configure("SlackPolicy", name, mode="enforce")
    policies, write = world.cache.governing.policies, world.write
    for name in policies:
        world.cache.governing.status["SlackPolicy", name] = {"openGate": True}
    turned_at = list[str]()

    async def busy(method: str, path: str, body: Any, *, content_type: str = "") -> Any:
        turned_at.append(path)
        policies["fourth"] = policies["default"]
        policies.pop("second", None)
        return await write(method, path, body, content_type=content_type)

    world.write = busy  # type: ignore[method-assign]
    asyncio.run(loop.gates.look(None, answered=False))
    assert len(turned_at) == 2


def test_a_gate_is_not_opened_for_a_round_of_the_past() -> None:
    """While its line waited for others somebody had to wait: it stays closed."""
    world, loop = made()
    asyncio.run(loop.releaser.round())
    others = asyncio.Event()

    async def story() -> None:
        for number in range(4):
            loop.gates.lines.add(f"other{number}", others.wait)
        await loop.gates.look(loop.releaser.result, answered=True)
        assert loop.gates.lines.busy("default")
        await loop.gates.look(loop.releaser.result, answered=False)
        others.set()
        await loop.gates.lines.settle()

    asyncio.run(story())
    assert turned(world) == []
