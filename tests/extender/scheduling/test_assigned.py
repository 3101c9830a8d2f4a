"""A pod that a batch has placed is answered with its node alone, so that its release needs no nomination."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater_extender.scheduling.nodenames import lot
from support.builders import objects
from support.fakes.extender import World, world

NODES = ("a", "b", "c")


def pod(name: str = "t", **more: Any) -> dict[str, Any]:
    return objects.pod(name, cpu="2", **more)


def placed(on: str = "b", mode: str = "enforce") -> World:
    """Three equal nodes, and a pod that a batch has placed on one of them, released since."""
    made = world(*(objects.node(name, cpu="4") for name in NODES), mode=mode)
    made.show(pod())
    made.post("/v1/place", {"pods": [{"uid": "uid-batch-t", "nodes": [on]}]})
    return made


def answered(made: World, *names: str, name: str = "t") -> list[str]:
    found: list[str] = made.filter(pod(name), *names)["NodeNames"]
    return found


@pytest.mark.parametrize("node", NODES)
def test_a_placed_pod_goes_to_its_node_alone(node: str) -> None:
    """Whichever the others would like better; asked again, the answer is the same."""
    made = placed(on=node)
    assert [answered(made, *NODES) for _ in range(2)] == [[node]] * 2
    assert made.charged(node) == {"uid-batch-t"}


def test_a_node_that_is_not_asked_about_is_given_up() -> None:
    """The scheduler's own filters refuse it, or it looks at some nodes only: the pod is placed among those."""
    made = placed(on="b")
    (node, *_) = answered(made, "a", "c")
    assert node in ("a", "c")
    assert made.charged("b") == set()
    assert set(answered(made, *NODES)) == set(NODES)  # it searches from now on


@pytest.mark.parametrize("change", ["filled by others", "closed", "gone"])
def test_a_node_that_serves_no_longer_is_given_up(change: str) -> None:
    """No room is given twice, and the pod is not bound to wait for it."""
    made = placed(on="b")
    if change == "filled by others":
        made.show(objects.pod("hog", cpu="4", node="b", phase="Running", status=objects.running()))
    elif change == "closed":
        made.nodes(objects.node("b", cpu="4", spec={"unschedulable": True}))
    else:
        made.parts.cache.drop_nodes([made.parts.cache.nodes["b"]])
    assert set(answered(made, *NODES)) == {"a", "c"}
    assert made.charged("b") <= {"uid-batch-hog"}


def test_the_room_of_a_placed_pod_is_nobody_else_s() -> None:
    """Two more find the other nodes, four more fill them, and nobody gets what is left of b twice."""
    made = placed(on="b")
    for number in range(5):
        assert answered(made, *NODES, name=f"other-{number}")
    assert answered(made, *NODES, name="one-too-many") == []
    assert answered(made, *NODES) == ["b"]


@pytest.mark.parametrize("how", ["taken back", "lapsed", "forgotten by a restart"])
def test_without_its_reservation_a_pod_searches_like_any_other(how: str) -> None:
    """Nothing else remembers where it was to go."""
    made = placed(on="b")
    if how == "taken back":
        made.post("/v1/unreserve", {"uids": ["uid-batch-t"]})
    elif how == "lapsed":
        made.clock.now += 10_000
        made.parts.tick()
    else:
        made = world(*(objects.node(name, cpu="4") for name in NODES))
        made.show(pod())
    assert set(answered(made, *NODES)) == set(NODES)


@pytest.mark.parametrize("mode", ["observe", "score"])
def test_modes_that_refuse_nobody_leave_all_nodes(mode: str) -> None:
    """They narrow no choice."""
    assert set(answered(placed(mode=mode), *NODES)) == set(NODES)


def test_a_name_is_found_among_many_without_reading_them() -> None:
    """Whole names only."""
    names = lot(b'["' + b'","'.join(b"node-%d" % number for number in range(200)) + b'"]')
    assert names is not None
    assert "node-19" in names
    assert not any(other in names for other in ("node-200", "ode-19", "node-1,", "", 7))
