"""Freeing pods by hand, where the operator is gone or somebody must not wait: lift our gate, take back parking.

Only our own gate is lifted. Who may do so is decided by the API server (verb `release` on gates.slackwater.io).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, NotFound
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import STRATEGIC
from slackwater_cluster.apps.listing import ListedPod, unbound_pods
from slackwater_cluster.pods.gate import MARKS, lifted


@dataclass(frozen=True, slots=True)
class Held:
    """A pod that our gate or parking holds."""

    namespace: str
    name: str
    uid: str
    app: str
    gates: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # annotations of ours that go with the gate

    @property
    def others(self) -> tuple[str, ...]:
        """Gates of other controllers, which stay."""
        return tuple(gate for gate in self.gates if gate != names.GATE)


def held(api: ApiClient, namespace: str | None, *, system: str = names.SYSTEM_NAMESPACE) -> list[Held]:
    """Every pod that we hold, in one namespace or all, with its app as the operator knows it."""
    return [
        _held(each)
        for each in unbound_pods(api, namespace, lambda record: record.gated or record.parked, system=system)
    ]


def _held(each: ListedPod) -> Held:
    pod = each.record
    marks = tuple(mark for mark in MARKS if mark in pod.annotations)
    return Held(pod.namespace, pod.name, pod.uid, each.member.app, pod.gates, marks)


def chosen(found: Sequence[Held], pods: Iterable[str], app: str | None) -> tuple[list[Held], list[str]]:
    """The pods asked for by name or app (all where neither is given), and the names that are not held."""
    wanted = list(pods)
    if not wanted and app is None:
        return list(found), []
    picked = [each for each in found if each.name in wanted or (app is not None and each.app == app)]
    return picked, [name for name in wanted if name not in {each.name for each in picked}]


@dataclass(frozen=True, slots=True)
class Released(Held):
    """A pod that was held, and what became of it."""

    result: str = ""
    problem: str = ""  # why it was not freed


FREED, NOT_FREED, WOULD = "freed", "not freed", "would be freed"


def released(api: ApiClient, each: Held, *, dry_run: bool = False) -> Released:
    """Free one pod, or only say that it would be; gives what came of it."""
    problem = "" if dry_run else release(api, each)
    result = WOULD if dry_run else NOT_FREED if problem else FREED
    return Released(each.namespace, each.name, each.uid, each.app, each.gates, each.marks, result, problem)


def release(api: ApiClient, each: Held) -> str:
    """Free one pod; gives why it could not be, or nothing."""
    try:
        api.patch(
            api_path("pods", each.name, namespace=each.namespace), lifted(each.uid, each.gates, each.marks), STRATEGIC
        )
    except NotFound:
        return "it is gone"
    except Unavailable as problem:
        return str(problem)
    return ""
