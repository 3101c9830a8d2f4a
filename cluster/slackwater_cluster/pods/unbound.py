"""Pods without a node, page by page: what is kept of each is little, and what a page may take is bounded.

The watchdog and the hook before uninstall read so. Their memory depends neither on how many pods are held nor on how
large their authors made them: a page larger than `LARGEST` is not read to its end, but asked for with fewer pods.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TypeVar

import msgspec

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session, TooLarge
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.pods.gate import MARKS

WAITING = "spec.nodeName=,status.phase=Pending"
PAGE = 100  # pods; small ones take a few hundred kilobytes
FEWER = 4  # a page that was too large is asked for with so many times fewer pods
# Bytes of a page. One pod always fits: an API server takes 3 MiB at most, and writes some characters as six.
LARGEST = 20 * 2**20
EXPIRED = 410

Shape = TypeVar("Shape")


class UnboundPod(msgspec.Struct, frozen=True, order=True):
    """A pod that waits. Sorted by age."""

    created: str
    namespace: str
    name: str
    uid: str
    scheduler: str
    gates: tuple[str, ...]  # ours, if it is there
    marks: tuple[str, ...]  # those of our marks that it carries

    @property
    def held(self) -> bool:
        """Whether our gate or a mark of ours keeps it from being bound."""
        return bool(self.gates) or names.PARKED in self.marks


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    uid: str
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: dict[str, msgspec.Raw] | None = None


class _Gate(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    scheduler_name: str = ""
    scheduling_gates: list[_Gate] | None = None


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _ListMeta(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _PodPage(msgspec.Struct):
    metadata: _ListMeta
    items: list[_Pod] | None


class _TooOld(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


async def unbound(session: Session, *, seconds: float | None = None) -> AsyncIterator[list[UnboundPod]]:
    """All pods that wait for a node and are not being deleted, page by page; `seconds` for each answer."""
    params = {"fieldSelector": WAITING, "limit": str(PAGE)}
    while True:
        page = await _page(session, params, seconds)
        yield [_kept(pod) for pod in page.items or () if not pod.metadata.deletion_timestamp]
        if not page.metadata.continue_:
            return
        params["continue"] = page.metadata.continue_


async def _page(session: Session, params: dict[str, str], seconds: float | None) -> _PodPage:
    """The next page. The number of pods that fits stays in `params`."""
    while True:
        try:
            answer = await session.get(api_path("pods"), params, seconds=seconds, most=LARGEST)
        except TooLarge:
            if params["limit"] == "1":
                raise
            params["limit"] = str(max(1, int(params["limit"]) // FEWER))
            continue
        if not _goes_on(answer, params):
            return _read(answer)


def _goes_on(answer: Answer, params: dict[str, str]) -> bool:
    """Whether the list got too old while its pages were read: the API server says how to go on with a newer one."""
    if answer.status != EXPIRED:
        return False
    token = _decoded(answer, _TooOld).metadata.continue_
    if not token or token == params.get("continue"):
        return False
    params["continue"] = token
    return True


def _read(answer: Answer) -> _PodPage:
    if not answer.ok:
        raise Unavailable(f"cannot list pods: {answer.message()}")
    return _decoded(answer, _PodPage)


def _decoded(answer: Answer, shape: type[Shape]) -> Shape:
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except UNREADABLE as problem:
        raise Unavailable(f"API server: no list of pods: {problem}") from problem


def _kept(pod: _Pod) -> UnboundPod:
    meta, spec = pod.metadata, pod.spec
    annotations: Mapping[str, object] = meta.annotations or {}
    return UnboundPod(
        created=meta.creation_timestamp or "",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        scheduler=spec.scheduler_name,
        gates=tuple({gate.name for gate in spec.scheduling_gates or ()} & {names.GATE}),
        marks=tuple(mark for mark in MARKS if mark in annotations),
    )
