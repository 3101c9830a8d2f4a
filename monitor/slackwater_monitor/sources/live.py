"""A cluster now: custom resources from the API server, the ledger from the extender, pods for one app at a time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from slackwater.errors import Unavailable
from slackwater.validation import without_user
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, ExtenderClient, NotFound
from slackwater_cluster.api.paths import custom_path
from slackwater_cluster.apps.listing import ListedPod, listed_pods
from slackwater_cluster.apps.resolver import role_of
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.answers import about_node, about_nodes
from slackwater_monitor.sources.downsampling import Memory
from slackwater_monitor.sources.explanation import Explanation, explain
from slackwater_monitor.sources.prometheus import Measured
from slackwater_monitor.sources.shared import SharedReading
from slackwater_monitor.sources.views import (
    Amounts,
    Bar,
    BorderHistory,
    Node,
    SchedulerComparison,
    Snapshot,
    TimeSeries,
)

View = TypeVar("View")

# A snapshot costs the cluster five reads; several viewers share one of this age. So they do the pods of a namespace.
FRESH = 2.0
NAMESPACES = 8  # whose pods are kept
FIRST = "is being read for the first time; this page has it as soon as the API server has answered"


class Live:
    """One cluster. Remembers the snapshots it was asked for, so that it can show how things moved."""

    virtual = False

    def __init__(
        self,
        api: ApiClient,
        extender: ExtenderClient,
        *,
        measured: Measured | None = None,
        clock: Callable[[], float] = time.time,
        fresh: float = FRESH,
        system: str = names.SYSTEM_NAMESPACE,
    ) -> None:
        self._system = system  # the namespace that Slackwater runs in
        self._api, self._extender, self._measured, self._clock, self._fresh = api, extender, measured, clock, fresh
        self._shared = SharedReading(self._look, self._nothing_yet, fresh=fresh)
        self._turn = threading.Lock()  # never held while anybody is asked
        self._lists: dict[str, SharedReading[list[ListedPod]]] = {}  # by namespace, the one asked for last at the end
        self._before: TimeSeries | None = None
        self.memory = Memory()

    @property
    def title(self) -> str:
        """The API server's address."""
        return without_user(self._api.endpoint.url)

    def snapshot(self) -> Snapshot:
        """Everything now, or a moment ago."""
        return self._shared.get()

    def _look(self) -> Snapshot:
        found = self._read()
        self.memory.add(found)
        return found

    def _nothing_yet(self) -> Snapshot:
        return Snapshot(self._clock(), problems=[f"the cluster {FIRST}"])

    def _read(self) -> Snapshot:
        problems: list[str] = []
        nodes = self._nodes(problems)
        apps = self._list("trackedapps", decoding.apps_at(self._clock()), problems)
        queues = self._list("admissionqueues", decoding.queues_at(self._clock()), problems)
        pools = self._list("reservationpools", decoding.pool, problems)
        kinds = sorted({kind for node in nodes for kind in node.room} or {"cpu", "memory"})
        idle = self._measured.idle(self._clock()) if self._measured is not None else {}
        return Snapshot(self._clock(), nodes, apps, queues, pools, kinds, problems, idle)

    def _list(self, plural: str, decode: Callable[[Any], View], problems: list[str]) -> list[View]:
        try:
            return _read(decode, self._api.items(custom_path(plural)), plural, problems)
        except NotFound:
            problems.append(f"{plural}.{names.GROUP} is not known to this cluster; is Slackwater installed?")
        except Unavailable as problem:
            problems.append(f"{plural}: {problem}")
        return []

    def _nodes(self, problems: list[str]) -> list[Node]:
        try:
            return _read(decoding.node, about_nodes(self._extender), "nodes", problems)
        except Unavailable as problem:
            problems.append(f"the ledger of the extender cannot be read, so room and use are unknown: {problem}")
        try:
            return _read(decoding.plain_node, self._api.items("/api/v1/nodes"), "nodes", problems)
        except Unavailable as problem:
            problems.append(f"nodes: {problem}")
        return []

    def history(self) -> TimeSeries:
        """What was seen since this source began to look, after what Prometheus knows of the hours before."""
        own = self.memory.history()
        if self._measured is None or not own.time:
            return own
        if self._before is None:
            self._before = self._measured.history(own.time[0])
        # Without an answer it is asked again by one of the next pages.
        return joined(self._before, own) if self._before is not None else own

    def used(self, namespace: str) -> Mapping[str, Amounts]:
        """What each pod of a namespace uses, where there is a Prometheus."""
        return self._measured.pods(namespace, self._clock()) if self._measured is not None else {}

    def borders(self) -> Sequence[BorderHistory]:
        """How the pools' borders moved since then."""
        return self.memory.borders()

    def comparison(self) -> SchedulerComparison | None:
        """A cluster has one scheduler only: `what-if` plays its past under others."""
        return None

    player = None
    races = False

    def chosen(self, asked: Mapping[str, str]) -> Live:
        """A cluster is always shown as it is now."""
        del asked
        return self

    def explain(self, namespace: str, pod: str) -> Explanation | None:
        """What `slackwater explain` says."""
        try:
            return explain(self._api, self._extender, namespace, pod, system=self._system)
        except NotFound:
            return None

    def ledger(self, node: str) -> dict[str, Any] | None:
        """The extender's ledger of a node."""
        try:
            return about_node(self._extender, node)
        except NotFound:
            return None

    def gantt(self, namespace: str, app: str) -> Sequence[Bar]:
        """The app's pods, recognised as the operator recognises them."""
        with decoding.readable(f"the pods of {namespace}"):
            return [
                decoding.sound(decoding.bar(each.pod, role_of(each.record, each.member).value, each.member.stage))
                for each in self._pods(namespace).get()
                if each.member.app == app
            ]

    def _pods(self, namespace: str) -> SharedReading[list[ListedPod]]:
        """The pods of a namespace, read once for several viewers of its apps; those of a few namespaces are kept."""

        def read() -> list[ListedPod]:
            return listed_pods(self._api, namespace, system=self._system)

        def meanwhile() -> list[ListedPod]:
            raise Unavailable(f"the namespace {namespace} {FIRST}")

        with self._turn:
            found = self._lists.pop(namespace, None) or SharedReading(read, meanwhile, fresh=self._fresh)
            self._lists[namespace] = found
            for forgotten in list(self._lists)[:-NAMESPACES]:
                del self._lists[forgotten]
        return found


def _read(decode: Callable[[Any], View], bodies: Any, what: str, problems: list[str]) -> list[View]:
    views, wrong = decoding.read(decode, bodies, what)
    problems += wrong
    return views


def joined(before: TimeSeries, after: TimeSeries) -> TimeSeries:
    """Two courses one after the other; a line that the first does not have begins with the second."""
    if not before.time:
        return after
    unknown = [math.nan] * len(before.time)
    lines = {
        kind: {line: [*before.lines.get(kind, {}).get(line, unknown), *values] for line, values in each.items()}
        for kind, each in after.lines.items()
    }
    return TimeSeries([*before.time, *after.time], lines)
