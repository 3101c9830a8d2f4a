"""Apps of a cluster that is read once: for commands and pages that look and end, with the answers of the operator.

What the user may not read counts as not written: namespaces as managed, policies and frameworks as the built-in ones,
owners as topmost, the watchdog as where it runs by default.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
import yaml

from slackwater.errors import InvalidInput
from slackwater.validation import parsing
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, Forbidden, NotFound
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.api.session import Answer
from slackwater_cluster.apps.membership import PodIndex
from slackwater_cluster.apps.ownerlookup import OwnerReader, Parents
from slackwater_cluster.apps.questions import fair
from slackwater_cluster.apps.resolver import Member, own_name
from slackwater_cluster.frameworks import ExtendedTable
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import NamespaceRecord, OwnerRef, PodRecord
from slackwater_cluster.watch import trim

log = structlog.get_logger(__name__)

Body = dict[str, Any]
UNBOUND, BOUND = {"fieldSelector": "spec.nodeName="}, {"fieldSelector": "spec.nodeName!="}
# Owners that one page may look up; pods of the others count as those of their nearest owner.
MOST_OWNERS = 500
AT_ONCE = 50  # … of which so many are asked about before it is seen what is still unknown


@dataclass(frozen=True, slots=True)
class ListedPod:
    """A pod as far as we read it, what is kept of it, and what it is to its app."""

    pod: wire.Pod
    record: PodRecord
    member: Member


def listed_pods(
    api: ApiClient, namespace: str | None = None, *, system: str = names.SYSTEM_NAMESPACE, most: int = MOST_OWNERS
) -> list[ListedPod]:
    """The pods of a namespace, or of all, recognised. `system` is the namespace that Slackwater runs in."""
    found = _pods(api, namespace)
    index = _index(api, found, system)
    _look_up(api, index, {record.uid for _, record in found}, most)
    return [ListedPod(pod, record, index.member(record)) for pod, record in found]


def unbound_pods(
    api: ApiClient,
    namespace: str | None,
    wanted: Callable[[PodRecord], bool],
    *,
    system: str = names.SYSTEM_NAMESPACE,
) -> list[ListedPod]:
    """Those pods without a node that are wanted, recognised as if all pods had been read.

    1. read the pods without a node
    2. read the others of the namespaces in which the app of a wanted one may depend on them
    3. look up the owners of the wanted ones
    """
    found = _pods(api, namespace, UNBOUND)
    index = _index(api, found, system)
    chosen = [(pod, record) for pod, record in found if not record.node and wanted(record)]
    for place in sorted({record.namespace for _, record in chosen if _leans(record, index)}):
        for _, other in _pods(api, place, BOUND):
            index.set_pod(other)
    _look_up(api, index, {record.uid for _, record in chosen}, None)
    return [ListedPod(pod, record, index.member(record)) for pod, record in chosen]


def _leans(record: PodRecord, index: PodIndex) -> bool:
    """Whether other pods can be part of the answer: a driver that owns this one, or drivers with the same id."""
    if own_name(record, names.APP):
        return False
    return index.table.claimed(record.labels) is not None or any(owner.kind == "Pod" for owner in record.owners)


def _pods(
    api: ApiClient, namespace: str | None, parameters: dict[str, str] | None = None
) -> list[tuple[wire.Pod, PodRecord]]:
    path = api_path("pods", namespace=namespace or "")
    return list(_readable(api.listed(path, wire.Pod, parameters)))


def _readable(pods: Iterable[wire.Pod]) -> Iterator[tuple[wire.Pod, PodRecord]]:
    """Pods and what is kept of them; one that cannot be read is told, and hides no other."""
    for pod in pods:
        try:
            yield pod, trim.pod(pod)
        except Exception as problem:  # noqa: BLE001 - whatever one object holds, the others are shown
            name = f"{pod.metadata.namespace}/{pod.metadata.name}"
            log.warning("left out: it cannot be read", pod=name, problem=str(problem)[:500])


def _index(api: ApiClient, found: Sequence[tuple[wire.Pod, PodRecord]], system: str) -> PodIndex:
    """The pods, recognised as far as that is possible without their owners."""
    index = PodIndex(read_governance(api, {record.namespace for _, record in found}, system))
    index.follow(_frameworks(api, system).table)
    for _, record in found:
        index.set_pod(record)
    return index


def read_governance(
    api: ApiClient, namespaces: Collection[str] = (), system: str = names.SYSTEM_NAMESPACE
) -> Governance:
    """Namespaces and policies as they are now; `namespaces` count as managed where the list may not be read."""
    governance = Governance(system, _watchdog_namespace(api, system))
    found = _read(api, api_path("namespaces"))
    if found is None:
        made = [NamespaceRecord(name=name, labels={names.MANAGED: "true"}) for name in namespaces]
    else:
        made = [trim.namespace(msgspec.convert(body, wire.Bare, strict=False)) for body in found]
    governance.set_namespaces(made)
    policies = _read(api, custom_path("slackpolicies")) or ()
    governance.set("SlackPolicy", [trim.custom(msgspec.convert(body, wire.Custom, strict=False)) for body in policies])
    return governance


def _watchdog_namespace(api: ApiClient, system: str) -> str:
    """Where the watchdog runs, by the extender's settings: a label on a Deployment or pod could be anybody's."""
    chosen = {"fieldSelector": "metadata.name=slackwater-extender"}
    for body in _read(api, api_path("configmaps", namespace=system), chosen) or ():
        with suppress(InvalidInput), parsing("extender.yaml", "it cannot be read", "see docs/reference/settings.md"):
            return str(yaml.safe_load(body["data"]["extender.yaml"])["decisions"]["watchdog_namespace"])
    return names.WATCHDOG_HOME


def _frameworks(api: ApiClient, system: str) -> ExtendedTable:
    frameworks = ExtendedTable()
    selector = {"labelSelector": f"{names.GROUP}/frameworks=true"}
    found = _read(api, api_path("configmaps", namespace=system), selector) or ()
    frameworks.set({body["metadata"]["name"]: body.get("data") or {} for body in found})
    return frameworks


def _read(api: ApiClient, path: str, parameters: dict[str, str] | None = None) -> Sequence[Body] | None:
    """A list; None where it may not be read or does not exist."""
    try:
        return api.items(path, parameters)
    except (Forbidden, NotFound):
        return None


@dataclass(frozen=True, slots=True)
class _Blocking:
    """One question after the other, through the client of commands."""

    api: ApiClient

    async def get(self, path: str, *, seconds: float, most: int) -> Answer:
        try:
            return Answer(200, self.api.bounded(path, seconds=seconds, most=most))
        except NotFound:
            return Answer(404, b"{}")
        except Forbidden:
            return Answer(403, b"{}")


def _look_up(api: ApiClient, index: PodIndex, pods: Collection[str], most: int | None) -> None:
    """Look up what stands above these pods, until nothing is unknown; what got no answer counts as topmost.

    So does what would be more than `most` questions.
    """
    reader = OwnerReader(_Blocking(api))
    left = math.inf if most is None else most
    while unknown := _unknown(index, pods):
        asked = fair(unknown)[: int(min(left, AT_ONCE))]
        left -= len(asked)
        for owner, parents in asyncio.run(_parents(reader, asked)) or [(owner, None) for owner, _ in unknown]:
            index.learn(owner, () if parents is None or isinstance(parents, Exception) else parents)


async def _parents(reader: OwnerReader, asked: Sequence[tuple[OwnerRef, str]]) -> list[tuple[OwnerRef, Parents | None]]:
    """What stands above each of these owners, one question after the other."""
    return [(owner, await reader.parents(owner, namespace)) for owner, namespace in asked]


def _unknown(index: PodIndex, pods: Collection[str]) -> list[tuple[OwnerRef, str]]:
    """The owners on which the answer about one of these pods waits."""
    return [each for each in index.unknown() if any(pod.uid in pods for pod in index.asking(each[0].key))]
