"""What is on its way has one owner: reservations with amounts, with a node or without, that never give room twice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.extenderapi import RoomsReply
from slackwater_operator.cache.rooms import Rooms
from support.builders import objects
from support.fakes.extender import World, node_record, world

GATE = [{"name": names.GATE}]


def waiting(name: str, cpu: str = "4", **more: Any) -> dict[str, Any]:
    """A pod that has no node yet."""
    return objects.pod(name, cpu=cpu, memory="1Gi", **more)


def gated(name: str, **more: Any) -> dict[str, Any]:
    """The same behind our gate."""
    made = waiting(name, **more)
    made["spec"]["schedulingGates"] = GATE
    return made


def one() -> World:
    """A measured node of 14 cores with nothing on it."""
    made = world(objects.node("n", cpu="14"))
    made.sample({"n": (0.0, 0.0)})
    return made


def rooms(made: World) -> Rooms:
    """What the operator's rounds read."""
    return Rooms.read(msgspec.convert(made.get("/v1/rooms"), RoomsReply))


def free(made: World) -> float:
    """Cores that may still be given out: those of the node, less what is on its way without a node."""
    found = rooms(made)
    return float(found.table.room[0, 0] - found.reserved.get("batch", Resources())["cpu"])


def reserve(made: World, name: str, **more: Any) -> Any:
    """Ask for a reservation without a node."""
    return made.post("/v1/reserve", {"pods": [{"uid": f"uid-batch-{name}", **more}]})["reserved"]


def test_a_pod_counts_once_on_all_its_way() -> None:
    """Held, reserved, un-gated, bound, ended: its cores are taken from the reservation to the end, and never twice."""
    made = one()
    made.show(gated("p"))
    assert free(made) == 14.0
    assert reserve(made, "p") == ["uid-batch-p"]
    assert free(made) == 10.0
    made.show(waiting("p"))
    assert free(made) == 10.0
    made.show(waiting("p", node="n"))
    assert rooms(made).reserved == {}
    assert free(made) == 10.0
    made.gone(waiting("p", node="n"))
    assert free(made) == 14.0


def test_a_pod_not_seen_yet_counts_by_the_amounts_given() -> None:
    """The operator's watch may be ahead; when the pod is seen bound its own request counts."""
    made = one()
    assert reserve(made, "p", declared={"cpu": 4.0, "memory": 2.0**30}) == ["uid-batch-p"]
    assert made.get("/v1/capacity")["reserved"] == {"cpu": 4.0, "memory": 2.0**30}
    made.show(waiting("p", node="n"))
    assert made.get("/v1/capacity")["reserved"] == {"cpu": 0.0, "memory": 0.0}
    assert free(made) == 10.0


def test_a_bound_pod_is_not_reserved() -> None:
    """The operator's watch may be behind: room is not taken twice either."""
    made = one()
    made.show(waiting("p", node="n"))
    assert reserve(made, "p") == []
    assert free(made) == 10.0


def test_towards_nodes_to_come_nothing_is_taken_of_those_that_are() -> None:
    """The guard lets the pod pass, and others keep their room."""
    made = one()
    made.show(gated("p"))
    assert reserve(made, "p", growth=True) == ["uid-batch-p"]
    assert made.parts.cache.live("uid-batch-p")
    assert free(made) == 14.0
    made.show(waiting("p"))
    assert free(made) == 14.0


def test_a_growth_pod_that_finds_no_node_goes_on_to_wait_for_one_that_does_not_exist_yet() -> None:
    """It is asked about whenever a node may have come; a refusal does not make it take room of those that are."""
    made = one()
    made.show(gated("p", cpu="20"))
    reserve(made, "p", growth=True)
    made.show(waiting("p", cpu="20"))
    assert made.post("/v1/place", {"pods": [{"uid": "uid-batch-p"}]})["placed"] == []
    assert free(made) == 14.0


def test_a_place_that_is_asked_for_again_is_kept_from_then_on() -> None:
    """Its node is full, of which the pod's own room is part; so a gang that is written for long keeps its places."""
    made = one()
    pods = [{"uid": f"uid-batch-{name}", "nodes": ["n"]} for name in ("p", "q")]
    made.show(gated("p", cpu="7"), gated("q", cpu="7"))
    for _ in range(4):
        assert {each["node"] for each in made.post("/v1/place", {"pods": pods})["placed"]} == {"n"}
        assert made.charged("n") == {"uid-batch-p", "uid-batch-q"}
        made.clock.now += 45
        made.parts.tick()
        assert made.charged("n") == {"uid-batch-p", "uid-batch-q"}
    made.clock.now += 31
    made.parts.tick()
    assert made.charged("n") == set()


def test_reservations_lapse() -> None:
    """A release that never came true gives its room back after 75 s."""
    made = one()
    made.show(gated("p"))
    reserve(made, "p")
    made.clock.now += 74
    made.parts.tick()
    assert made.parts.cache.live("uid-batch-p")
    made.clock.now += 2
    made.parts.tick()
    assert not made.parts.cache.live("uid-batch-p")


def test_a_lapsed_reservation_does_not_come_back_with_every_event() -> None:
    """A pod that found no node goes on to be shown; what it holds is not renewed by that."""
    made = one()
    made.show(waiting("p"))
    assert free(made) == 10.0
    made.clock.now += 80
    made.parts.tick()
    made.show(waiting("p", labels={"touched": "yes"}))
    assert not made.parts.cache.live("uid-batch-p")


@pytest.mark.parametrize("nominated", ["n", ""])
def test_an_extender_that_starts_anew_knows_what_is_on_its_way(nominated: str) -> None:
    """By the pods: with the node they are nominated to, or without one; held and parked ones are not on their way."""
    released = waiting("p")
    released["status"] = {"phase": "Pending", **({"nominatedNodeName": nominated} if nominated else {})}
    made = one()
    made.show(released, gated("held"), waiting("parked", annotations={names.PARKED: "2026-01-01T00:00:00Z"}))
    assert set(made.parts.cache.ledger.reservations()) == {"uid-batch-p"}
    assert free(made) == 10.0
    assert made.charged("n") == ({"uid-batch-p"} if nominated else set())


def test_an_operator_that_starts_anew_reads_what_its_forerunner_reserved() -> None:
    """The amounts are in the rooms, by namespace: nobody has to remember them."""
    made = one()
    made.show(gated("p"), gated("q"))
    reserve(made, "p")
    reserve(made, "q")
    assert rooms(made).reserved == {"batch": Resources(cpu=8.0, memory=2 * 2.0**30)}


def test_a_place_that_is_refused_keeps_what_was_reserved() -> None:
    """A released pod for which no other node is found goes on to look by itself, and goes on to count."""
    made = one()
    made.show(waiting("p"))
    answer = made.post("/v1/place", {"pods": [{"uid": "uid-batch-p", "avoid": ["n"]}]})
    assert answer["placed"] == []
    assert free(made) == 10.0


def test_a_refused_node_leaves_the_pod_reserved_without_one() -> None:
    """The nominated node filled up meanwhile: its room is given back, the pod still counts."""
    made = one()
    made.show(waiting("p"))
    made.post("/v1/place", {"pods": [{"uid": "uid-batch-p"}]})
    assert made.charged("n") == {"uid-batch-p"}
    made.show(objects.pod("other", cpu="12", memory="1Gi", node="n"))
    assert made.filter(waiting("p"), "n")["NodeNames"] == []
    assert made.charged("n") == {"uid-batch-other"}
    assert rooms(made).reserved["batch"]["cpu"] == 4.0


def test_other_terms_carry_reservations_over() -> None:
    """A policy that changes makes a new ledger; what is on its way stays, for as long as it had left."""
    made = one()
    made.show(gated("p"), waiting("q"))
    reserve(made, "p")
    before = made.parts.cache.ledger.reservations()
    made.policy(mode="enforce", estimation={"allowance": 0.75})
    assert made.parts.cache.ledger.reservations() == before
    assert rooms(made).reserved["batch"]["cpu"] == 8.0


@pytest.mark.parametrize("joins", [False, True], ids=["other terms", "a node with a new kind"])
def test_a_new_ledger_reserves_what_the_old_one_did(joins: bool) -> None:
    """Growth pods take nothing, a pod not seen yet what was given, and others what they ask for, of new kinds too."""
    made = one()
    waits = gated("waits")
    waits["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "2"
    made.show(gated("grows"), waits)
    reserve(made, "grows", growth=True)
    reserve(made, "waits")
    reserve(made, "unseen", declared={"cpu": 2.0})
    if joins:
        made.nodes(objects.node("m", more={"nvidia.com/gpu": "4"}))
    else:
        made.policy(mode="enforce", estimation={"allowance": 0.75})
    gpus = {"nvidia.com/gpu": 2.0} if joins else {}
    assert made.get("/v1/capacity")["reserved"] == {"cpu": 6.0, "memory": 2.0**30, **gpus}
    assert set(made.parts.cache.ledger.reservations()) == {f"uid-batch-{name}" for name in ("grows", "waits", "unseen")}


def test_nothing_is_kept_of_namespaces_and_nodes_that_are_gone() -> None:
    """Clusters make thousands of both in a week."""
    made = world()
    cache = made.parts.cache
    for number in range(3):
        node = objects.node(f"n{number}")
        alien: dict[str, Any] = {"scheduler": "default-scheduler", "phase": "Running", "status": objects.running()}
        pod = waiting("p", namespace=f"ci-{number}", node=f"n{number}", **alien)
        made.nodes(node)
        made.show(pod)
        assert list(cache.strangers(f"n{number}")) == [f"uid-ci-{number}-p"]
        made.gone(pod)
        cache.drop_nodes([node_record(node)])
    assert (cache._strangers, cache._names) == ({}, {})


def nominated(name: str, node: str, **more: Any) -> dict[str, Any]:
    """A pod of a namespace that is not ours, for which another scheduler clears a node."""
    made = waiting(name, namespace="others", scheduler="default-scheduler", **more)
    made["status"] = {"phase": "Pending", "nominatedNodeName": node}
    return made


def test_a_node_that_is_cleared_for_somebody_else_s_pod_is_not_given_away() -> None:
    """Pods that it preempted leave one by one: what the first leaves is the preemptor's, until it is bound or gone."""
    made = one()
    made.show(nominated("first", "n"))
    assert free(made) == 10.0
    made.show(nominated("first", ""))
    assert free(made) == 14.0
    made.show(nominated("first", "n"))
    made.show(waiting("first", node="n", namespace="others", scheduler="default-scheduler"))
    assert free(made) == 10.0
    made.gone(waiting("first", node="n", namespace="others", scheduler="default-scheduler"))
    made.show(nominated("second", "n"))
    assert free(made) == 10.0
    made.gone(nominated("second", "n"))
    assert free(made) == 14.0


def test_a_pod_behind_somebody_else_s_gate_keeps_no_room() -> None:
    """It may wait for ever."""
    made = one()
    held = nominated("first", "n")
    held["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    made.show(held)
    assert free(made) == 14.0
