"""Each write of a release fails in turn, in every way, and watches lag: nothing stranded, no room given twice."""

from __future__ import annotations

import asyncio

import pytest

from slackwater_cluster import names
from slackwater_lab.faults.rules import Fault, Watch
from support.fakes.cluster import Operator, World, enforcing, node
from support.fakes.faults import FaultyWorld

# Writes of the life below without faults, by the number of nodes up to which nobody nominates; a test holds this.
WRITES = {0: 16, 100: 9}
both = pytest.mark.parametrize("steer", list(WRITES), ids=["nominated", "steered"])


def world(**faults: object) -> FaultyWorld:
    """Two nodes under a policy in force."""
    made = FaultyWorld(**faults)  # type: ignore[arg-type]  # fields of the world
    made.configure("SlackPolicy", "default", mode="enforce")
    made.namespace("team")
    made.add_nodes(node("a", cpu=4), node("b", cpu=2))
    return made


def arrive(made: World, step: int) -> None:
    """An app with a driver whose tasks come after it, and one of tasks alone: eight pods, more than the nodes hold."""
    if step == 0:
        made.create("driver", cpu=1, role=names.DRIVER, app="etl")
        for number in range(3):
            made.create(f"batch-{number}", cpu=2, app="batch")
    if step == 2:
        for number in range(4):
            made.create(f"etl-{number}", cpu=1.5, app="etl")


def end(made: FaultyWorld) -> dict[str, tuple[str, tuple[str, ...], bool]]:
    """What the cluster looks like when all is over."""
    return {pod.name: (pod.phase, pod.gates, pod.parked) for pod in made.pods.values()}


@pytest.fixture(scope="module")
def undisturbed() -> FaultyWorld:
    """The same life without a fault."""
    made = world()
    made.play(arrive)
    return made


@both
def test_the_life_has_as_many_writes_as_are_disturbed(steer: int) -> None:
    """Else the tests below would leave some out. Where nobody nominates: eight gates, and the driver's node."""
    made = world(steer=steer)
    made.play(arrive)
    assert made.attempts == WRITES[steer]
    assert len(made.released) == len(made.pods) == 8


@both
@pytest.mark.parametrize("fault", list(Fault), ids=str)
def test_after_a_fault_at_any_write_the_end_is_the_same(undisturbed: FaultyWorld, fault: Fault, steer: int) -> None:
    """In turn at each of them: nothing stranded, no room twice on the way, nothing left behind."""
    for at in range(1, WRITES[steer] + 1):
        made = world(fault=fault, at=at, steer=steer)
        made.play(arrive)
        assert end(made) == end(undisturbed), f"write {at}"
        assert made.kills == (fault is Fault.KILLED)
        assert not any(pod.nominated and not pod.node for pod in made.pods.values())


@pytest.mark.parametrize("watch", [each for each in Watch if each is not Watch.PROMPT], ids=str)
def test_a_watch_that_lags_doubles_or_loses_events_changes_nothing_in_the_end(
    undisturbed: FaultyWorld, watch: Watch
) -> None:
    """Eight seeds, each with the program killed at another write."""
    for seed in range(8):
        made = world(watch=watch, seed=seed, fault=Fault.KILLED, at=2 * seed + 1)
        made.play(arrive)
        assert end(made) == end(undisturbed), f"seed {seed}"


@both
def test_another_extender_is_asked_only_after_what_the_first_placed_is_written(steer: int) -> None:
    """In an upgrade, or after a crash, it knows of placements what pods show: else room would be given twice."""
    made = enforcing(node("a", cpu=4))
    for number in range(8):
        made.create(f"task-{number}", cpu=1, app="etl")
    releaser, pauses = made.operator(steer_nodes=steer).releaser, list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def handed_over() -> None:
        releaser.pause = pause
        await releaser.round()
        made.replace_extender()
        await releaser.round()
        await releaser.writes.drain()

    asyncio.run(handed_over())
    assert len(made.released) == 4
    assert len(pauses) == 1


def test_room_of_a_nomination_whose_answer_is_lost_is_kept_until_it_is_taken_back() -> None:
    """It is written, and another pod got its room before the extender's watch showed it."""
    made = world(steer=0)
    pod = made.create("driver", cpu=1, role=names.DRIVER, app="etl")
    operator = made.restart(steer_nodes=0)
    made.broken = lambda path: not path.endswith("/status")
    asyncio.run(_round(operator))
    made.broken = lambda _: False
    assert made.pods[pod.uid].nominated
    assert made.pods[pod.uid].gates
    assert pod.uid in made.entered
    made.configure("AdmissionQueue", "default", annotations={"slackwater.io/pause": "true"})
    operator.step()
    assert not made.pods[pod.uid].nominated
    assert pod.uid not in made.entered


async def _round(operator: Operator) -> None:
    """One round without upkeep."""
    await operator.releaser.round()
    await operator.releaser.writes.drain()


def test_room_is_given_back_where_the_watch_shows_no_nomination() -> None:
    """Seeds 168 and 296: writes to one pod failed for long, and its room was kept from all others as long."""
    made = world(steer=0)
    pod = made.create("driver", cpu=1, role=names.DRIVER, app="etl")
    operator = made.restart(steer_nodes=0)
    made.broken = lambda path: "driver" in path
    asyncio.run(_round(operator))
    assert pod.uid in made.entered
    made.configure("AdmissionQueue", "default", annotations={"slackwater.io/pause": "true"})
    operator.step()
    assert pod.uid in made.entered
    operator.step()
    assert pod.uid not in made.entered
    assert pod.uid in made.cache.nominated_in_vain  # to be cleared once writes succeed again
    made.broken = lambda _: False
    operator.step()
    assert not made.cache.nominated_in_vain
