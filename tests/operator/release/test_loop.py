"""The whole loop on a cluster in memory: rounds, upkeep and what becomes of failures."""

import asyncio

import pytest
from structlog.testing import capture_logs

from slackwater_cluster import names
from support.fakes.cluster import enforcing, node
from support.fakes.loop import release_loop, seen, turn, written


def test_one_turn_releases_and_the_next_ones_tell() -> None:
    """Pods run, the TrackedApp is made and brought up to date, an Event tells of the start."""
    world = enforcing(node("a"))
    for number in range(3):
        world.create(f"t{number}", app="etl")
    made = release_loop(world)
    turn(made, world, 20)
    assert all(pod.node for pod in world.pods.values())
    assert written(world, "/trackedapps/etl/status")[-1]["status"]["pods"]["bound"] == 3
    assert "Released" in {body["reason"] for body in written(world, "/events")}


def test_a_parked_pod_is_told() -> None:
    """Somebody took the room of a released pod: after the timeout it is parked, with an event that says so."""
    world = enforcing(node("a", cpu=2))
    pod = world.create("t", cpu=2, app="etl")
    made = release_loop(world)

    async def released() -> None:
        await made.turn()
        await made.releaser.writes.drain()

    asyncio.run(released())
    other = world.create("thief", cpu=2, namespace="kube-system", gates=(), scheduler="default-scheduler")
    world.change(other.uid, node="a", phase="Running")
    turn(made, world, 70)
    assert world.pods[pod.uid].parked
    told = [body for body in written(world, "/events") if body["reason"] == "Parked"]
    assert [(body["involvedObject"]["name"], body["type"]) for body in told] == [("t", "Normal")]


def test_at_rest_nothing_is_written() -> None:
    """After everything was told, further turns write nothing at all."""
    world = enforcing(node("a", cpu=2))
    for number in range(4):
        world.create(f"t{number}", app="etl")
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    turn(made, world, 60)
    before = (len(world.posted), len(world.writes))
    turn(made, world, 60)
    assert (len(world.posted), len(world.writes)) == before


def test_held_pods_get_a_reason_only_in_quiet_times() -> None:
    """Not while releases go on, and once per class."""
    world = enforcing(node("a", cpu=1))
    pod = world.create("t", cpu=4, app="etl")
    made = release_loop(world)
    made.releaser.writes.last_release = world.now
    turn(made, world, 3)
    assert names.REASON not in world.pods[pod.uid].annotations
    turn(made, world, 10)
    assert world.pods[pod.uid].annotations[names.REASON] == "larger-than-any-node"
    assert sum("/pods/t" in write for write in world.writes) == 1


def test_a_failed_turn_is_counted_and_the_next_one_goes_on() -> None:
    """An error in one turn is not the end, many in a row are."""
    world = enforcing(node("a"))
    made = release_loop(world, period=0.001, idle_period=0.001)

    async def fail() -> int:
        raise ValueError("broken")

    made.releaser.round = fail  # type: ignore[method-assign]  # the part that breaks
    with capture_logs() as logs, pytest.raises(ValueError, match="broken"):
        asyncio.run(made.run())
    assert [each["event"] for each in logs].count("failed") == 20
    assert made.metrics.errors.labels("turn")._value.get() == 20
