"""All reflectors of a program together: one dead watch ends them all, loudly, because half a view is a wrong view."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.customresources import kind_named
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, PodRecord
from slackwater_cluster.watch import trim
from slackwater_cluster.watch.reflector import Reflector, Source

PODS: Source[PodRecord] = Source("/api/v1/pods", wire.Pod, trim.pod)
NODES: Source[NodeRecord] = Source("/api/v1/nodes", wire.Node, trim.node, key=lambda thing: str(thing.name))
NAMESPACES: Source[NamespaceRecord] = Source(
    "/api/v1/namespaces", wire.Bare, trim.namespace, key=lambda thing: str(thing.name)
)


def _key(record: CustomRecord) -> str:
    return f"{record.namespace or ''}/{record.name}"


def customs(kind: str, *, patience: float | None = None) -> Source[CustomRecord]:
    """The source of one of our custom resources, which may be missing from the API server.

    With `patience` one that was listed stays as it was, and one that never was is waited for so many seconds.
    """
    path = custom_path(kind_named(kind).plural)
    if patience is None:
        return Source(path, wire.Custom, trim.custom, key=_key, optional=True)
    return Source(path, wire.Custom, trim.custom, key=_key, patience=patience)


def frameworks(namespace: str) -> Source[CustomRecord]:
    """The source of the ConfigMaps that extend the framework table."""
    selector = ("labelSelector", f"{names.GROUP}/frameworks=true")
    path = api_path("configmaps", namespace=namespace)
    return Source(path, wire.Custom, trim.custom, key=_key, params=(selector,))


async def reflect(reflectors: Iterable[Reflector[Any]]) -> None:
    """Run all until one fails or the caller cancels; the first failure is raised after the others are stopped."""
    async with asyncio.TaskGroup() as group:
        for each in reflectors:
            group.create_task(each.run(), name=f"reflect {each.source.path}")
