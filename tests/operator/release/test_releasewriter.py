"""Releases that fail half-way are taken back, and so is what a dead leader left."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from support.fakes.cluster import World, enforcing, node
from support.fakes.loop import Away


def test_new_leader_clears_what_a_dead_one_left() -> None:
    """A gated pod with a nomination takes room from others for nothing."""
    world = enforcing(node("a"))
    pod = world.create("task", app="etl", nominated="a")
    operator = world.restart()
    assert operator.take_over() == 1
    assert world.pods[pod.uid].nominated == ""


def test_new_leader_gives_back_room_that_a_dead_one_took_for_a_parked_pod() -> None:
    """It may have died between the question for a node and its first write."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", app="etl", gates=(), annotations={names.PARKED: "2026-01-01T00:00:00+00:00"})
    world.entered[pod.uid] = "a"
    world.restart().take_over()
    assert pod.uid not in world.entered


def test_a_nomination_whose_gate_could_not_be_lifted_is_taken_back() -> None:
    """It stayed until a take-over, and kept its node's room from everybody else."""
    world = enforcing(node("a"))
    world.configure("AdmissionQueue", "default")
    pod = world.create("p", app="x")
    operator = world.operator()
    world.broken = lambda path: not path.endswith("/status")
    operator.step()
    assert world.pods[pod.uid].gates
    world.broken = lambda _: False
    world.configure("AdmissionQueue", "default", annotations={"slackwater.io/pause": "true"})
    for _ in range(3):
        operator.step()
    assert world.pods[pod.uid].gates
    assert world.pods[pod.uid].nominated == ""


def test_a_release_that_hangs_is_taken_back_and_not_parked() -> None:
    """Both tries to lift the gate hang for longer than a release may take, and fail: parked, it would never go."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", app="etl")
    write, hung, well = world.write, list[str](), asyncio.Event()

    async def slow(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if "spec" in body and len(hung) < 2:
            hung.append(path)
            await well.wait()
            raise Unavailable("timed out")
        return await write(method, path, body, content_type=content_type)

    async def story() -> None:
        operator = world.operator()
        await operator.releaser.round()
        await asyncio.sleep(0)
        world.now += 61
        await operator.upkeep.run()
        assert not world.pods[pod.uid].parked
        well.set()
        await operator.releaser.writes.drain()

    world.write = slow  # type: ignore[method-assign]
    asyncio.run(story())
    assert hung
    world.now += 3  # a release that failed is tried again a moment later
    world.operator().step()
    world.schedule()
    assert world.pods[pod.uid].node == "a"


def test_a_parked_pod_behind_its_gate_is_let_go() -> None:
    """However it came to carry both: the gate is what keeps it."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", app="etl", annotations={names.PARKED: "2026-01-01T00:00:00+00:00"})
    world.operator().step()
    world.schedule()
    assert (world.pods[pod.uid].node, world.pods[pod.uid].parked) == ("a", False)


def test_an_unexpected_error_while_a_release_is_written_takes_it_back() -> None:
    """Else the pod would count as released, be parked, and stay behind its gate for ever."""
    world = enforcing(node("a", cpu=4))
    pod, write, broken = world.create("task", app="etl"), world.write, [True]

    async def once(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if broken.pop() if broken else False:
            raise ValueError("an answer of another shape")
        return await write(method, path, body, content_type=content_type)

    world.write = once  # type: ignore[method-assign]
    operator = world.operator()
    operator.step()
    assert not world.cache.in_flight
    for _ in range(30):
        operator.step()
    world.schedule()
    assert world.pods[pod.uid].node == "a"


def test_room_that_cannot_be_given_back_counts_as_silence_of_the_extender() -> None:
    """Whoever gives it back: the grace time runs from the first question that got no answer."""
    world = enforcing(node("a"))
    world.create("task", app="etl")
    operator = world.operator()
    operator.releaser.writes.places = Away()
    operator.take_over()
    assert operator.releaser.grace.since == world.now
    assert operator.releaser.grace.trouble == "connection refused"


def test_a_release_whose_answers_were_lost_is_still_looked_after() -> None:
    """Both answers are lost, the gate is lifted and no node was found: the pod is parked in time, and its room free."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", app="etl")
    operator, write = world.operator(), world.write

    async def lossy(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        answer = await write(method, path, body, content_type=content_type)
        if "spec" in body:
            world.change(pod.uid, unscheduled="Unschedulable")
            raise Unavailable("timed out")
        return answer

    world.write = lossy  # type: ignore[method-assign]
    operator.step()
    assert not world.pods[pod.uid].gates
    assert pod.uid in world.cache.in_flight
    for _ in range(70):
        operator.step()
        if world.pods[pod.uid].parked:
            break
    assert world.pods[pod.uid].parked


def strike(world: World, strikes: Callable[[str, Any], bool], status: int = 500) -> None:
    """Answer some writes with an error."""
    write = world.write

    async def struck(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if strikes(path, body):
            return Answer(status, b'{"message": "no"}')
        return await write(method, path, body, content_type=content_type)

    world.write = struck  # type: ignore[method-assign]


def test_a_parking_of_which_half_was_written_leaves_no_nomination() -> None:
    """The mark was written and the write after it failed: kube-scheduler kept the node's room for the parked pod."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", cpu=2, app="etl")
    operator = world.operator(steer_nodes=0)
    operator.step()
    assert world.pods[pod.uid].nominated == "a"
    struck = list[str]()

    def first_clearing(path: str, body: Any) -> bool:
        clears = body.get("status") == {"nominatedNodeName": None}
        struck.extend([path] * clears)
        return clears and len(struck) == 1

    strike(world, first_clearing)
    while not world.pods[pod.uid].parked:  # nobody binds it
        operator.step()
    assert world.pods[pod.uid].nominated == "a"
    world.configure("AdmissionQueue", "default", annotations={names.PAUSE: "true"})
    operator.step()
    assert world.pods[pod.uid].parked
    assert not world.pods[pod.uid].nominated


@pytest.mark.parametrize("status", [500, 405, 422])
def test_a_pod_that_cannot_be_resized_is_released_with_the_requests_it_has(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its forerunners taught is a help, not a condition."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("task", cpu=2, app="etl")
    monkeypatch.setattr(world.cache.learning, "wanted", lambda _: Resources(cpu=1.5))
    strike(world, lambda path, _: path.endswith("/resize"), status)
    world.operator().step()
    assert not world.pods[pod.uid].gates


def test_a_release_that_fails_while_the_nomination_before_is_taken_back_is_taken_back_too() -> None:
    """The answer about the first nomination was taken for one about the second, and that one stayed for ever."""
    world, answered = enforcing(node("a", cpu=4)), asyncio.Event()
    pod = world.create("task", app="etl")
    operator, write = world.operator(steer_nodes=0), world.write

    async def struck(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if body.get("status") == {"nominatedNodeName": None}:
            await answered.wait()
        if "spec" in body:
            return Answer(500, b'{"message": "no"}')
        return await write(method, path, body, content_type=content_type)

    async def twice() -> None:
        for _ in range(2):
            await operator.upkeep.clear()
            await operator.releaser.round()
            await asyncio.sleep(0.01)
            world.now += 3
        answered.set()
        await asyncio.sleep(0.01)
        world.configure("AdmissionQueue", "default", annotations={names.PAUSE: "true"})
        for _ in range(3):
            await operator.upkeep.clear()
            await operator.releaser.round()
            world.now += 1

    world.write = struck  # type: ignore[method-assign]
    asyncio.run(asyncio.wait_for(twice(), 20))
    assert not world.pods[pod.uid].nominated
    assert pod.uid not in world.entered
