"""All reflectors of a program together: one dead watch ends them all, loudly, because half a view is a wrong view."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from slackwater.errors import UnknownName
from slackwater_cluster import names, shapes, trimming
from slackwater_cluster.records import CustomRecord, NamespaceRecord, NodeRecord, PodRecord
from slackwater_cluster.reflector import Reflector, Source

PODS: Source[PodRecord] = Source("/api/v1/pods", shapes.Pod, trimming.pod)
NODES: Source[NodeRecord] = Source("/api/v1/nodes", shapes.Node, trimming.node, key=lambda thing: str(thing.name))
NAMESPACES: Source[NamespaceRecord] = Source(
    "/api/v1/namespaces", shapes.Bare, trimming.namespace, key=lambda thing: str(thing.name)
)

_PLURALS = {
    "SlackPolicy": "slackpolicies",
    "AdmissionQueue": "admissionqueues",
    "ReservationPool": "reservationpools",
    "TrackedApp": "trackedapps",
}


def customs(kind: str) -> Source[CustomRecord]:
    """The source of one of our custom resources."""
    if kind not in _PLURALS:
        raise UnknownName("kind", kind, _PLURALS)
    path = f"/apis/{names.GROUP}/{names.VERSION}/{_PLURALS[kind]}"
    return Source(
        path, shapes.Custom, trimming.custom, key=lambda thing: f"{thing.namespace or ''}/{thing.name}", optional=True
    )


async def reflect(reflectors: Iterable[Reflector[Any]]) -> None:
    """Run all until one fails or the caller cancels; the first failure is raised after the others are stopped."""
    async with asyncio.TaskGroup() as group:
        for each in reflectors:
            group.create_task(each.run(), name=f"reflect {each.source.path}")
