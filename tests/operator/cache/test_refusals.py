"""Pods for which no node was found step aside, and come back with their time or with the room that they wait for."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster.objects.records import ANYWHERE, Constraints, NodeRecord
from slackwater_operator.cache.nodes import NodeRequests
from slackwater_operator.cache.refusals import AwaitedRoom, Pauses, Refusals, Vain
from slackwater_operator.cache.rooms import NodeReach, Rooms
from support.builders.nodes import node_table
from support.fakes.cluster import enforcing, node

SIX = AwaitedRoom(Resources(cpu=1.0, memory=6.0), ANYWHERE)


def rooms(*left: tuple[float, float]) -> Rooms:
    """Nodes of 8 cores and 8 bytes, of which so much is left."""
    table = node_table(list(map(list, left)), total=[[8.0, 8.0]] * len(left), kinds=("cpu", "memory"))
    return Rooms(table, (1.0, 1.0))


def refusals() -> Refusals:
    """Nobody is refused yet, on two nodes of which one has a label."""
    nodes = NodeRequests(lambda _: "", lambda _: False)
    nodes.set_nodes([NodeRecord(name="node-0"), NodeRecord(name="node-1", labels={"disk": "ssd"})])
    return Refusals(NodeReach(nodes))


def test_a_refused_pod_is_asked_about_again_when_its_time_is_over() -> None:
    """And the earliest time of all is when somebody looks again."""
    refused = refusals()
    assert refused.next == math.inf
    refused.add("p", 12.0)
    refused.add("q", 15.0)
    assert (refused.next, len(refused)) == (12.0, 2)
    refused.expire(12.0, rooms((8.0, 8.0)))
    assert ("p" in refused, "q" in refused) == (False, True)
    refused.clear()
    assert not refused


@pytest.mark.parametrize(
    ("then", "now", "room", "back"),
    [
        pytest.param((8.0, 3.0), (8.0, 6.0), SIX, True, id="the room has come"),
        pytest.param((8.0, 3.0), (8.0, 5.0), SIX, False, id="more, but not enough"),
        pytest.param((8.0, 6.0), (8.0, 8.0), SIX, False, id="it was there before: something else kept the pod out"),
        pytest.param(
            (8.0, 3.0),
            (8.0, 6.0),
            AwaitedRoom(SIX.amounts, Constraints(selector=(("disk", "ssd"),))),
            False,
            id="on a node that it may not use",
        ),
    ],
)
def test_a_pod_that_waits_for_more_than_it_declares_comes_back_with_that_room(
    then: tuple[float, float], now: tuple[float, float], room: AwaitedRoom, back: bool
) -> None:
    """World 9262: while it stood aside for two seconds, a pod of lower priority took the node that had come free."""
    refused, full = refusals(), (8.0, 0.0)
    refused.add("p", 12.0)
    refused.await_room("p", room, rooms(then, full))
    refused.expire(11.0, rooms(now, full))
    assert ("p" in refused) is not back


def test_a_pod_whose_room_went_to_others_of_its_batch_comes_back_with_the_next_room() -> None:
    """World 91327: it stood aside for two seconds because a node had room before the batch, and a lower one went."""
    refused, before = refusals(), rooms((8.0, 7.0), (8.0, 0.0))
    refused.add("p", 12.0)
    refused.await_room("p", SIX, before.without({"node-0": Resources(cpu=1.0, memory=3.0), "gone": Resources(cpu=1.0)}))
    refused.expire(11.0, rooms((7.0, 4.0), (8.0, 0.0)))
    assert "p" in refused
    refused.expire(11.5, rooms((7.0, 4.0), (8.0, 8.0)))
    assert "p" not in refused
    assert before.table.room.tolist() == [[8.0, 7.0], [8.0, 0.0]]


def test_a_pod_that_is_gone_or_refused_anew_waits_for_no_room() -> None:
    """What it waited for before says nothing of the next time."""
    refused = refusals()
    refused.add("p", 12.0)
    refused.await_room("p", SIX, rooms((8.0, 3.0)))
    refused.add("p", 14.0)
    refused.await_room("gone", SIX, rooms((8.0, 3.0)))
    refused.expire(13.0, rooms((8.0, 8.0)))
    assert ("p" in refused, "gone" in refused) == (True, False)
    refused.forget("p")
    assert "p" not in refused


@pytest.mark.parametrize(
    ("change", "cleared"),
    [
        ({"version": "2"}, False),
        ({"annotations": {"volumes": "x"}}, False),
        ({"cordoned": True}, True),
        ({"taints": (("a", "", "NoSchedule"),)}, True),
        ({"labels": {"disk": "ssd"}}, True),
        ({"allocatable": Resources(cpu=16.0)}, True),
    ],
    ids=["heartbeat", "annotation", "cordoned", "taint", "label", "larger"],
)
def test_refusals_are_forgotten_when_a_node_offers_something_else(change: dict[str, Any], cleared: bool) -> None:
    """Thousands of kubelets say every few minutes that they live: that gives nobody room, and nobody is asked again."""
    world = enforcing(node("a"))
    world.cache.refused.add("pod", 2000.0)
    world.cache.news = world.cache.pressing = False
    world.cache.set_nodes([msgspec.structs.replace(world.nodes["a"], **change)])
    assert ("pod" not in world.cache.refused) is cleared
    assert world.cache.pressing is cleared


def test_a_pod_whose_release_came_to_nothing_pauses_longer_each_time() -> None:
    """5 s, 10 s, 20 s … and ten minutes at most; a node that changes ends no pause."""
    paused, now, lengths = Pauses(), 100.0, list[float]()
    for _ in range(8):
        paused.begin("p", now, Vain.UNBOUND)
        lengths.append(paused.next - now)
        now = paused.next
        paused.look(now)
        assert "p" not in paused
    assert lengths == [5, 10, 20, 40, 80, 160, 320, 600]
    assert paused.times("p") == 8
    paused.forget("p")
    assert (len(paused), paused.next) == (0, math.inf)


def test_what_the_api_server_did_not_take_is_tried_again_soon() -> None:
    """It counts by itself: an hour of refused writes does not lengthen the pause of a pod that is not bound."""
    paused = Pauses()
    for at in range(20):
        paused.begin("p", float(at), Vain.UNWRITTEN)
    paused.look(20.0)
    assert paused.next == 23.0
    assert paused.unbound("p") is None
    paused.begin("p", 20.0, Vain.UNBOUND)
    assert paused.next == 25.0


def test_pauses_that_lie_long_back_are_forgotten() -> None:
    """Nobody tells that a pod is bound which left its namespace's management."""
    paused = Pauses()
    paused.begin("p", 0.0, Vain.UNBOUND)
    paused.look(10.0)
    assert (len(paused), paused.active) == (1, False)
    paused.look(700.0)
    assert len(paused) == 0
