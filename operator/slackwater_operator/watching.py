"""What the operator watches: pods and nodes through our reflector, and the records it keeps of custom resources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from slackwater_cluster import names, shapes
from slackwater_cluster.customresources import kind_named
from slackwater_cluster.records import Record
from slackwater_cluster.reflector import Source

R = TypeVar("R", bound=Record)


class Configured(Record, frozen=True, kw_only=True):
    """A custom resource or ConfigMap: its parts as they were written."""

    namespace: str = ""
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, object] = {}
    status: Mapping[str, object] = {}
    created: float = 0.0
    data: Mapping[str, str] = {}


class Wire(msgspec.Struct, rename="camel"):
    """A custom resource or ConfigMap on the wire."""

    metadata: shapes.Meta = msgspec.field(default_factory=shapes.Meta)
    spec: dict[str, object] | None = None
    status: dict[str, object] | None = None
    data: dict[str, str] | None = None


def configured(wire: Wire) -> Configured:
    """Keep what was written."""
    meta = wire.metadata
    return Configured(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace or "",
        annotations=meta.annotations or {},
        spec=wire.spec or {},
        status=wire.status or {},
        created=meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0,
        data=wire.data or {},
    )


def _key(record: Configured) -> str:
    return f"{record.namespace}/{record.name}"


def custom_source(kind: str) -> Source[Configured]:
    """The source of one of our custom resources."""
    path = f"/apis/{names.GROUP}/{names.VERSION}/{kind_named(kind).plural}"
    return Source(path, Wire, configured, key=_key)


def frameworks_source(namespace: str) -> Source[Configured]:
    """The source of the ConfigMaps that extend the framework table."""
    selector = ("labelSelector", f"{names.GROUP}/frameworks=true")
    return Source(f"/api/v1/namespaces/{namespace}/configmaps", Wire, configured, key=_key, params=(selector,))


@dataclass
class Feed(Generic[R]):
    """Passes a reflector's news on to two functions and notes when the first whole list was delivered."""

    changed_to: Callable[[Sequence[R]], None]
    vanished_to: Callable[[Sequence[R]], None]
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def changed(self, records: Sequence[R]) -> None:
        """These exist now."""
        self.changed_to(records)

    def vanished(self, records: Sequence[R]) -> None:
        """These exist no more."""
        self.vanished_to(records)

    def synced(self) -> None:
        """Everything was listed."""
        self.complete.set()
