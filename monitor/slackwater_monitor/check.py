"""Is Slackwater installed, reachable and at work here? One finding per part, each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any

from slackwater.errors import Unavailable
from slackwater.validation import without_user
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, ExtenderClient, Forbidden, NotFound
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_cluster.timestamps import parse
from slackwater_monitor.sources import decoding
from slackwater_simulator.charts.amounts import count

KINDS = ("slackpolicies", "admissionqueues", "reservationpools")
APPS = "trackedapps"
UNKNOWN = f"{{plural}}.{names.GROUP} is not known; install the chart's custom resources"
OLDEST = 33  # the minor version before which the chart refuses a cluster
POLICIES = 36  # the minor version from which admission policies change pods; before it a webhook does
WATCHDOG, WEBHOOK = "watchdog", "webhook"
COMPONENT = "app.kubernetes.io/component"
# What becomes of held pods while no operator leads.
STAY_HELD = "without a watchdog, held pods stay held: see `slackwater release`"
LET_GO = "the watchdog lets held pods go; `slackwater release` does so at once"


class Mark(StrEnum):
    """How a part does."""

    GOOD = "ok"
    WARNING = "warning"
    BAD = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part."""

    part: str
    mark: Mark
    words: str


def check(
    api: ApiClient, extender: ExtenderClient, prometheus: QueryConnection | None, system: str, now: Callable[[], float]
) -> Iterator[Finding]:
    """Every part in turn. Without the API server nothing else is asked."""
    found = _told("API server", lambda: _server(api))
    yield found
    if found.mark is Mark.BAD:
        return
    for kind in KINDS:
        yield _told(kind, partial(_resource, api, kind))
    yield _told(APPS, lambda: _apps(api))
    yield _told("namespaces", lambda: _namespaces(api), Mark.WARNING)
    helpers = list(_helpers(api))
    watched = any((each.part, each.mark) == (WATCHDOG, Mark.GOOD) for each in helpers)
    yield _told("operator", lambda: _operator(api, system, now(), LET_GO if watched else STAY_HELD))
    yield from helpers
    yield _told("extender", lambda: _extender(extender))
    if prometheus is not None:
        yield _told("Prometheus", lambda: _prometheus(prometheus))


def _told(part: str, look: Callable[[], Finding], otherwise: Mark = Mark.BAD) -> Finding:
    """What is found of a part; one that does not answer, or answers nonsense, is a finding as well."""
    try:
        with decoding.readable("its answer", {"extender": "it", "Prometheus": "it"}.get(part, "the API server")):
            return look()
    except Unavailable as problem:
        return Finding(part, otherwise, str(problem))


def _server(api: ApiClient) -> Finding:
    version = api.get("/version")
    text = f"Kubernetes {version.get('gitVersion', '?')} at {without_user(api.endpoint.url)}"
    if _minor(version) < OLDEST:
        return Finding("API server", Mark.WARNING, f"{text}: nothing before 1.{OLDEST} was ever tried")
    return Finding("API server", Mark.GOOD, text)


def _minor(version: Mapping[str, str]) -> int:
    """35 of "35+"."""
    return int("".join(filter(str.isdigit, version.get("minor", "0"))) or 0)


def _resource(api: ApiClient, plural: str) -> Finding:
    try:
        bodies = api.items(custom_path(plural))
    except NotFound:
        return Finding(plural, Mark.BAD, UNKNOWN.format(plural=plural))
    problems = [
        f"{body['metadata']['name']}: {text}" for body in bodies if (text := decoding.problem(body.get("status") or {}))
    ]
    if problems:
        return Finding(plural, Mark.BAD, "; ".join(problems))
    listed = ", ".join(body["metadata"]["name"] for body in bodies)
    return Finding(
        plural, Mark.GOOD if bodies else Mark.WARNING, listed or f"there is none: nothing is governed by {plural}"
    )


def _apps(api: ApiClient) -> Finding:
    """Whether the operator can write where apps stand; there may be none, or thousands: none of them is read."""
    try:
        api.get(custom_path(APPS), {"limit": "1"})
    except NotFound:
        return Finding(APPS, Mark.BAD, UNKNOWN.format(plural=APPS))
    return Finding(APPS, Mark.GOOD, "known; `slackwater apps` lists them")


def _namespaces(api: ApiClient) -> Finding:
    bodies = api.items("/api/v1/namespaces", {"labelSelector": f"{names.MANAGED}=true"})
    if not bodies:
        return Finding("namespaces", Mark.WARNING, f"none is managed; label one {names.MANAGED}=true")
    return Finding("namespaces", Mark.GOOD, ", ".join(body["metadata"]["name"] for body in bodies))


def _operator(api: ApiClient, system: str, now: float, otherwise: str) -> Finding:
    """The lease of the leading operator must be fresh; `otherwise` is what becomes of held pods where it is not."""
    try:
        leases = api.items(api_path("leases", group="coordination.k8s.io", namespace=system))
    except Forbidden as problem:
        return Finding("operator", Mark.WARNING, f"its lease cannot be read: {problem}")
    ours = [
        each for each in leases if "slackwater" in each["metadata"]["name"] and "operator" in each["metadata"]["name"]
    ]
    if not ours:
        return Finding("operator", Mark.BAD, f"no operator ever led in {system}: {otherwise}")
    spec = ours[0].get("spec") or {}
    age = now - (parse(spec["renewTime"]) if spec.get("renewTime") else 0.0)
    holder = spec.get("holderIdentity") or "nobody"
    if holder == "nobody" or age > 2 * float(spec.get("leaseDurationSeconds") or 15):
        since = datetime.fromtimestamp(now - age, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return Finding("operator", Mark.BAD, f"{holder} led until {since}: {otherwise}")
    return Finding("operator", Mark.GOOD, f"{holder} leads")


def _helpers(api: ApiClient) -> Iterator[Finding]:
    """The watchdog, wherever it lives, and the webhook where the API server needs one."""
    chosen = f"app.kubernetes.io/name=slackwater,{COMPONENT} in ({WATCHDOG}, {WEBHOOK})"
    try:
        with decoding.readable("its Deployment"):
            before = _minor(api.get("/version")) < POLICIES
            found = api.items(api_path("deployments", group="apps"), {"labelSelector": chosen})
            by_part = {(each["metadata"].get("labels") or {}).get(COMPONENT): each for each in found}
    except Unavailable as problem:
        yield Finding(WATCHDOG, Mark.WARNING, f"whether it runs cannot be read: {problem}")
        return
    held = "when no operator leads, held pods stay held (value watchdog.enabled)"
    yield _told(WATCHDOG, lambda: _deployment(WATCHDOG, by_part.get(WATCHDOG), held))
    if before or WEBHOOK in by_part:
        not_held = "new pods are not held (value admission.mutating)"
        yield _told(WEBHOOK, lambda: _deployment(WEBHOOK, by_part.get(WEBHOOK), not_held))


def _deployment(part: str, body: Mapping[str, Any] | None, otherwise: str) -> Finding:
    """Whether one of its pods is there, and what its controller says where none is."""
    if body is None:
        return Finding(part, Mark.WARNING, f"there is none: {otherwise}")
    namespace, status = body["metadata"].get("namespace", "?"), body.get("status") or {}
    if status.get("availableReplicas"):
        return Finding(part, Mark.GOOD, f"runs in {namespace}")
    said = [
        str(each.get("message"))
        for each in status.get("conditions") or ()
        if (each.get("type"), each.get("status")) in (("ReplicaFailure", "True"), ("Available", "False"))
    ]
    return Finding(part, Mark.BAD, "; ".join([f"no pod of it runs in {namespace}: {otherwise}", *sorted(said)]))


def _extender(extender: ExtenderClient) -> Finding:
    ready = extender.get("/readyz")
    if ready.get("reasons"):
        return Finding("extender", Mark.WARNING, f"{ready['status']}: {'; '.join(map(str, ready['reasons']))}")
    return Finding("extender", Mark.GOOD, f"ready ({extender.where})")


def _prometheus(where: QueryConnection) -> Finding:
    server = Prometheus(where)
    try:
        up = [
            value
            for _, value in server.instant("count(container_memory_working_set_bytes)", datetime.now(UTC).timestamp())
        ]
    finally:
        server.close()
    if not up:
        return Finding(
            "Prometheus", Mark.BAD, f"{where.address} has no container_memory_working_set_bytes now; scrape kubelets"
        )
    return Finding("Prometheus", Mark.GOOD, f"{where.address} measures {count(round(up[0]), 'container')}")
