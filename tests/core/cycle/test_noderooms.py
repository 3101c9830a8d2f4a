"""Pods of several sizes that go together: whether the nodes' rooms hold them all, and where."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.noderooms import SEARCHES, NodeRooms
from slackwater.cycle.podline.packing import Packing, packed
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.resources import Resources
from support.builders.nodes import node_table
from support.builders.snapshots import group, pool, queue, released, snapshot

Sizes = tuple[tuple[int, float], ...]  # so many pods of this size


def gang_on(rooms: list[float], sizes: Sizes) -> Snapshot:
    """A gang of these pods on nodes with so many cores each."""
    groups = tuple(group("gang", size=size, held=count, stage=f"s{at}") for at, (count, size) in enumerate(sizes))
    table = node_table([[room] for room in rooms], kinds=("cpu",))
    return replace(snapshot(App("gang", "team", 0.0, groups, gang=True), on=queue(sum(rooms))), nodes=table)


FITTING: dict[str, tuple[list[float], Sizes]] = {
    "large ones before small ones": ([16, 16, 16], ((2, 4), (3, 12))),
    "large ones need the nodes that they just fill": ([10, 6], ((2, 5), (1, 6))),
    "large ones side by side leave too little": ([13, 13], ((2, 5), (4, 4))),
    "large ones leave the small node to small ones": ([12, 8], ((2, 4), (2, 5))),
    "each node its own mixture": ([10, 9, 8, 12], ((2, 5), (3, 7), (1, 4))),
    "many equal ones": ([12, 19, 6, 11, 16], ((4, 6), (4, 9))),
    "three sizes": ([16, 16], ((2, 1), (2, 5), (2, 10))),
}


@pytest.mark.parametrize(("rooms", "sizes"), FITTING.values(), ids=FITTING)
def test_a_gang_of_several_sizes_goes_where_its_pods_fit_together(rooms: list[float], sizes: Sizes) -> None:
    """Whatever its smallest pods would do to the rooms if they were first, or its largest side by side."""
    seen = gang_on(rooms, sizes)
    assert len(released(decide(seen))) == sum(count for count, _ in sizes)


@example(nodes=3, large=3, size=12, small=2, of=4)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(9, 16), st.integers(1, 8), st.integers(1, 8))
def test_a_gang_goes_if_and_only_if_nodes_can_hold_it(nodes: int, large: int, size: int, small: int, of: int) -> None:
    """Of pods beyond half a node each takes a node of its own: then it is known how many small ones fit beside them."""
    sizes = ((small, float(of)), (large, float(size)))
    places = (nodes - large) * (16 // of) + large * ((16 - size) // of)
    fits = large <= nodes and small <= places
    outcome = decide(gang_on([16.0] * nodes, sizes))
    assert len(outcome.releases) == (small + large if fits else 0)


def test_each_pod_of_a_gang_is_told_where_it_fits_beside_the_others() -> None:
    """Whoever places them one by one may not find it: the round has."""
    rooms, sizes = FITTING["large ones side by side leave too little"]
    taken: Counter[str] = Counter()
    for release in decide(gang_on(rooms, sizes)).releases:
        taken[release.node] += int(release.group.request["cpu"])
    assert taken == {"node-0": 13, "node-1": 13}


def test_a_gang_that_fits_in_no_way_takes_nothing() -> None:
    """What was tried for it is given back: a later pod finds all of the rooms."""
    seen = gang_on([8, 8], ((1, 4), (2, 6)))
    later = App("later", "team", 1.0, (group("later", size=8, held=2),))
    outcome = decide(replace(seen, apps=(*seen.apps, later)))
    assert released(outcome) == ["later/task/0", "later/task/1"]


def test_a_gang_larger_than_all_nodes_together_is_refused_and_keeps_nothing() -> None:
    """Each of its sizes alone would find room: as a whole it never will, however long it waits."""
    seen = gang_on([5, 4, 6, 8], ((4, 4), (4, 3)))
    other = App("other", "team", 10.0, (group("other", size=4, held=5),), gang=True)
    outcome = decide(replace(seen, apps=(*seen.apps, other), now=400.0))
    assert outcome.verdicts["gang"].reason is WaitReason.INFEASIBLE
    assert len(released(outcome)) == 5


@given(st.lists(st.floats(0, 9), min_size=1, max_size=6), st.lists(st.sampled_from([0.0, 0.3, 0.7, 2.0]), max_size=20))
def test_pods_that_are_taken_at_once_get_what_they_would_get_one_by_one(room: list[float], sizes: list[float]) -> None:
    """To the last bit: who comes after them finds the same room."""
    seen = snapshot(on=queue(9), nodes=node_table([[each] for each in room], kinds=("cpu",)))
    one_by_one, at_once = NodeRooms(seen), NodeRooms(seen)
    groups = [group("app", size=size) for size in sizes]
    shapes, _ = (rooms.shapes(seen.queues[0], groups) for rooms in (one_by_one, at_once))
    for shape in dict.fromkeys(shapes):
        count = shapes.count(shape)
        rows = [row for _ in range(count) if (row := one_by_one.take(shape)) >= 0]
        assert at_once.take_most([(shape, 1)] * count) == [1] * len(rows) + [0] * (count - len(rows))
        assert at_once.room.tobytes() == one_by_one.room.tobytes()
        assert at_once.native.tobytes() == one_by_one.native.tobytes()
        assert [at_once.nodes(each) for each in shapes] == [one_by_one.nodes(each) for each in shapes]


def test_a_pod_that_asks_for_nothing_has_no_room_on_a_node_that_is_cordoned() -> None:
    """It was sent there first, as if nothing were left of any other node, and a gang with it."""
    pods = (group("gang", size=0, held=1, stage="a"), group("gang", size=2, held=1, stage="b"))
    table = node_table([[8.0], [8.0]], kinds=("cpu",), closed=[0])
    seen = replace(snapshot(App("gang", "team", 0.0, pods, gang=True), on=queue(8)), nodes=table)
    assert {release.node for release in decide(seen).releases} == {"node-1"}


def test_nodes_known_by_their_sums_take_a_gang_whose_native_request_names_a_further_kind() -> None:
    """Of that kind there is as much as one likes, and the round ends."""
    lone = group("gang", size=1, held=3)
    gang = App("gang", "team", 0.0, (replace(lone, native=Resources(cpu=1.0, memory=5.0)),), gang=True)
    assert len(released(decide(snapshot(gang, on=queue(16))))) == 3


def test_many_gangs_that_do_not_fit_take_no_longer_than_one() -> None:
    """A round packs the same pods once, and looks for further ways a few times only."""
    groups = (group("g", size=8, held=9, stage="a"), group("g", size=1, held=1, stage="b"))
    gangs = [App(f"gang-{number}", "team", float(number), groups, gang=True) for number in range(50)]
    table = node_table([[8.0]] * 8 + [[1.0]] * 92, kinds=("cpu",), total=[[16.0]] * 100)
    seen = replace(snapshot(*gangs, on=queue(1600, free=156.0)), nodes=table)
    with patch("slackwater.cycle.noderooms.packed", return_value=Packing(None, certain=False)) as searched:
        assert not released(decide(seen))
    assert searched.call_count <= 1


@pytest.mark.parametrize("step", [1.0, 5.0], ids="every {} s".format)
def test_a_gang_behind_many_that_do_not_fit_gets_its_turn(step: float) -> None:
    """Only a search finds its places; a round makes a few, and those before it are looked at in vain in each."""

    def gang(name: str, came: float, *sizes: tuple[float, int]) -> App:
        return App(name, "team", came, tuple(group(name, size=s, held=n, stage=str(s)) for s, n in sizes), gang=True)

    vain = [gang(f"vain-{n}", 390.0, (4.4 + n / 1000, 2), (4.5 + n / 1000, 1)) for n in range(40)]
    table = node_table([[6.0], [8.0]], kinds=("cpu",), total=[[16.0]] * 2)
    for number in range(40):
        seen = replace(snapshot(*vain, gang("last", 395.0, (3.0, 2), (4.0, 2)), on=queue(32, free=14.0)), nodes=table)
        with patch("slackwater.cycle.noderooms.packed", side_effect=packed) as searched:
            found = released(decide(replace(seen, now=400.0 + number * step, patience=1e9), explain=False))
        assert searched.call_count <= SEARCHES
        if found:
            break
    assert [uid.partition("/")[0] for uid in found] == ["last"] * 4


@pytest.mark.parametrize("bounded", [False, True], ids=["no bound", "an owner's bound"])
def test_turns_may_number_gangs_of_a_queue_that_has_not_been_looked_at(bounded: bool) -> None:
    """The searches of the first queue run out before the second one's gangs have their shapes."""

    def gang(name: str, where: str, large: float) -> App:
        sizes = ((large, 2), (large + 0.1, 1))
        groups = tuple(group(name, size=size, held=held, stage=str(size)) for size, held in sizes)
        return App(name, "team", 390.0, groups, gang=True, started=True, queue=where)

    table = node_table([[6.0], [8.0]], kinds=("cpu",), total=[[16.0]] * 2)
    vain = [gang(f"vain-{n}", "default", 4.4 + n / 1000) for n in range(SEARCHES + 1)]
    first = queue(32, free=14.0, pool="default" if bounded else "")
    seen = snapshot(*vain, gang("other", "second", 5.4), on=first, pools=(pool(32, 0.5, low=0.3),) if bounded else ())
    seen = replace(seen, queues=(first, replace(first, name="second", pool="")), nodes=table, now=400.0)
    decided = decide(seen)
    assert not decided.releases
    assert len(holds(seen, decided)) == 2 * len(seen.apps)
