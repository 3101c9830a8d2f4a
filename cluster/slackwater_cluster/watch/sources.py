"""All reflectors of a program together: one dead watch ends them all, loudly, because half a view is a wrong view."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.customresources import kind_named
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, PodGroupRecord, PodRecord
from slackwater_cluster.watch import trim
from slackwater_cluster.watch.reflector import FORBIDDEN, MISSING, Reflector, Source

PODS: Source[PodRecord] = Source("/api/v1/pods", wire.Pod, trim.pod)
NODES: Source[NodeRecord] = Source("/api/v1/nodes", wire.Node, trim.node, key=lambda thing: str(thing.name))
NAMESPACES: Source[NamespaceRecord] = Source(
    "/api/v1/namespaces", wire.Bare, trim.namespace, key=lambda thing: str(thing.name)
)


# The versions that have PodGroups which pods name in `schedulingGroup`: 1.37 serves the first, 1.36 the second.
POD_GROUP_VERSIONS = ("v1beta1", "v1alpha2")
# Seconds between questions for a kind that only another start of the API server brings.
RARELY = 300.0


def _key(record: CustomRecord | PodGroupRecord) -> str:
    return f"{record.namespace or ''}/{record.name}"


def customs(kind: str, *, optional: bool = True) -> Source[CustomRecord]:
    """The source of one of our custom resources; an `optional` one may be missing from the API server."""
    absent = (MISSING,) if optional else ()
    return Source(custom_path(kind_named(kind).plural), wire.Custom, trim.custom, key=_key, absent=absent)


def pod_groups(version: str) -> Source[PodGroupRecord]:
    """The source of Kubernetes' own PodGroups in a version of its API; most clusters serve none."""
    path = api_path("podgroups", group="scheduling.k8s.io", version=version)
    absent = (MISSING, FORBIDDEN)
    return Source(path, wire.PodGroup, trim.pod_group, key=_key, absent=absent, again=RARELY)


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
