"""What operator and extender say to each other over HTTP: each body once, encoded by the one and decoded by the other.

Requests with a field that is not known are refused, so that no wish is passed over in silence; what has its default is
not sent, so that an extender of an earlier version reads it. Answers may grow fields.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Amounts = dict[str, float]  # by kind
Matrix = list[list[float]]  # node × kind


class PlaceItem(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
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
    spare: list[str] | None = None  # … but for these of them, where no other has the memory that its app came to use


class PlaceRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
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
    needs: Amounts = {}  # the room that it waits for, where that is more than it declares


class PlaceReply(msgspec.Struct):
    """Answer of POST /v1/place. `placed` stands in the order in which the pods should be released."""

    placed: list[Placed]
    refused: list[Refusing]


class ReserveItem(msgspec.Struct, forbid_unknown_fields=True):
    """A pod that is released without a node of ours, and what it declares."""

    uid: str
    declared: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = {}
    growth: bool = False  # towards nodes that do not exist yet: it takes nothing of those that do


class ReserveRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /v1/reserve."""

    pods: list[ReserveItem]


class ReserveReply(msgspec.Struct):
    """Answer of POST /v1/reserve: those that are not bound already."""

    reserved: list[str]


class UnreserveRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /v1/unreserve."""

    uids: list[str]


class UnreserveReply(msgspec.Struct):
    """Answer of POST /v1/unreserve: those that had a reservation."""

    unreserved: list[str]


class ReservedPod(msgspec.Struct):
    """A pod on its way without a node: it counts in no node's room."""

    uid: str
    namespace: str
    declared: Amounts


class RoomsReply(msgspec.Struct):
    """Answer of GET /v1/rooms: every node's room as arrays, in the order of `names` and `kinds`."""

    kinds: tuple[str, ...]
    ceiling: tuple[float, ...]  # how far each kind may be overcommitted at most
    names: tuple[str, ...]
    open: list[bool]
    total: Matrix
    room: Matrix
    native: Matrix
    requested: Matrix
    reserved: list[ReservedPod]
    stale: list[bool] = []
    instance: str = ""  # whose ledger it is

    def __post_init__(self) -> None:
        if len(self.ceiling) != len(self.kinds) or len(self.open) != len(self.names):
            raise ValueError("not one ceiling for each kind, or one word for each node")
        for matrix in (self.total, self.room, self.native, self.requested):
            if len(matrix) != len(self.names) or any(len(row) != len(self.kinds) for row in matrix):
                raise ValueError("not one number for each node and kind")


class WokenPod(msgspec.Struct):
    """There is room for a refused pod now."""

    number: int
    uid: str
    namespace: str
    pod: str
    nodes: int  # how many would serve it


class WakeupsReply(msgspec.Struct):
    """Answer of GET /v1/wakeups; ask on with `next`."""

    next: int
    pods: list[WokenPod]
    waiting: int = 0


class FreedReply(msgspec.Struct):
    """Answer of GET /v1/freed: the number of the last moment at which room may have grown."""

    next: int


class NodeUsage(msgspec.Struct):
    """What everything on a node uses, when that was measured (Unix seconds), and whether any of it is too long ago."""

    measured: float
    stale: bool
    used: Amounts
    charged: Amounts = {}  # what the ledger charges everything on it
    drivers: Amounts = {}  # … and the drivers among it


class UsageReply(msgspec.Struct, omit_defaults=True):
    """Answer of GET /v1/usage: managed pods by uid; nodes by name, where asked for."""

    pods: dict[str, Amounts]
    nodes: dict[str, NodeUsage] | None = None
