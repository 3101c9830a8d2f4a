"""Bodies of /v1/place, /v1/reserve and /v1/unreserve: how they are read and written."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slackwater.errors import InvalidInput


class PlaceItem(msgspec.Struct, forbid_unknown_fields=True):
    """One pod of a batch. What orders it (paper 001) comes from the operator, its amounts from the watch."""

    uid: str
    group: str = ""
    urgency: float = 0.0
    alignment: float = 0.0
    submitted: float = 0.0
    rank: int = 0  # pods of a lower rank are placed first; HaSTE orders those of one rank
    selection: str = ""  # only the nodes of this one of the batch's selections, where given
    nodes: list[str] | None = None  # only these, where given
    avoid: list[str] | None = None  # not these …
    spare: list[str] | None = None  # … but for these of them, where no other has the memory that its likes came to use


class PlaceRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /v1/place."""

    pods: list[PlaceItem]
    cold: bool = False  # pack by knapsack where the batch is small enough (ITA)
    alpha: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # HaSTE-A's factor
    selections: dict[str, list[str]] = {}  # nodes that many pods of the batch may use, by the name they give

    def __post_init__(self) -> None:
        unknown = {each.selection for each in self.pods if each.selection} - self.selections.keys()
        if unknown:
            raise ValueError(f"selection {min(unknown)!r} is not among the selections")


class Placed(msgspec.Struct):
    """A pod and its node."""

    uid: str
    node: str


class Refusing(msgspec.Struct):
    """A pod without a node, the commonest reason, and how many nodes gave each."""

    uid: str
    reason: str
    counts: dict[str, int] = {}
    needs: dict[str, float] = {}  # the room that it waits for, where that is more than it declares


class PlaceReply(msgspec.Struct):
    """Answer of POST /v1/place. `placed` stands in the order in which the pods should be released."""

    placed: list[Placed] = []
    refused: list[Refusing] = []


class ReserveItem(msgspec.Struct, forbid_unknown_fields=True):
    """A pod that is released without a node of ours, and what it declares."""

    uid: str
    declared: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = {}
    growth: bool = False  # towards nodes that do not exist yet: it takes nothing of those that do


class ReserveRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /v1/reserve."""

    pods: list[ReserveItem]


class UnreserveRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /v1/unreserve."""

    uids: list[str]


_REQUESTS = msgspec.json.Decoder(PlaceRequest)


def read(body: bytes) -> PlaceRequest:
    """Decode a request, or say what is wrong with it."""
    try:
        return _REQUESTS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InvalidInput("body", str(problem), 'send {"pods": [{"uid": "…"}, …]}') from problem


def read_reserve(body: bytes) -> ReserveRequest:
    """Decode a request to reserve, or say what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=ReserveRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        instead = 'send {"pods": [{"uid": "…", "declared": {"cpu": 1}}, …]}'
        raise InvalidInput("body", str(problem), instead) from problem


def read_uids(body: bytes) -> list[str]:
    """Decode the body of /v1/unreserve."""
    try:
        return msgspec.json.decode(body, type=UnreserveRequest).uids
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InvalidInput("body", str(problem), 'send {"uids": ["…"]}') from problem


def write(reply: PlaceReply) -> bytes:
    """Encode a reply."""
    return msgspec.json.encode(reply)
