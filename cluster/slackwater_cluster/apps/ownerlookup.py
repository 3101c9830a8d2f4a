"""Looks up the owners that recognition asks about: which object stands above a ReplicaSet, a Job, a driver pod.

Every question has a time-out and a size limit. Operator, extender and command line look up in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

import msgspec
import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.api.paths import api_path, group_path
from slackwater_cluster.api.session import Answer
from slackwater_cluster.apps.questions import Questions
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import OwnerKey, OwnerRef
from slackwater_cluster.watch import trim

log = structlog.get_logger(__name__)

# Kinds known beforehand; others are found through discovery.
CORE = {"Pod": "pods", "ReplicationController": "replicationcontrollers"}
# Seconds for one answer, and its largest size: the API server keeps no object above 1.5 MiB.
SECONDS = 5.0
LARGEST = 4 * 2**20
# Seconds between two lists of the API groups, while pods name groups that are not in the last one.
GROUPS_SECONDS = 1.0
# Seconds after which an owner for whom only errors came counts as topmost, if the API server is well otherwise: pods of
# a kind whose conversion webhook or aggregated API is broken would else wait for as long.
PATIENCE = 60.0
READY, OK = "/readyz", 200  # with etcd
# Kinds whose place is remembered.
MOST_KINDS = 1000
MAY_NOT, NOT_THERE = 403, 404


class _MayNotRead(Unavailable):
    """An API server that is ready says that we have no right to read something."""


class _Bare(msgspec.Struct):
    metadata: wire.Meta = msgspec.field(default_factory=wire.Meta)


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str = ""
    preferred_version: _Version = msgspec.field(default_factory=_Version)
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _Kind(msgspec.Struct):
    kind: str = ""
    name: str = ""
    namespaced: bool = False


class _Kinds(msgspec.Struct):
    resources: list[_Kind] = []


class Reader(Protocol):
    """Reads one address of the API server."""

    async def get(self, path: str, *, seconds: float, most: int) -> Answer:
        """The answer, at most so long waited for and so large; Unavailable where there is none."""
        ...


# The owner's owners, () where it has none; the error where none can be had.
Parents = Sequence[OwnerRef] | Exception


@dataclass
class OwnerReader:
    """Asks the API server about owners. What may not be read counts as having no owner, and is logged once."""

    reader: Reader
    clock: Callable[[], float] = monotonic
    _plurals: dict[tuple[str, str, str], str] = field(default_factory=dict)  # by group, version and kind
    _groups: dict[str, Sequence[str]] = field(default_factory=dict)  # the versions of each, the preferred one first
    _listed: float = float("-inf")  # when the groups were listed
    _silent: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._questions = Questions[OwnerKey](self.clock)

    async def run(
        self, unknown: Callable[[], Sequence[tuple[OwnerRef, str]]], learn: Callable[[OwnerRef, Parents], None]
    ) -> None:
        """Ask about owners, given with their namespaces, until none is due; `learn` gets each answer as it comes."""
        asked: dict[OwnerKey, tuple[OwnerRef, str]] = {}

        def wanted() -> list[tuple[OwnerKey, str]]:
            asked.clear()
            asked.update((owner.key, (owner, namespace)) for owner, namespace in unknown())
            return [(key, namespace) for key, (_, namespace) in asked.items()]

        async def ask(key: OwnerKey) -> bool:
            owner, namespace = asked[key]
            found = await self.parents(owner, namespace)
            if found is None and await self._given_up(key):
                found = Unavailable(f"no answer for {PATIENCE:g} s")
            if found is not None:
                learn(owner, found)
            return found is not None

        await self._questions.run(wanted, ask)

    async def _given_up(self, key: OwnerKey) -> bool:
        """Nobody answered for long, and the API server itself is well; else all look-ups fail, and none is given up."""
        return self._questions.silence(key) >= PATIENCE and await _server_status(self.reader) < 500

    async def parents(self, owner: OwnerRef, namespace: str) -> Parents | None:
        """What stands above an owner; None where nobody answered."""
        try:
            return await self._parents(owner, namespace)
        except _MayNotRead:
            self._tell_silent(owner.group, owner.kind)
            return ()
        except Unavailable as problem:
            log.warning("owner not looked up", owner=f"{owner.kind}/{owner.name}", trouble=str(problem))
            return None
        except Exception as problem:
            log.exception("owner set aside", owner=f"{owner.kind}/{owner.name}", namespace=namespace)
            return problem

    async def _parents(self, owner: OwnerRef, namespace: str) -> Sequence[OwnerRef]:
        version, plural = await self._place(owner)
        if not plural:
            return ()
        path = api_path(plural, owner.name, group=owner.group, version=version, namespace=namespace)
        answer = await self._read(path)
        if answer.status == NOT_THERE:
            return ()
        meta = msgspec.json.decode(answer.body, type=_Bare).metadata
        return trim.owners(meta.owner_references, namespace) if meta.uid == owner.uid else ()

    def _tell_silent(self, group: str, kind: str) -> None:
        if (group, kind) not in self._silent and len(self._silent) < MOST_KINDS:
            self._silent.add((group, kind))
            log.warning("owners of this kind may not be read; they count as topmost", kind=kind, group=group)

    # -- where kinds live -------------------------------------------------------------------------------------------

    async def _place(self, owner: OwnerRef) -> tuple[str, str]:
        """Version and plural of an owner's kind; two empty texts where it is not served in namespaces.

        A group may serve a kind in one of its versions only: first comes the one in which the owner is named.
        """
        group, kind = owner.group, owner.kind
        if not group:
            return "v1", CORE.get(kind, "")
        served = await self._versions(group)
        for version in dict.fromkeys(each for each in (owner.version, *served[:1]) if each in served):
            plural = self._plurals.get((group, version, kind)) or await self._plural(group, version, kind)
            if plural:
                if len(self._plurals) < MOST_KINDS:
                    self._plurals[group, version, kind] = plural
                return version, plural
        return "", ""

    async def _versions(self, group: str) -> Sequence[str]:
        """The group's versions, the preferred one first. One list serves all: a made-up group costs no request."""
        if group not in self._groups and self.clock() - self._listed >= GROUPS_SECONDS:
            answer = await self._read("/apis")
            if not answer.ok:
                raise Unavailable(answer.message())
            found = msgspec.json.decode(answer.body, type=_Groups).groups
            self._groups = {each.name: _served(each) for each in found}
            self._listed = self.clock()
        return self._groups.get(group, ())

    async def _plural(self, group: str, version: str, kind: str) -> str:
        answer = await self._read(group_path(group, version))
        if answer.status == NOT_THERE:  # no longer served so: what is, a new list of the groups tells
            self._groups.pop(group, None)
            self._listed = float("-inf")  # the next asker lists: the group is not known to be unserved
            raise Unavailable(answer.message())
        listed = msgspec.json.decode(answer.body, type=_Kinds).resources
        return next((each.name for each in listed if _serves(each, kind)), "")

    async def _read(self, path: str) -> Answer:
        """As `ask`, but for what may not be read."""
        answer = await ask(self.reader, path)
        if answer.status == MAY_NOT:
            raise _MayNotRead(answer.message())
        return answer


async def ask(reader: Reader, path: str) -> Answer:
    """One answer, within bounds; anything but an answer about the thing asked for is no answer.

    Nor is a refusal by an API server that is just starting: it refuses all.
    """
    answer = await reader.get(path, seconds=SECONDS, most=LARGEST)
    if not answer.ok and answer.status not in (MAY_NOT, NOT_THERE):
        raise Unavailable(answer.message())
    if answer.status == MAY_NOT and await _server_status(reader) != OK:
        raise Unavailable(answer.message())
    return answer


async def _server_status(reader: Reader) -> int:
    """What the API server answers when it is asked whether it is ready."""
    try:
        return (await reader.get(READY, seconds=SECONDS, most=LARGEST)).status
    except Unavailable:
        return 503


def _served(group: _Group) -> list[str]:
    return [each.version for each in (group.preferred_version, *group.versions) if each.version]


def _serves(each: _Kind, kind: str) -> bool:
    return each.kind == kind and each.namespaced and "/" not in each.name
