"""What kube-scheduler sends and must get back, byte for byte.

Its structs have no JSON tags: keys are the Go names in CamelCase, always present, null when unset; the pod inside is an
ordinary one in lowerCamel. Scores must be JSON integers: one float, and Go drops the whole list without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import orjson

from slackwater.errors import InvalidInput
from slackwater.placement.score import TOP
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.objects.wire import Pod
from slackwater_extender.scheduling.evaluate import Scores
from slackwater_extender.scheduling.nodenames import NodeNameList, lot

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Identity(msgspec.Struct, rename="camel", gc=False):
    """Of an object's metadata what says which one it is, and in which state."""

    name: str = ""
    namespace: str | None = ""
    uid: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: Identity = msgspec.field(default_factory=Identity)


class NodeList(msgspec.Struct):
    """Whole nodes, sent where nodeCacheCapable is false. They are kept as bytes: what is returned must be whole too."""

    items: list[msgspec.Raw] | None = None

    def by_name(self) -> dict[str, msgspec.Raw]:
        """Each node's bytes by its name."""
        return {each.metadata.name: item for item in self.items or () if (each := _NAMED.decode(item))}


class Args(msgspec.Struct):
    """ExtenderArgs of filter and prioritize."""

    # Read later, and only if its version is not known: most pods asked about were seen by the watch.
    pod: msgspec.Raw = msgspec.field(name="Pod", default=msgspec.Raw(b"null"))
    nodes: NodeList | None = msgspec.field(name="Nodes", default=None)
    node_names: msgspec.Raw = msgspec.field(name="NodeNames", default=msgspec.Raw(b"null"))


@dataclass(frozen=True, slots=True)
class Question:
    """One pod, the names of the nodes asked about, and their bytes where whole nodes were sent."""

    meta: Identity  # of the pod
    raw: msgspec.Raw  # all of it
    names: Sequence[str]
    whole: Mapping[str, msgspec.Raw] | None = None

    @property
    def pod(self) -> Pod:
        """The pod, decoded."""
        try:
            return _PODS.decode(self.raw)
        except UNREADABLE as problem:
            raise _unreadable(problem) from problem


_PODS = msgspec.json.Decoder(Pod)
_NAMED = msgspec.json.Decoder(_Named | None)
_ARGS = msgspec.json.Decoder(Args)
_NAMES = msgspec.json.Decoder(list[str] | None)


def read(body: bytes) -> Question:
    """Decode a request. Anything that is no ExtenderArgs with a pod is refused in one sentence."""
    try:
        args = _ARGS.decode(body)
        text = bytes(args.node_names)
        names = lot(text) or _NAMES.decode(text)
        whole = args.nodes.by_name() if args.nodes is not None and names is None else None
        named = _NAMED.decode(args.pod)
    except UNREADABLE as problem:
        raise _unreadable(problem) from problem
    if named is None or not named.metadata.name:
        raise InvalidInput("Pod", "missing or without a name", "send what kube-scheduler sends")
    return Question(named.metadata, args.pod, list(whole) if whole is not None else names or [], whole)


def _unreadable(problem: Exception) -> InvalidInput:
    return InvalidInput("body", f"not an ExtenderArgs: {problem}", "send what kube-scheduler sends")


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
            "NodeNames": None if whole is not None else _written(names),
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": unresolvable,
            "Error": "",
        }
    )


def _written(names: Sequence[str]) -> object:
    """Names for orjson; a lot goes back as it came."""
    return orjson.Fragment(names.text) if isinstance(names, NodeNameList) else names


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


class Priorities:
    """The same for nodes that are known, put together from pieces that were written once.

    Each node's piece is a row of bytes, all of one width, with two places for the digits of its score; what a shorter
    name leaves over is zero, and goes before the list is sent.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._pieces = np.empty((0, 0), np.uint8)
        self._digits = np.array([[0 if score < 10 else 49, 48 + score % 10] for score in range(TOP + 1)], np.uint8)

    def written(self, scores: Scores) -> bytes:
        """The list for these scores."""
        if scores.rows is None:
            return prioritised(scores.names, scores.points.tolist())
        return self._of_rows(scores.everyone, scores.rows, scores.points)

    def _of_rows(self, names: tuple[str, ...], rows: NDArray[np.intp], points: NDArray[np.int16]) -> bytes:
        """Scores of some rows; `names` are those of all rows, the same object while no node comes or goes."""
        if names is not self._names:
            self._learn(names)
        made = self._pieces.take(rows, axis=0)
        made[:, -4:-2] = self._digits.take(points, axis=0)
        return b"[%s]" % made.tobytes().replace(b"\0", b"")[:-1]

    def _learn(self, names: tuple[str, ...]) -> None:
        heads = [b'{"Host":%s,"Score":' % orjson.dumps(name) for name in names]
        width = max(map(len, heads), default=0)
        text = b"".join([head.ljust(width, b"\0") + b"\0\0}," for head in heads])
        self._pieces = np.frombuffer(text, np.uint8).reshape(len(names), width + 4)
        self._names = names


def flat(question: Question) -> bytes:
    """No preference: every node gets 0."""
    return prioritised(question.names, [0] * len(question.names))
