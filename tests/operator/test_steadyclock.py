"""A step of the machine's clock parks nobody, and times that others wrote are compared with the machine's own."""

import pytest

from slackwater_operator.steadyclock import SteadyClock, latest, wall
from support.fakes.cluster import World, enforcing, node

HOURS = 8 * 3600.0


@pytest.mark.parametrize("step", [3600.0, -3600.0, 0.0], ids=["an hour on", "an hour back", "none"])
def test_a_step_is_followed_slowly(step: float) -> None:
    """A second later our time is a second later, give or take a tenth; in the end it is the machine's."""
    now = [1000.0]
    moved = [0.0]
    clock = SteadyClock(lambda: now[0] + moved[0], lambda: now[0])
    before = clock()
    moved[0] = step
    now[0] += 1
    assert 0.89 <= clock() - before <= 1.11
    now[0] += 40_000
    assert clock() == pytest.approx(now[0] + step)


def test_time_never_goes_back() -> None:
    """Whatever the machine's clock does."""
    walls = iter([1000.0, 5.0, 1e9, 0.0, 1000.0])
    ticks = iter([0.0, 1.0, 2.0, 3.0, 4.0])
    clock = SteadyClock(lambda: next(walls), lambda: next(ticks))
    seen = [clock() for _ in range(4)]
    assert seen == sorted(seen)


def test_times_of_others_are_compared_with_the_machines_clock() -> None:
    """After a sleep ours is behind for long, after a step back ahead; `wall` is right, `latest` never early."""
    moved = [0.0]
    clock = SteadyClock(lambda: 1000.0 + moved[0], lambda: 1000.0)
    moved[0] = 500.0
    assert (clock(), wall(clock), latest(clock)) == (1000.0, 1500.0, 1500.0)
    moved[0] = -500.0
    assert (clock(), wall(clock), latest(clock)) == (1000.0, 500.0, 1000.0)
    assert wall(lambda: 7.0) == 7.0


def stepping() -> tuple[World, list[float]]:
    """A cluster whose API server tells the machine's time, and by how much that has jumped since the start."""
    world, jumped = enforcing(node("a", cpu=8)), [0.0]
    clock = SteadyClock(lambda: world.now, lambda: world.now - jumped[0])
    world.clock = clock  # type: ignore[method-assign]
    return world, jumped


def jump(world: World, jumped: list[float], seconds: float) -> None:
    """The machine's clock is another one from now on; no time has passed by the monotonic one."""
    world.now += seconds
    jumped[0] += seconds


@pytest.mark.parametrize("seconds", [HOURS, -HOURS], ids=["slept", "set back"])
def test_who_waits_for_a_driver_that_never_comes_waits_no_longer_after_a_step(seconds: float) -> None:
    """Thirty seconds by the time at which the pods were created; before, hours after a sleep and none after a step."""
    world, jumped = stepping()
    operator = world.operator()
    operator.step()
    jump(world, jumped, seconds)
    operator.step()
    began = world.now
    world.create("worker", app="workers", labels={"ray.io/cluster": "workers"})
    while not world.released and world.now < began + 100:
        operator.step()
    assert 30 <= world.now - began <= 32


@pytest.mark.parametrize("seconds", [HOURS, -HOURS], ids=["slept", "set back"])
def test_a_step_parks_nobody_before_its_time_or_long_after(seconds: float) -> None:
    """A release that the scheduler has not bound is parked after its own seconds, whatever the machine's clock did."""
    world, jumped = stepping()
    pod = world.create("task", app="etl")
    operator = world.operator()
    operator.step()
    jump(world, jumped, seconds)
    waited = 0
    while not world.pods[pod.uid].parked and waited < 100:
        operator.step()
        waited += 1
    assert 50 <= waited <= 70, "60 seconds, give or take a tenth"
