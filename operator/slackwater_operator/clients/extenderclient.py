"""The extender's side of a release: room of the queues' nodes, and a node for each pod. Plain HTTP, one session."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

import aiohttp
import msgspec

from slackwater.cycle.cycle import Release
from slackwater.errors import Unavailable
from slackwater.resources import NOTHING, Resources
from slackwater_cluster import names
from slackwater_cluster.api.authority import RenewedContext
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.extenderapi import (
    FreedReply,
    NodeUsage,
    PlaceItem,
    PlaceReply,
    PlaceRequest,
    ReserveItem,
    ReserveReply,
    ReserveRequest,
    RoomsReply,
    UnreserveReply,
    UnreserveRequest,
    UsageReply,
    WakeupsReply,
)
from slackwater_operator.cache.rooms import Rooms

WAIT = 2  # seconds to wait for room to come free; an extender that is told to stop waits no longer for us

Answer = TypeVar("Answer", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class PlacementWish:
    """A pod that wants a node, and which nodes it may or may not get."""

    uid: str
    group: str = ""
    urgency: float = 0.0
    alignment: float = 0.0
    submitted: float = 0.0
    rank: int = 0
    nodes: tuple[str, ...] | None = None  # only these; all pods of a queue share one tuple
    avoid: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()  # of `avoid`: these after all, if no other node has the memory that its app uses

    def item(self, selection: str = "") -> PlaceItem:
        """As /v1/place wants it; its nodes go along under that name, once for all that share them."""
        return PlaceItem(
            uid=self.uid,
            group=self.group,
            urgency=self.urgency,
            alignment=self.alignment,
            submitted=self.submitted,
            rank=self.rank,
            selection=selection,
            avoid=list(self.avoid) or None,
            spare=list(self.spare) or None,
        )


def asked(wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> PlaceRequest:
    """The pods of a batch on the wire; nodes that several of them share, as those of a queue do, are listed once."""
    shared = {id(each.nodes): each.nodes for each in wishes if each.nodes is not None}
    named = {key: str(number) for number, key in enumerate(shared)}
    pods = [each.item(named.get(id(each.nodes), "")) for each in wishes]
    return PlaceRequest(pods, cold, alpha, {named[key]: list(nodes) for key, nodes in shared.items()})


@dataclass(frozen=True, slots=True)
class Reservation:
    """A pod that is released by its gate alone. `growth`: towards nodes that do not exist yet."""

    uid: str
    declared: Resources
    growth: bool = False


def wish(release: Release, nodes: tuple[str, ...] | None = None, rank: int = 0) -> PlacementWish:
    """What a round decided, as a question for a node."""
    return PlacementWish(
        uid=release.uid,
        group=f"{release.app}|{release.group.key}",
        urgency=release.urgency,
        alignment=release.alignment,
        submitted=release.submitted,
        rank=rank,
        nodes=nodes,
        avoid=release.avoid,
        spare=release.spare,
    )


@dataclass(frozen=True, slots=True)
class Placement:
    """Nodes by uid in the order of release, and the reasons of those that got none."""

    placed: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    reserved: bool = True  # in the extender's ledger
    needs: Mapping[str, Resources] = field(default_factory=dict)  # the room refused pods wait for, beyond their request

    def revised(self, later: Placement) -> Placement:
        """With the outcomes of those that were asked about again."""
        placed = {uid: node for uid, node in self.placed.items() if uid not in later.refused}
        refused = {uid: reason for uid, reason in self.refused.items() if uid not in later.placed}
        return replace(
            self,
            placed={**placed, **later.placed},
            refused={**refused, **later.refused},
            needs={**self.needs, **later.needs},
        )


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What everything on a node uses, when that was measured (Unix seconds), and whether it is too old to act on."""

    used: Resources
    measured: float
    stale: bool
    charged: Resources = NOTHING  # what the ledger charges everything on it
    drivers: Resources = NOTHING  # … and the drivers among it


@dataclass(frozen=True, slots=True)
class Usage:
    """What one round of measurement found: managed pods by uid, and nodes where they were asked for."""

    pods: Mapping[str, Resources] = field(default_factory=dict)
    nodes: Mapping[str, NodeUse] = field(default_factory=dict)


class PlacementSource(Protocol):
    """Whoever names nodes: the extender, or a stand-in in tests."""

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """A node for each of many pods, entered in the ledger at once. `alpha` is HaSTE-A's factor."""
        ...

    async def reserve(self, pods: Sequence[Reservation]) -> None:
        """Count pods that are released without a node of ours."""
        ...

    async def unreserve(self, uids: Sequence[str]) -> None:
        """Take back placements and reservations that did not come true."""
        ...

    async def rooms(self) -> Rooms:
        """The room of every node."""
        ...

    async def wakeups(self, after: int) -> tuple[int, Sequence[str]]:
        """Refused pods that have room now, and the number to ask from next."""
        ...

    async def freed(self, after: int) -> int:
        """The number of the last moment at which room may have grown; waits for another than `after`, for a while."""
        ...

    async def usage(self, *, nodes: bool = False) -> Usage:
        """What each managed pod was last measured to use, and each node if asked."""
        ...


class Extender:
    """The extender's HTTP API. Every trouble is Unavailable: the caller holds, and after a while goes on without."""

    def __init__(
        self, url: str, *, timeout: float = 5.0, token: Path | None = None, authority: Path | None = None
    ) -> None:
        self._url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._token = token
        self._tls: ssl.SSLContext | bool = RenewedContext.of(authority) if authority else True
        self._http: aiohttp.ClientSession
        self._instance = ""  # that told the last rooms; another one refuses to place by them

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            timeout=self._timeout,
            connector=aiohttp.TCPConnector(limit=4, ssl=self._tls, keepalive_timeout=60),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """POST /v1/place."""
        if not wishes:
            return Placement()
        answer = await self._call("POST", "/v1/place", PlaceReply, asked(wishes, cold=cold, alpha=alpha))
        return Placement(
            {each.uid: each.node for each in answer.placed},
            {each.uid: each.reason for each in answer.refused},
            needs={each.uid: Resources(each.needs) for each in answer.refused if each.needs},
        )

    async def reserve(self, pods: Sequence[Reservation]) -> None:
        """POST /v1/reserve: room has one owner, also for pods whose node nobody knows yet."""
        if pods:
            items = [ReserveItem(each.uid, dict(each.declared), each.growth) for each in pods]
            await self._call("POST", "/v1/reserve", ReserveReply, ReserveRequest(items))

    async def unreserve(self, uids: Sequence[str]) -> None:
        """POST /v1/unreserve."""
        if uids:
            await self._call("POST", "/v1/unreserve", UnreserveReply, UnreserveRequest(list(uids)))

    async def rooms(self) -> Rooms:
        """GET /v1/rooms."""
        rooms = Rooms.read(await self._call("GET", "/v1/rooms", RoomsReply))
        self._instance = rooms.instance
        return rooms

    async def wakeups(self, after: int) -> tuple[int, Sequence[str]]:
        """GET /v1/wakeups."""
        answer = await self._call("GET", "/v1/wakeups", WakeupsReply, params={"after": str(after)})
        return answer.next, [each.uid for each in answer.pods]

    async def freed(self, after: int) -> int:
        """GET /v1/freed."""
        params = {"after": str(after), "wait": str(WAIT)}
        return (await self._call("GET", "/v1/freed", FreedReply, params=params)).next

    async def usage(self, *, nodes: bool = False) -> Usage:
        """GET /v1/usage. An extender that does not serve it is Unavailable for this alone."""
        answer = await self._call("GET", "/v1/usage", UsageReply, params={"nodes": "true"} if nodes else {})
        return Usage(
            {uid: Resources(amounts) for uid, amounts in answer.pods.items()},
            {name: _node_use(each) for name, each in (answer.nodes or {}).items()},
        )

    async def _call(
        self,
        method: str,
        path: str,
        answer: type[Answer],
        body: msgspec.Struct | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask, and read the answer."""
        content = await self._send(method, path, b"" if body is None else msgspec.json.encode(body), params or {})
        try:
            return msgspec.json.decode(content, type=answer)
        except UNREADABLE as problem:
            raise Unavailable(f"extender: {path} cannot be read: {problem}") from problem

    async def _send(self, method: str, path: str, body: bytes, params: Mapping[str, str]) -> bytes:
        try:
            async with self._http.request(
                method, self._url + path, data=body or None, params=params, headers=self._headers()
            ) as reply:
                content = await reply.read()
                if reply.status != 200:
                    raise Unavailable(f"extender: {reply.status} {content[:200].decode(errors='replace')}")
                return content
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as problem:
            raise Unavailable(f"extender: {type(problem).__name__}: {problem}") from problem

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._instance:
            headers[names.INSTANCE_HEADER] = self._instance
        if self._token is not None:
            # Read each time: service account tokens are renewed.
            headers["Authorization"] = f"Bearer {self._token.read_text(encoding='utf-8').strip()}"
        return headers


@dataclass
class DegradedMode:
    """Whether the extender answers, and for how long it has not."""

    patience: float
    clock: Callable[[], float]
    since: float | None = None
    trouble: str = ""

    def well(self) -> None:
        """It answered."""
        self.since, self.trouble = None, ""

    def failed(self, problem: Exception) -> None:
        """It did not."""
        self.trouble = str(problem)
        if self.since is None:
            self.since = self.clock()

    @property
    def over(self) -> bool:
        """Whether it was away long enough to go on without it."""
        return self.since is not None and self.clock() - self.since >= self.patience


def _node_use(said: NodeUsage) -> NodeUse:
    return NodeUse(Resources(said.used), said.measured, said.stale, Resources(said.charged), Resources(said.drivers))
