"""The extender's answers about pods and nodes, checked in one place before anybody reads them.

What pages and commands read of an answer must be there, of its type and of a size that can be shown; otherwise the
answer counts as none, and the sentence says what is wrong with it. What they do not read passes as it is.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ExtenderClient
from slackwater_cluster.api.paths import joined
from slackwater_cluster.api.unreadable import UNREADABLE

LARGEST = 1e18  # above every amount of bytes in a cluster; also keeps out what is no number

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Text = Annotated[str, Meta(max_length=4096)]
Amounts = Annotated[dict[Text, Number], Meta(max_length=256)]
Counts = Annotated[dict[Text, Count], Meta(max_length=256)]


class BestNode(msgspec.Struct):
    """A node that would serve a pod."""

    node: Text
    score: Number | None


class Findings(msgspec.Struct):
    """What every node says to a pod now."""

    fitting: Count
    nodes: Count
    counts: Counts
    best: Annotated[list[BestNode], Meta(max_length=1000)]
    out_of_reach: Counts | None = None


class PastDecision(msgspec.Struct):
    """One of the last decisions about a pod."""

    verb: Text
    result: Text
    node: Text | None
    reason: Text | None
    own: Text | None = ""


class PodAnswer(msgspec.Struct):
    """GET /v1/explain."""

    sentence: Text
    app: Text = ""
    declared: Amounts | None = None
    native: Amounts | None = None
    charged_on: Text = ""
    refusal: Text | None = ""
    now: Findings | None = None
    decisions: Annotated[list[PastDecision], Meta(max_length=1000)] | None = None


class Promise(msgspec.Struct):
    """What a stated risk keeps back."""

    asked: Number
    factor: Number | None = None
    peak: Number = 0.0
    centre: Number = 0.0
    spread: Number = 0.0
    least: Number = 0.0
    realised: Number = 0.0
    compared: Number = 0.0


class ResourceLine(msgspec.Struct):
    """The arithmetic of one kind of resource on a node."""

    room: Number
    allowed: Number
    real: Number
    estimate: Number
    drivers: Number
    used: Number
    learned: Number
    residual: Number
    reserved: Number
    declared: Number
    stale: bool
    known: Number = 0.0
    allocatable: Number = 0.0
    largest: Number = 0.0
    margin: Number = 0.0
    promise: Promise | None = None
    capacity: Number = 0.0
    native: Number = 0.0
    requested: Number = 0.0
    bound: Number | None = None
    crowded: bool = False
    uncovered: Number | None = None
    extra: Number = 0.0
    arithmetic: Text = ""  # the extender's own sentence, for one that does not say all of the above


class ChargedPod(msgspec.Struct):
    """A pod that is charged on a node."""

    uid: Text
    pod: Text
    role: Text
    state: Text
    declared: Amounts
    app: Text = ""


class NodeAnswer(msgspec.Struct):
    """GET /v1/nodes/NAME."""

    name: Text
    open: bool
    resources: Annotated[dict[Text, ResourceLine], Meta(max_length=256)]
    pods: Annotated[list[ChargedPod], Meta(max_length=10_000)]


class NodesAnswer(msgspec.Struct):
    """GET /v1/nodes; a node that cannot be read costs itself only (`decoding.read`)."""

    nodes: Annotated[list[Any], Meta(max_length=1_000_000)]


def about_pod(extender: ExtenderClient, namespace: str, name: str) -> dict[str, Any]:
    """What the extender says of a pod."""
    return checked(extender.explain(namespace, name), PodAnswer, f"pod {namespace}/{name}")


def about_node(extender: ExtenderClient, name: str) -> dict[str, Any]:
    """A node's arithmetic by resource, and its pods."""
    return checked(extender.get(joined("v1", "nodes", name)), NodeAnswer, f"node {name}")


def about_nodes(extender: ExtenderClient) -> list[Any]:
    """Every node in short, each as it was sent."""
    found: list[Any] = checked(extender.get("/v1/nodes"), NodesAnswer, "its nodes")["nodes"]
    return found


def checked(answer: Any, shape: type[Any], what: str) -> dict[str, Any]:
    """The answer, if all that is read of it is what it should be."""
    try:
        msgspec.convert(answer, shape)
    except UNREADABLE as problem:
        raise Unavailable(f"the extender's answer about {what} cannot be read: {str(problem)[:200]}") from problem
    found: dict[str, Any] = answer
    return found
