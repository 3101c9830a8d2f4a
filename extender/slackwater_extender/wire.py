"""What kube-scheduler sends and must get back, byte for byte.

Its structs have no JSON tags: keys are the Go names in CamelCase, always present, null when unset; the pod inside is an
ordinary one in lowerCamel. Scores must be JSON integers: one float, and Go drops the whole list without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import orjson

from slackwater.errors import InvalidInput
from slackwater_cluster.shapes import Bare, Pod


class NodeList(msgspec.Struct):
    """Whole nodes, sent where nodeCacheCapable is false. They are kept as bytes: what is returned must be whole too."""

    items: list[msgspec.Raw] | None = None

    def by_name(self) -> dict[str, msgspec.Raw]:
        """Each node's bytes by its name."""
        return {_BARE.decode(item).metadata.name: item for item in self.items or ()}


class Args(msgspec.Struct):
    """ExtenderArgs of filter and prioritize."""

    pod: Pod | None = msgspec.field(name="Pod", default=None)
    nodes: NodeList | None = msgspec.field(name="Nodes", default=None)
    node_names: list[str] | None = msgspec.field(name="NodeNames", default=None)


@dataclass(frozen=True, slots=True)
class Question:
    """One pod, the names of the nodes asked about, and their bytes where whole nodes were sent."""

    pod: Pod
    names: Sequence[str]
    whole: Mapping[str, msgspec.Raw] | None = None


_BARE = msgspec.json.Decoder(Bare)
_ARGS = msgspec.json.Decoder(Args)


def read(body: bytes) -> Question:
    """Decode a request. Anything that is no ExtenderArgs with a pod is refused in one sentence."""
    try:
        args = _ARGS.decode(body)
        whole = args.nodes.by_name() if args.nodes is not None and args.node_names is None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InvalidInput("body", f"not an ExtenderArgs: {problem}", "send what kube-scheduler sends") from problem
    if args.pod is None or not args.pod.metadata.name:
        raise InvalidInput("Pod", "missing or without a name", "send what kube-scheduler sends")
    return Question(args.pod, list(whole) if whole is not None else args.node_names or [], whole)


def filtered(
    question: Question, names: Sequence[str], failed: Mapping[str, str], unresolvable: Mapping[str, str]
) -> bytes:
    """ExtenderFilterResult: names where names were sent, whole nodes where whole nodes were sent."""
    whole = question.whole
    nodes = None
    if whole is not None:
        nodes = {"metadata": {}, "items": [orjson.Fragment(bytes(whole[name])) for name in names]}
    return orjson.dumps(
        {
            "Nodes": nodes,
            "NodeNames": names if whole is None else None,
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": unresolvable,
            "Error": "",
        }
    )


def failed(error: str) -> bytes:
    """A filter that could not decide: the pod is tried again later, nothing is placed."""
    return orjson.dumps(
        {"Nodes": None, "NodeNames": None, "FailedNodes": {}, "FailedAndUnresolvableNodes": {}, "Error": error}
    )


class HostPriority(msgspec.Struct, gc=False):
    """One node's score. Made by the thousand, so a struct: half the time of a dict."""

    host: str = msgspec.field(name="Host")
    score: int = msgspec.field(name="Score")


def prioritised(names: Iterable[str], points: Iterable[int]) -> bytes:
    """HostPriorityList: a bare array."""
    return msgspec.json.encode(list(map(HostPriority, names, points)))


def flat(question: Question) -> bytes:
    """No preference: every node gets 0."""
    return prioritised(question.names, [0] * len(question.names))
