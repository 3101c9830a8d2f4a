"""Freeing pods by hand, where the operator is gone or somebody must not wait: lift our gate, take back parking.

Only our own gate is lifted. Who may do so is decided by the API server (verb `release` on gates.slackwater.io).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, NotFound
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_cluster.api.paths import api_path, custom_path
from slackwater_cluster.apps.listing import ListedPod, unbound_pods
from slackwater_cluster.pods.gate import MARKS, lifted
from slackwater_monitor.sources import decoding

# Writes at once, as many as the operator's.
IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class Held:
    """A pod that our gate or parking holds."""

    namespace: str
    name: str
    uid: str
    app: str
    gates: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # annotations of ours that go with the gate
    title: str = ""  # what people call its app, as `slackwater apps` shows it

    @property
    def shown(self) -> str:
        """What people call its app, else the app's id."""
        return self.title or self.app

    def of(self, app: str) -> bool:
        """Whether its app is called so: by its id or by what people call it, with or without the namespace."""
        known = {name for name in (self.app, self.title) if name}
        return app in known | {f"{self.namespace}/{name}" for name in known}

    @property
    def others(self) -> tuple[str, ...]:
        """Gates of other controllers, which stay."""
        return tuple(gate for gate in self.gates if gate != names.GATE)


def held(api: ApiClient, namespace: str | None, *, system: str = names.SYSTEM_NAMESPACE) -> list[Held]:
    """Every pod that we hold, in one namespace or all, with its app as the operator knows it."""
    titles = _titles(api, namespace)
    return [
        _held(each, titles)
        for each in unbound_pods(api, namespace, lambda record: record.gated or record.parked, system=system)
    ]


def _titles(api: ApiClient, namespace: str | None) -> dict[tuple[str, str], str]:
    """What people call each app; nothing where nobody tells: pods are freed without it."""
    try:
        bodies = api.items(custom_path("trackedapps", namespace=namespace or ""))
    except Unavailable:
        return {}
    apps, _ = decoding.read(decoding.app, bodies, "trackedapps")
    return {(app.namespace, app.name): app.title for app in apps}


def _held(each: ListedPod, titles: Mapping[tuple[str, str], str]) -> Held:
    pod, app = each.record, each.member.app
    marks = tuple(mark for mark in MARKS if mark in pod.annotations)
    return Held(pod.namespace, pod.name, pod.uid, app, pod.gates, marks, titles.get((pod.namespace, app), ""))


def places(pods: Sequence[str], app: str | None, place: str | None) -> list[str | None]:
    """The namespaces to look into: those before names of pods, and the chosen one (None: all) for whatever else.

    Who names nothing but NAMESPACE/NAME need not have the right to list any other namespace.
    """
    written: list[str | None] = [name.partition("/")[0] for name in pods if "/" in name]
    if pods and len(written) == len(pods) and app is None:
        return list(dict.fromkeys(written))
    return [None] if place is None else list(dict.fromkeys([place, *written]))


def chosen(
    found: Sequence[Held], pods: Iterable[str], app: str | None, place: str | None = None
) -> tuple[list[Held], list[str]]:
    """The pods asked for by NAME, NAMESPACE/NAME or app (all where none is given), and what of it is not held.

    A name without a namespace, and an app, are looked for in one place; None: everywhere.
    """
    wanted = {name: name if "/" in name or place is None else f"{place}/{name}" for name in pods}
    here = [each for each in found if place in (None, each.namespace)]
    if not wanted and app is None:
        return here, []
    mine = {each.uid for each in here if app is not None and each.of(app)}
    picked = [each for each in found if each.uid in mine or _names(each) & set(wanted.values())]
    known = {name for each in picked for name in _names(each)}
    absent = [f"app {app}"] if app is not None and not mine else []
    return picked, [*(name for name, full in wanted.items() if full not in known), *absent]


def _names(each: Held) -> set[str]:
    return {each.name, f"{each.namespace}/{each.name}"}


@dataclass(frozen=True, slots=True)
class Released(Held):
    """A pod that was held, and what became of it."""

    result: str = ""
    problem: str = ""  # why it was not freed


FREED, NOT_FREED, WOULD = "freed", "not freed", "would be freed"


def released(api: ApiClient, found: Iterable[Held], *, dry_run: bool = False) -> list[Released]:
    """Free pods, or only say that they would be; gives what came of each, in their order.

    Side by side: a pod whose write is not answered, as where a webhook hangs that is asked about it, holds up few.
    """
    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="release") as pool:
        return list(pool.map(partial(_released, api, dry_run), found))


def _released(api: ApiClient, dry_run: bool, each: Held) -> Released:
    problem = "" if dry_run else release(api, each)
    result = WOULD if dry_run else NOT_FREED if problem else FREED
    return Released(**asdict(each), result=result, problem=problem)


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
