"""What operator and extender say to each other: versions that are not the same understand each other."""

from __future__ import annotations

import msgspec
import pytest

from slackwater_cluster.extenderapi import PlaceItem, PlaceReply, PlaceRequest, ReserveRequest, RoomsReply, UsageReply

# As operators wrote it before: every field of a pod but for lists that are empty.
EARLIER = b"""{"pods": [{"uid": "p", "group": "etl|map", "urgency": 2.0, "alignment": 0.0, "submitted": 17.5, "rank": 1,
"selection": "0", "avoid": ["b"]}], "selections": {"0": ["a", "b"]}, "cold": false, "alpha": 0.0}"""
ROOMS = b"""{"kinds": ["cpu"], "ceiling": [2], "names": ["a"], "open": [true], "stale": [false], "total": [[8]],
"room": [[7.5]], "native": [[4]], "requested": [[1]], "reserved": [], "instance": "x", "new in a later one": 1}"""


def test_a_batch_of_an_earlier_operator_is_read() -> None:
    """Operator and extender are renewed one after the other."""
    found = msgspec.json.decode(EARLIER, type=PlaceRequest)
    pod = PlaceItem("p", "etl|map", 2.0, 0.0, 17.5, 1, "0", None, ["b"])
    assert found == PlaceRequest([pod], selections={"0": ["a", "b"]})


def test_what_has_its_default_is_not_sent() -> None:
    """An extender that does not know a field refuses it: only who uses it needs a new one."""
    assert msgspec.json.encode(PlaceRequest([PlaceItem("p", rank=2)])) == b'{"pods":[{"uid":"p","rank":2}]}'


@pytest.mark.parametrize("body", [b'{"pods": [{"uid": "p", "nods": []}]}', b'{"pods": [], "hot": true}'])
def test_a_wish_that_is_not_known_is_refused(body: bytes) -> None:
    """It would be passed over in silence."""
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(body, type=PlaceRequest)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=ReserveRequest)


def test_answers_may_grow_fields() -> None:
    """An extender may be newer than the operator that asks it."""
    assert msgspec.json.decode(ROOMS, type=RoomsReply).room == [[7.5]]


def test_answers_of_earlier_extenders_may_lack_what_came_later() -> None:
    """The room that refused pods wait for, and what nodes are charged."""
    refused = b'{"placed": [], "refused": [{"uid": "p", "reason": "no room", "counts": {"no room": 3}}]}'
    assert msgspec.json.decode(refused, type=PlaceReply).refused[0].needs == {}
    usage = b'{"pods": {}, "nodes": {"n": {"used": {"cpu": 1}, "measured": 5, "stale": true}}}'
    nodes = msgspec.json.decode(usage, type=UsageReply).nodes
    assert nodes is not None
    assert (nodes["n"].used, nodes["n"].charged, nodes["n"].drivers) == ({"cpu": 1.0}, {}, {})
