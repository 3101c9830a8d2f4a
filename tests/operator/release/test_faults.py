"""Each write of a release fails in turn, in every way, and watches lag: nothing stranded, no room given twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_lab.faults.rules import Fault, Watch
from slackwater_operator.clients.extenderclient import Placement, PlacementWish, Reservation
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


def _released_in_vain(made: FaultyWorld, uid: str) -> Operator:
    """Writes to the driver fail, so that its room is kept without its release; then its queue is paused."""
    operator = made.restart(steer_nodes=0)
    made.broken = lambda path: "driver" in path
    asyncio.run(_round(operator))
    assert uid in made.entered
    made.configure("AdmissionQueue", "default", annotations={"slackwater.io/pause": "true"})
    operator.step()
    return operator


def test_room_is_given_back_where_the_watch_shows_no_nomination() -> None:
    """Seeds 168 and 296: writes to one pod failed for long, and its room was kept from all others as long."""
    made = world(steer=0)
    pod = made.create("driver", cpu=1, role=names.DRIVER, app="etl")
    operator = _released_in_vain(made, pod.uid)
    assert pod.uid in made.entered
    operator.step()
    assert pod.uid not in made.entered
    assert pod.uid in made.cache.nominated_in_vain  # to be cleared once writes succeed again
    made.broken = lambda _: False
    operator.step()
    assert not made.cache.nominated_in_vain


def test_room_is_given_back_where_a_parked_pod_could_not_be_released_again() -> None:
    """World 2221607: it was kept for 75 s, from a driver of higher priority, and another scheduler took of it."""
    made = world(steer=0)
    pod = made.create("driver", cpu=1, role=names.DRIVER, app="etl", gates=())
    made.change(pod.uid, annotations={**pod.annotations, names.PARKED: "2026-01-01T00:00:00+00:00"})
    operator = _released_in_vain(made, pod.uid)
    operator.step()
    assert made.pods[pod.uid].parked
    assert pod.uid not in made.entered


@dataclass
class DeafWorld(World):
    """A world in which the answer of some questions to the extender is lost, or the answer comes too late."""

    lost: list[str] = field(default_factory=list)  # the questions that are struck next, by name
    late: list[Sequence[PlacementWish]] = field(default_factory=list)  # placements that are made after all, later

    def _strike(self, question: str) -> None:
        if question in self.lost:
            self.lost.remove(question)
            raise Unavailable("extender: TimeoutError")

    async def place(self, wishes: Sequence[PlacementWish], **more: Any) -> Placement:
        """Place, and lose the answer; or leave it for later."""
        if "late" in self.lost:
            self.late.append(wishes)
            self._strike("late")
        answer = await super().place(wishes, **more)
        self._strike("place")
        return answer

    async def reserve(self, pods: Sequence[Reservation]) -> None:
        """Reserve, and lose the answer."""
        await super().reserve(pods)
        self._strike("reserve")

    async def unreserve(self, uids: Sequence[str]) -> None:
        """Do not even hear the question."""
        self._strike("unreserve")
        await super().unreserve(uids)


def full(*lost: str, **queue: Any) -> tuple[DeafWorld, Operator]:
    """As many tasks as a node holds, and the questions whose answers are lost."""
    made = DeafWorld(lost=list(lost))
    made.configure("SlackPolicy", "default", mode="enforce")
    made.configure("AdmissionQueue", "default", **queue)
    made.namespace("team")
    made.add_nodes(node("a", cpu=4))
    for number in range(4):
        made.create(f"task-{number}", cpu=1, app="etl")
    return made, made.operator(steer_nodes=0)


def released(made: World, operator: Operator, rounds: int) -> list[int]:
    """How many pods were released in all, after each of some rounds."""
    return [len(made.released) for _ in range(rounds) if operator.step() >= 0]


@pytest.mark.parametrize(
    ("lost", "queue"),
    [("place", {}), ("reserve", {"release": {"nominate": False}})],
    ids=["nodes", "reservations"],
)
def test_room_that_was_reserved_and_not_answered_is_free_in_the_next_round(lost: str, queue: dict[str, Any]) -> None:
    """The extender has entered the pods, the operator knows nothing of it: else the node would be idle for 75 s."""
    made, operator = full(lost, **queue)
    assert released(made, operator, 2) == [0, 4]


def test_what_is_not_taken_back_at_once_is_tried_again_each_round() -> None:
    """The extender hears the third time: nothing is forgotten in between."""
    made, operator = full("place", "unreserve", "unreserve")
    assert released(made, operator, 4) == [0, 0, 0, 4]


def test_room_that_a_dead_leader_reserved_is_taken_back_although_the_first_question_is_lost() -> None:
    """A new leader asks once, at its start, and nobody else would ask again."""
    made, operator = full("unreserve")
    made.entered = dict.fromkeys(made.pods, "a")
    operator.take_over()
    assert released(made, operator, 1) == [4]


def test_a_placement_that_is_made_after_its_answer_was_given_up_takes_no_room() -> None:
    """An extender that is slow does its work later than it is told to take it back; meanwhile the queue is paused."""
    made, operator = full("late")
    operator.step()
    made.configure("AdmissionQueue", "default", annotations={"slackwater.io/pause": "true"})
    operator.step()
    asyncio.run(made.place(made.late[0]))
    assert len(made.entered) == 4
    operator.step()
    assert not made.entered


def test_what_is_on_its_way_keeps_its_room() -> None:
    """A pod that was asked for again, and released, is not taken for one whose answer was lost."""
    made, operator = full("place")
    released(made, operator, 4)
    assert len(made.entered) == 4
