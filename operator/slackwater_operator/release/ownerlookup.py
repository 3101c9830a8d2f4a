"""Looks up owners that recognition asks about, and the sizes that frameworks' own objects state. Once each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import structlog

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.api.session import Session
from slackwater_cluster.apps.size import AppSize, from_object
from slackwater_cluster.watch import trim, wire
from slackwater_cluster.watch.records import OwnerRef
from slackwater_operator.cache.appview import AppView
from slackwater_operator.cache.cache import OperatorCache

log = structlog.get_logger(__name__)

# Kinds known beforehand; others are found through discovery.
CORE = {"Pod": "pods", "ReplicationController": "replicationcontrollers"}
JOB = "job"  # the table's row for plain Jobs
# Owners looked up in one go, so that a flood of new apps does not hold up the rounds.
AT_ONCE = 50


class _Bare(msgspec.Struct):
    metadata: wire.Meta = msgspec.field(default_factory=wire.Meta)


@dataclass
class OwnerLookup:
    """Asks the API server about owners. What may not be read counts as having no owner, and is logged once."""

    session: Session
    _paths: dict[tuple[str, str], str] = field(default_factory=dict)  # (group, kind) → path with {namespace}
    _silent: set[tuple[str, str]] = field(default_factory=set)
    _sized: set[str] = field(default_factory=set)

    async def run(self, assembly: OperatorCache) -> None:
        """Look up what is unknown."""
        asked = assembly.census.unknown()[:AT_ONCE]
        found = await asyncio.gather(*(self._parents(owner, namespace) for owner, namespace in asked))
        for (owner, _), parents in zip(asked, found, strict=True):
            if parents is not None:
                assembly.learn(owner, parents)
        await self._sizes(assembly)

    async def _sizes(self, assembly: OperatorCache) -> None:
        """Before the round that may fix an app's category: a job whose pods are still being made looks small."""
        assembly.refresh()
        self._sized &= set(assembly.portraits)
        wanting = [each for each in assembly.portraits.values() if self._wants_size(each, assembly)]
        for start in range(0, len(wanting), AT_ONCE):
            some = wanting[start : start + AT_ONCE]
            self._sized |= {each.id for each in some}
            sizes = await asyncio.gather(*(self._size(each, assembly) for each in some))
            for each, size in zip(some, sizes, strict=True):
                if size is not None:
                    assembly.resize(each, size)

    def _wants_size(self, each: AppView, assembly: OperatorCache) -> bool:
        """Whether anybody will ask how large it is: driver admission, or a pool."""
        if each.size is not None or each.started or each.id in self._sized:
            return False
        governing = assembly.governing
        return each.has_driver or bool(governing.pool_of(governing.queue_of(each.namespace)))

    async def _parents(self, owner: OwnerRef, namespace: str) -> Sequence[OwnerRef] | None:
        """The owner's owners; () where there are none or they may not be read; None where nobody answered."""
        try:
            body = await self._get(owner.group, owner.kind, namespace, owner.name)
        except Unavailable as problem:
            log.warning("owner not looked up", owner=f"{owner.kind}/{owner.name}", trouble=str(problem))
            return None
        if body is None:
            return ()
        meta = msgspec.json.decode(body, type=_Bare).metadata
        return trim.owners(meta.owner_references) if meta.uid == owner.uid else ()

    async def _size(self, each: AppView, assembly: OperatorCache) -> AppSize | None:
        # An app by our own label has no row, but a Job above its pods says as much.
        row = assembly.table.named(each.framework or (JOB if each.job else ""))
        if row is None or row.size is None:
            return None
        rule = row.size
        name = each.job if row.name == JOB else _named(each, rule.kind)
        if not name:
            return None
        path = f"/apis/{rule.group}/{rule.version}/namespaces/{each.namespace}/{rule.plural}/{name}"
        try:
            answer = await self.session.get(path)
            return from_object(rule, answer.json()) if answer.ok else None
        except (Unavailable, InvalidInput, ValueError) as problem:
            log.warning("size not read", app=each.id, trouble=str(problem))
            return None

    async def _get(self, group: str, kind: str, namespace: str, name: str) -> bytes | None:
        path = await self._path(group, kind)
        if not path:
            return None
        answer = await self.session.get(f"{path.format(namespace=namespace)}/{name}")
        if answer.ok:
            return answer.body
        if answer.status in (401, 403) and (group, kind) not in self._silent:
            self._silent.add((group, kind))
            log.warning("owners of this kind may not be read; they count as topmost", kind=kind, group=group)
        if answer.status in (401, 403, 404):
            return None
        raise Unavailable(answer.message())

    async def _path(self, group: str, kind: str) -> str:
        """Where objects of a kind live; "" where no such kind is served in namespaces."""
        if (group, kind) not in self._paths:
            self._paths[group, kind] = await self._discover(group, kind)
        return self._paths[group, kind]

    async def _discover(self, group: str, kind: str) -> str:
        if not group:
            return f"/api/v1/namespaces/{{namespace}}/{CORE[kind]}" if kind in CORE else ""
        found = await self.session.get(f"/apis/{group}")
        if not found.ok:
            return ""
        version = found.json()["preferredVersion"]["version"]
        listed = await self.session.get(f"/apis/{group}/{version}")
        for each in listed.json().get("resources", []) if listed.ok else []:
            if each["kind"] == kind and each["namespaced"] and "/" not in each["name"]:
                return f"/apis/{group}/{version}/namespaces/{{namespace}}/{each['name']}"
        return ""


def _named(each: AppView, kind: str) -> str:
    """The name of the object of this kind that an app is: its topmost owner, else what its id says."""
    above, _, owner = each.owner.partition("/")
    if above == kind:
        return owner
    return each.app.split("/")[1] if "/" in each.app else each.app
