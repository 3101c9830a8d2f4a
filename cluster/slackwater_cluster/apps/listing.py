"""Apps of a cluster that is read once: for commands and pages that look and end, with the answers of the operator.

What the user may not read counts as not written: namespaces as managed, policies and frameworks as the built-in ones,
owners as topmost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, Forbidden, NotFound
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.api.session import Answer
from slackwater_cluster.apps.frameworks import ExtendedTable
from slackwater_cluster.apps.membership import PodIndex
from slackwater_cluster.apps.ownerlookup import OwnerReader
from slackwater_cluster.apps.resolver import Member
from slackwater_cluster.governance import Governance
from slackwater_cluster.watch import trim, wire
from slackwater_cluster.watch.records import NamespaceRecord, PodRecord

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ListedPod:
    """A pod as the API server shows it, what is kept of it, and what it is to its app."""

    body: Body
    record: PodRecord
    member: Member


def listed_pods(
    api: ApiClient,
    namespace: str | None = None,
    parameters: dict[str, str] | None = None,
    *,
    system: str = names.SYSTEM_NAMESPACE,
) -> list[ListedPod]:
    """The pods of a namespace, or of all, recognised. `system` is the namespace that Slackwater runs in."""
    bodies = api.items(api_path("pods", namespace=namespace or ""), parameters)
    records = [trim.pod(msgspec.convert(body, wire.Pod, strict=False)) for body in bodies]
    index = PodIndex(read_governance(api, {record.namespace for record in records}, system))
    index.follow(_frameworks(api, system).table)
    for record in records:
        index.set_pod(record)
    _look_up(api, index)
    return [ListedPod(body, record, index.member(record)) for body, record in zip(bodies, records, strict=True)]


def read_governance(
    api: ApiClient, namespaces: Collection[str] = (), system: str = names.SYSTEM_NAMESPACE
) -> Governance:
    """Namespaces and policies as they are now; `namespaces` count as managed where the list may not be read."""
    governance = Governance(system)
    found = _read(api, api_path("namespaces"))
    if found is None:
        made = [NamespaceRecord(name=name, labels={names.MANAGED: "true"}) for name in namespaces]
    else:
        made = [trim.namespace(msgspec.convert(body, wire.Bare, strict=False)) for body in found]
    governance.set_namespaces(made)
    policies = _read(api, custom_path("slackpolicies")) or ()
    governance.set("SlackPolicy", [trim.custom(msgspec.convert(body, wire.Custom, strict=False)) for body in policies])
    return governance


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
        del seconds, most  # the client has its own limits
        try:
            return Answer(200, msgspec.json.encode(self.api.get(path)))
        except NotFound:
            return Answer(404, b"{}")
        except Forbidden:
            return Answer(403, b"{}")


def _look_up(api: ApiClient, index: PodIndex) -> None:
    """Look up owners until none is unknown; one that got no answer counts as topmost."""
    reader = OwnerReader(_Blocking(api))
    while unknown := index.unknown():
        found = dict(asyncio.run(reader.parents(unknown)))
        for owner, parents in found.items() or [(owner, ()) for owner, _ in unknown]:
            index.learn(owner, () if isinstance(parents, Exception) else parents)
