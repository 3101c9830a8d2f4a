"""Gangs of several sizes that the nodes could not hold at once even if they were empty: refused where that is certain.

Whether certain or not, no room is kept for them: they would idle the nodes for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appstarts import emptynodes
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.snapshot import App, Queue, Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.nodes import node_table, some_way
from support.builders.snapshots import cpu, group, queue, released, snapshot, task_app

NOW = 400.0  # patience is 300
Sizes = tuple[tuple[int, float], ...]  # so many pods of this size


def gang_of(sizes: Sizes, name: str = "gang", **more: object) -> App:
    """A gang of these pods."""
    groups = tuple(group(name, size=size, held=count, stage=f"s{at}") for at, (count, size) in enumerate(sizes))
    return App(name, "team", 0.0, groups, gang=True, **more)  # type: ignore[arg-type]


def on_nodes(total: list[float], *apps: App, free: list[float] | None = None, **more: object) -> Snapshot:
    """Nodes of so many cores, of which so many are free."""
    room = total if free is None else free
    table = node_table([[each] for each in room], total=[[each] for each in total], kinds=("cpu",))
    on = queue(sum(total), free=sum(room))
    return replace(snapshot(*apps, on=on), now=NOW, nodes=table, **more)  # type: ignore[arg-type]


LATE = task_app("late", 399.0, held=100)  # of one core each


def beside_late(at: Snapshot) -> Round:
    """One round, with a job of small pods that came late."""
    return decide(replace(at, apps=(*at.apps, LATE)))


def keeps_room(at: Snapshot) -> bool:
    """Whether late pods do not get all there is."""
    assert at.nodes is not None
    there = int(np.floor(at.nodes.room[at.nodes.open]).sum())
    return len(released(beside_late(at))) < min(there, LATE.held_pods)


NEVER: dict[str, tuple[list[float], Sizes, str]] = {
    "more large pods than nodes": ([8] * 3, ((2, 6), (2, 5.5)), "at most 3 of its 4 pods of 5.5 cpu or more"),
    "more large pods than large nodes": ([8, 8, 2, 2], ((1, 6), (2, 5)), "at most 2 of its 3 pods of 5 cpu or more"),
    "a third of a node each": ([8] * 41, ((42, 3), (42, 2.7)), "at most 82 of its 84 pods of 2.7 cpu or more"),
    "no mixture is left": ([10] * 3, ((2, 7), (3, 3.5)), "only a part of these 5: 2 of 7 cpu, 3 of 3.5 cpu"),
}


@pytest.mark.parametrize(("total", "sizes", "said"), NEVER.values(), ids=NEVER)
def test_a_gang_whose_sizes_never_fit_together_is_refused_with_the_numbers(
    total: list[float], sizes: Sizes, said: str
) -> None:
    """Each size alone would fit, and so would the sum."""
    seen = on_nodes(total, gang_of(sizes), free=[0.75 * each for each in total])
    verdict = decide(seen).verdicts["gang"]
    assert (verdict.reason, verdict.refused) == (WaitReason.GANG_TOO_LARGE, True)
    assert f"nodes of queue default that it may use hold {said}, even when they are empty; ask" in verdict.sentence
    assert not keeps_room(seen)


few = st.tuples(st.integers(1, 3), st.integers(1, 9))


@example([2, 2, 3], (1, 3), (1, 3))  # two groups of one size
@given(st.lists(st.integers(2, 10), min_size=1, max_size=3), few, few)
def test_a_gang_is_refused_if_and_only_if_the_empty_nodes_do_not_hold_it(
    total: list[int], first: tuple[int, int], second: tuple[int, int]
) -> None:
    """Of a few pods and nodes every way is tried. Nothing that could ever fit is refused, however full nodes are."""
    seen = on_nodes([float(each) for each in total], gang_of((first, second)), free=[0.5] * len(total))
    pods = [(size, [True] * len(total)) for count, size in (first, second) for _ in range(count)]
    assert decide(seen).verdicts["gang"].refused is not some_way(total, pods)


# Pods of 3.5 cores go in pairs on nodes without one of 7: they want 70 nodes, of 65. Too many to try every way.
UNPROVEN: Sizes = ((60, 7.0), (20, 3.5))


def test_a_gang_that_nobody_could_place_in_time_is_not_refused_but_keeps_nothing() -> None:
    """It goes when room for all of it is found; until then the nodes are for others."""
    seen = on_nodes([10.0] * 65, gang_of(UNPROVEN), free=[7.0] + [1.0] * 64)
    assert decide(seen).verdicts["gang"].reason is WaitReason.WHOLE
    assert not keeps_room(seen)
    assert keeps_room(replace(seen, apps=(gang_of(((60, 7.0), (8, 3.5))),)))


def test_the_review_of_a_round_grants_no_room_to_a_gang_that_never_comes_together() -> None:
    """A round that kept some for it held others back for nobody."""
    for gang, claim in ((gang_of(UNPROVEN), Claim.NOBODY), (gang_of(((60, 7.0), (8, 3.5))), Claim.ASSEMBLY)):
        seen = on_nodes([10.0] * 65, gang, LATE, free=[4.0] * 65)
        found = {each.app: each.claim for each in holds(seen, replace(decide(seen), releases=()))}
        assert found["late"] is claim


@pytest.mark.parametrize("kept", [False, True], ids=["too large", "it fits"])
def test_room_is_kept_for_a_gang_of_several_sizes_that_fits_empty_nodes(*, kept: bool) -> None:
    """Among small jobs it would never start otherwise."""
    sizes = ((2, 6.0), (1 if kept else 2, 5.5))
    assert keeps_room(on_nodes([8.0] * 3, gang_of(sizes), free=[2.0, 6.0, 2.0])) is kept


class TestWhatIsInTheWay:
    """Room is kept only where it could come together on the open nodes, beside what does not go."""

    GANG = gang_of(((1, 6.0), (1, 7.0)))

    def test_pods_of_others(self) -> None:
        """They may stay for ever, or go: the gang is not refused, and idles nothing meanwhile."""
        foreign = np.array([[0.0], [3.0]])
        seen = on_nodes([8.0, 8.0], self.GANG, free=[7.5, 4.0])
        assert keeps_room(seen)
        assert not keeps_room(replace(seen, foreign=foreign))
        assert not decide(replace(seen, foreign=foreign)).verdicts["gang"].refused

    def test_pods_of_others_that_use_less_than_they_ask_for(self) -> None:
        """What is free now is free, whatever they asked for."""
        low = replace(self.GANG.groups[0], native=cpu(1.0)), self.GANG.groups[1]
        gang = replace(self.GANG, groups=low)
        seen = on_nodes([8.0, 8.0], gang, free=[6.5, 6.0], foreign=np.array([[0.0], [6.5]]))
        assert keeps_room(seen)

    def test_a_cordoned_node(self) -> None:
        """It may open again: until it does, nothing that is kept elsewhere helps."""
        seen = on_nodes([8.0, 8.0], self.GANG, free=[6.5, 4.0])
        assert seen.nodes is not None
        cordoned = replace(seen, nodes=replace(seen.nodes, open=np.array([True, False])))
        assert keeps_room(seen)
        assert not keeps_room(cordoned)
        assert not decide(cordoned).verdicts["gang"].refused

    @pytest.mark.parametrize(("seat", "kept"), [("node-0", True), ("node-2", False)])
    def test_its_own_driver(self, seat: str, *, kept: bool) -> None:
        """It stays where it is as long as its tasks wait."""
        driver = group("gang", Role.DRIVER, 1.5, running=1, seats=(seat,))
        gang = replace(self.GANG, groups=(driver, *self.GANG.groups), started=True, has_driver=True)
        reach = {"large": np.array([False, False, True])}
        tasks = gang.groups[1], replace(gang.groups[2], constraints="large")
        seen = on_nodes([8.0, 8.0, 8.0], replace(gang, groups=(driver, *tasks)), free=[6.5, 6.5, 6.5], reach=reach)
        assert keeps_room(replace(seen, reserve=False)) is kept

    def test_a_driver_that_waits_beside_tasks_that_need_all_nodes(self) -> None:
        """Each kind of its tasks would find a node beside it, but not both."""
        driver = group("gang", Role.DRIVER, 1.5, held=1)
        tasks = group("gang", size=7.0, held=1, stage="a"), group("gang", size=7.5, held=1, stage="b")
        gang = App("gang", "team", 0.0, (driver, *tasks), gang=True, has_driver=True)
        verdict = decide(on_nodes([8.0, 8.0], gang)).verdicts["gang"]
        assert verdict.reason is WaitReason.GANG_TOO_LARGE
        assert "only a part of these 3: 1 of 1.5 cpu, 1 of 7 cpu, 1 of 7.5 cpu" in verdict.sentence

    def test_pods_of_it_that_run_do_not_count(self) -> None:
        """One was lost and comes again: whether the others leave it room is not known of nodes without them."""
        running = group("gang", size=7.0, running=2, stage="a"), group("gang", size=5.0, held=1, stage="b")
        gang = App("gang", "team", 0.0, running, gang=True, started=True)
        assert not decide(on_nodes([8.0, 8.0], gang, free=[1.0, 1.0])).verdicts["gang"].refused


def test_stages_that_follow_each_other_need_not_fit_together() -> None:
    """A stage that waits on another one goes when that one is placed, or has ended."""
    first, second = group("gang", size=6.0, held=2, stage="map"), group("gang", size=1.5, held=2, stage="reduce")
    second = replace(second, request=cpu(2.5), waiting=True)
    gang = App("gang", "team", 0.0, (first, second), gang=True)
    assert len(released(decide(on_nodes([8.0, 9.0], gang)))) == 2
    assert not decide(on_nodes([8.0, 9.0], gang, free=[1.0, 1.0])).verdicts["gang"].refused


def test_groups_of_one_shape_count_together() -> None:
    """Two stages of equal pods are one size to a node."""
    verdict = decide(on_nodes([8.5] * 3, gang_of(((2, 6.0), (2, 6.0), (1, 1.0))))).verdicts["gang"]
    assert "at most 3 of its 4 pods of 6 cpu or more" in verdict.sentence


def test_only_nodes_that_its_pods_reach_count() -> None:
    """Others may be as empty as they like."""
    gang = gang_of(((1, 6.0), (1, 5.0)))
    gang = replace(gang, groups=tuple(replace(each, constraints="first") for each in gang.groups))
    for rows, refused in (([True, False, False], True), ([True, True, False], False)):
        seen = on_nodes([8.0] * 3, gang, free=[1.0] * 3, reach={"first": np.array(rows)})
        assert decide(seen).verdicts["gang"].refused is refused


def test_what_the_scheduler_counts_must_fit_too() -> None:
    """Of declared amounts there is enough, of native ones no node has it for two."""
    groups = [replace(each, native=cpu(5.0)) for each in gang_of(((2, 2.0), (2, 3.0))).groups]
    gang = App("gang", "team", 0.0, tuple(groups), gang=True)
    assert decide(on_nodes([8.0] * 3, gang)).verdicts["gang"].refused


def test_a_queue_that_grows_refuses_nothing_and_keeps_nothing_on_nodes_that_are_too_few() -> None:
    """Nodes to come may be larger, or more."""
    seen = on_nodes([8.0] * 3, gang_of(((2, 6.0), (2, 5.5))), free=[2.0, 6.0, 2.0])
    grows = replace(seen.queues[0], maximum=cpu(240.0), growth=0)
    assert not decide(replace(seen, queues=(grows,))).verdicts["gang"].refused
    assert not keeps_room(replace(seen, queues=(grows,)))


@pytest.mark.parametrize(
    ("step", "most"), [(0.0, 1), (0.001, emptynodes.PODS // emptynodes.LEAST)], ids=["equal", "different"]
)
def test_a_round_places_only_so_many_pods_on_empty_nodes(step: float, most: int) -> None:
    """Equal gangs once, and of different ones no more than it has time for."""
    gangs = [gang_of(((2, 7.0), (3, 3.4 + step * number)), f"gang-{number}") for number in range(100)]
    real, looks = NodeRooms.rules_out, list[object]()

    def counted(rooms: NodeRooms, wanted: Sequence[tuple[int, int]]) -> bool:
        looks.append(wanted)
        return real(rooms, wanted)

    with patch.object(NodeRooms, "rules_out", counted):
        decide(on_nodes([10.0] * 3, *gangs, free=[0.0] * 3))
    assert len(looks) == most


def test_kinds_that_no_node_has_are_no_riddle() -> None:
    """A gang that asks for devices of which there are none waits for nodes that have them, where some may come."""
    groups = [replace(each, request=Resources(cpu=1.0, gpu=1.0)) for each in gang_of(((2, 1.0), (1, 1.0))).groups]
    seen = on_nodes([8.0], App("gang", "team", 0.0, (*groups[:1], group("gang", held=1)), gang=True))
    grows = replace(seen.queues[0], maximum=Resources(cpu=80.0, gpu=8.0), growth=0)
    assert not decide(replace(seen, queues=(grows,))).verdicts["gang"].refused
    assert not keeps_room(replace(seen, queues=(grows,)))


@pytest.mark.parametrize("closed", [(), (1,)], ids=["held by another queue", "a node is cordoned"])
def test_a_gang_is_not_refused_for_what_others_hold_or_a_node_that_may_come_back(closed: tuple[int, ...]) -> None:
    """Two nodes of 8 hold two pods of 8 as soon as the others end, or the node is open again."""
    shares = NodeShares(("cpu",), np.array([[8.0], [0.0 if closed else 6.0]]))
    on = Queue("default", shares.capacity(), free=shares.capacity(), total=cpu(16), shares=shares)
    nodes = node_table([[8.0], [6.0]], total=[[8.0], [8.0]], kinds=("cpu",), closed=closed)
    decided = decide(snapshot(gang_of(((2, 8.0),)), on=on, nodes=nodes))
    assert not decided.verdicts["gang"].refused
    large = decide(snapshot(gang_of(((3, 8.0),)), on=on, nodes=nodes))
    assert large.verdicts["gang"].refused
