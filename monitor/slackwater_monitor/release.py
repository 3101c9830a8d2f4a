"""Freeing pods by hand, where the operator is gone or somebody must not wait: lift our gate, take back parking.

Only our own gate is lifted. Who may do so is decided by the API server (verb `release` on gates.slackwater.io).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.client import JSON_PATCH, ApiClient, NotFound
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.apps.frameworks import builtin
from slackwater_cluster.apps.resolver import Resolver
from slackwater_monitor.sources.live import Family, record


@dataclass(frozen=True, slots=True)
class Held:
    """A pod that our gate or parking holds."""

    namespace: str
    name: str
    app: str
    gate: int | None  # position of our gate among its gates
    parked: bool
    others: tuple[str, ...] = ()  # gates of other controllers, which stay

    @property
    def patch(self) -> list[dict[str, Any]]:
        """What must change. The test makes sure that the gate is still where it was seen."""
        steps: list[dict[str, Any]] = []
        if self.gate is not None:
            path = f"/spec/schedulingGates/{self.gate}"
            steps += [{"op": "test", "path": f"{path}/name", "value": names.GATE}, {"op": "remove", "path": path}]
        if self.parked:
            steps.append({"op": "remove", "path": f"/metadata/annotations/{names.PARKED.replace('/', '~1')}"})
        return steps


def held(api: ApiClient, namespace: str | None) -> list[Held]:
    """Every pod that we hold, in one namespace or all."""
    bodies = api.items(api_path("pods", namespace=namespace or ""), {"fieldSelector": "spec.nodeName="})
    records = {body["metadata"]["uid"]: record(body) for body in bodies}
    resolver, family = Resolver.of(builtin()), Family(records)
    found = (_held(body, resolver.resolve(records[body["metadata"]["uid"]], family).app) for body in bodies)
    return [each for each in found if each.gate is not None or each.parked]


def _held(body: dict[str, Any], app: str) -> Held:
    meta = body["metadata"]
    gates = [gate["name"] for gate in (body.get("spec") or {}).get("schedulingGates") or ()]
    return Held(
        namespace=meta["namespace"],
        name=meta["name"],
        app=app,
        gate=gates.index(names.GATE) if names.GATE in gates else None,
        parked=names.PARKED in (meta.get("annotations") or {}),
        others=tuple(gate for gate in gates if gate != names.GATE),
    )


def chosen(found: Sequence[Held], pods: Iterable[str], app: str | None) -> tuple[list[Held], list[str]]:
    """The pods asked for by name or app (all where neither is given), and the names that are not held."""
    wanted = list(pods)
    if not wanted and app is None:
        return list(found), []
    picked = [each for each in found if each.name in wanted or (app is not None and each.app == app)]
    return picked, [name for name in wanted if name not in {each.name for each in picked}]


def release(api: ApiClient, each: Held) -> str:
    """Free one pod; gives why it could not be, or nothing."""
    try:
        api.patch(api_path("pods", each.name, namespace=each.namespace), each.patch, JSON_PATCH)
    except NotFound:
        return "it is gone"
    except Unavailable as problem:
        return str(problem)
    return ""
