"""Why a pod waits, or why it is where it is: everything that is known, and how the room of a node comes about."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slackwater.cycle.appverdicts import WaitReason
from slackwater.errors import Unavailable
from slackwater_cluster import names, roomsentence
from slackwater_cluster.api.client import ApiClient, ExtenderClient, NotFound
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.apps.listing import listed_pods
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.answers import about_node, about_pod
from slackwater_monitor.sources.views import Amounts, App, Pool, Queue, pool_of
from slackwater_simulator.charts.amounts import amount


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was found. `waits` is what scripts want to know."""

    pod: str
    sentence: str
    waits: bool
    phase: str
    node: str = ""
    nominated: str = ""
    gates: list[str] = field(default_factory=list)
    app: App | None = None
    queue: Queue | None = None
    pool: Pool | None = None
    ledger: dict[str, Any] | None = None  # what the extender says
    resources: dict[str, str] = field(default_factory=dict)  # the node's arithmetic by kind
    problems: list[str] = field(default_factory=list)
    rooms: Mapping[str, Amounts] = field(default_factory=dict)  # of nodes whose room the gate saw otherwise than now
    note: str = ""  # what a reader should know of the nodes beside the reason, where they are not the gate's own

    @property
    def since(self) -> str:
        """The reason is of the last round, the nodes are as they are now: told where they seem to contradict."""
        fitting = ((self.ledger or {}).get("now") or {}).get("fitting")
        if self.app is None or self.app.reason != WaitReason.FRAGMENTED or not self.gates or not fitting:
            return ""
        return "room has come free after the round that gave this reason; the next round decides"


def explain(
    api: ApiClient, extender: ExtenderClient, namespace: str, name: str, *, system: str = names.SYSTEM_NAMESPACE
) -> Explanation:
    """Read the pod, then the extender's word, then its app, queue and pool. What cannot be read is told."""
    body = api.get(api_path("pods", name, namespace=namespace))
    with decoding.readable(f"pod {namespace}/{name}"):
        return decoding.sound(_explained(api, extender, namespace, name, body, system))


def _explained(
    api: ApiClient, extender: ExtenderClient, namespace: str, name: str, body: dict[str, Any], system: str
) -> Explanation:
    problems: list[str] = []
    ledger = _ledger(extender, namespace, name, problems)
    spec, status = body.get("spec") or {}, body.get("status") or {}
    app = _app(api, namespace, ledger, body, problems, system)
    queue, pool = _queue(api, app, problems)
    node = spec.get("nodeName", "")
    gates = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    waits = not node and status.get("phase") not in ("Succeeded", "Failed")
    return Explanation(
        pod=f"{namespace}/{name}",
        sentence=_sentence(body, gates, app, ledger),
        waits=waits,
        phase=status.get("phase", ""),
        node=node,
        nominated=status.get("nominatedNodeName", ""),
        gates=gates,
        app=app,
        queue=queue,
        pool=pool,
        ledger=ledger,
        resources=_arithmetic(extender, ledger, node, problems),
        problems=problems,
    )


def _ledger(extender: ExtenderClient, namespace: str, name: str, problems: list[str]) -> dict[str, Any] | None:
    try:
        return about_pod(extender, namespace, name)
    except NotFound:
        problems.append("the extender does not know this pod (yet)")
        return None
    except Unavailable as problem:
        problems.append(f"the extender's part is missing: {problem}")
        return None


def _app(
    api: ApiClient,
    namespace: str,
    ledger: dict[str, Any] | None,
    body: dict[str, Any],
    problems: list[str],
    system: str,
) -> App | None:
    """The pod's app: the extender names it; without it, the pods of the namespace are recognised here."""
    named = str((ledger or {}).get("app", "")).removeprefix(f"{namespace}/")
    try:
        if not named:
            pods = listed_pods(api, namespace, system=system)
            named = next((pod.member.app for pod in pods if pod.record.uid == body["metadata"].get("uid")), "")
        found = api.items(custom_path("trackedapps", namespace=namespace))
        apps, _ = decoding.read(decoding.apps_at(time.time()), found, "trackedapps")
    except Unavailable as problem:
        problems.append(f"TrackedApps: {problem}")
        return None
    return next((app for app in apps if app.name == named), None)


def _queue(api: ApiClient, app: App | None, problems: list[str]) -> tuple[Queue | None, Pool | None]:
    if app is None or not app.queue:
        return None, None
    try:
        queue = decoding.queue(api.get(custom_path("admissionqueues", app.queue)), time.time())
        pools, _ = decoding.read(decoding.pool, api.items(custom_path("reservationpools")), "reservationpools")
    except Unavailable as problem:
        problems.append(f"queue {app.queue}: {problem}")
        return None, None
    return queue, pool_of(queue.name, pools)


def _sentence(body: dict[str, Any], gates: list[str], app: App | None, ledger: dict[str, Any] | None) -> str:
    """The answer in one sentence, from whoever knows best."""
    if names.GATE in gates and app is not None and app.message:
        return f"it is held: {app.message}"
    if ledger is not None:
        return str(ledger["sentence"])
    status, spec = body.get("status") or {}, body.get("spec") or {}
    if names.GATE in gates:
        reason = (body["metadata"].get("annotations") or {}).get(names.REASON, "")
        return f"it is held by the gate {names.GATE}" + (f" ({reason})" if reason else "")
    if gates:
        return f"it is held by gates of others: {', '.join(gates)}"
    if spec.get("nodeName"):
        return f"it is on {spec['nodeName']} ({status.get('phase', 'unknown')})"
    said = [each for each in status.get("conditions") or () if each.get("type") == "PodScheduled"]
    return str(said[0].get("message") or said[0].get("reason")) if said else "no scheduler has looked at it yet"


def _arithmetic(
    extender: ExtenderClient, ledger: dict[str, Any] | None, node: str, problems: list[str]
) -> dict[str, str]:
    """How the room of its node, or of the best node, comes about."""
    now = (ledger or {}).get("now") or {}
    chosen = node or (ledger or {}).get("charged_on", "") or next((each["node"] for each in now.get("best") or ()), "")
    if ledger is None or not chosen:
        return {}
    try:
        found = about_node(extender, chosen)
    except Unavailable as problem:
        problems.append(f"node {chosen}: {problem}")
        return {}
    return in_numbers(chosen, found["resources"])


def in_numbers(node: str, resources: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """The arithmetic of every kind of a node, by node and kind."""
    return {f"{node} {kind}": arithmetic(kind, line) for kind, line in resources.items()}


def arithmetic(kind: str, line: Mapping[str, Any]) -> str:
    """How a node's room comes about, in units people read; an extender of another version is shown in its own words."""
    try:
        found = roomsentence.read(line)
    except KeyError:
        return str(line.get("arithmetic", ""))
    unit = {"cpu": " cores", "memory": " GiB"}.get(kind, "")
    return roomsentence.sentence(found, partial(amount, kind), unit)
