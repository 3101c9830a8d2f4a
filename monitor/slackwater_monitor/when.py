"""When an app would start that is not submitted yet: its manifest, read beside the queue it would wait in.

What the operator wrote into the queue's status is all that is needed: how many apps wait there, and when the next
small or large one would start, by what earlier forecasts missed (`slackwater.pools.startforecast`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from slackwater.errors import InvalidInput, SlackwaterError, Unavailable
from slackwater.pools.pools import Category, classify
from slackwater.resources import NOTHING, Resources, holding, places, times
from slackwater.validation import fault
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.paths import custom_path
from slackwater_cluster.apps.listing import read_governance
from slackwater_cluster.apps.size import ANNOUNCED, AppSize, announced, at, from_object
from slackwater_cluster.apps.statements import largest
from slackwater_cluster.customresources import Mode
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects import wire
from slackwater_cluster.pods.requests import native
from slackwater_cluster.watch import trim
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.answers import about_nodes
from slackwater_monitor.sources.views import Node, Queue, Start
from slackwater_simulator.charts.amounts import amount, count

TEMPLATES = ("spec.template.metadata", "spec.driver", "metadata")  # where a size may be announced
NO_STATUS = "queue {queue} has no status: is the operator running?"


class Sized(NamedTuple):
    """A manifest and its size."""

    body: Mapping[str, Any]
    size: AppSize
    requests: tuple[Resources, ...]  # of its tasks, each size once


@dataclass(frozen=True, slots=True)
class Forecast:
    """The answer about one app."""

    app: str  # kind and name, as written
    namespace: str
    queue: str
    tasks: int
    request: Mapping[str, float]  # of one task
    size: str  # small or large
    fitting: int | None  # tasks for which there is room now; None: the extender did not say
    waiting: int  # apps that wait in the queue
    start: Start | None  # None: at once, or never
    sentence: str


def sized(bodies: Iterable[Mapping[str, Any]]) -> list[Sized]:
    """The objects of a manifest whose size is written there; at least one."""
    found = [Sized(body, size, (size.request,)) for body in bodies if (size := _size(body)) is not None]
    if not found:
        kinds = sorted({row.size.kind for row in builtin().frameworks if row.size} | {"Pod"})
        raise InvalidInput("FILE", "it holds no app whose size is written there", f"give one of {', '.join(kinds)}")
    return found


def forecast(
    api: ApiClient, extender: ExtenderClient, bodies: Iterable[Mapping[str, Any]], namespace: str, system: str
) -> list[Forecast]:
    """When each app of a manifest would start if it were submitted now."""
    found = apps(sized(bodies), namespace)
    nodes = _nodes(extender)
    with decoding.readable("what queues, pools or policies say"):
        governance = _governance(api, {str(at(body, "metadata.namespace") or namespace) for body, *_ in found}, system)
        return [_one(api, governance, nodes, each, namespace) for each in found]


def apps(found: Iterable[Sized], namespace: str) -> list[Sized]:
    """Objects that carry one app label are one app, in the order of their first; any other is one by itself."""
    groups: dict[object, list[Sized]] = {}
    for number, each in enumerate(found):
        app = _label(each.body, names.APP)
        key = (at(each.body, "metadata.namespace") or namespace, app) if app else number
        groups.setdefault(key, []).append(each)
    return [_together(parts) if len(parts) > 1 else parts[0] for parts in groups.values()]


def _together(parts: Sequence[Sized]) -> Sized:
    """The size of the whole: what any part announces, as the operator reads it, or else the tasks of all parts.

    Drivers are no tasks, but may announce them. One mean task stands for parts of different sizes.
    """
    tasks = [part for part in parts if _label(part.body, names.ROLE) != names.DRIVER] or parts
    metadata = {**tasks[0].body["metadata"], "name": _label(tasks[0].body, names.APP)}
    stated = largest([part.size for part in parts if part.size.source == ANNOUNCED])
    whole = stated or _sum([part.size for part in tasks])
    asked = [*(request for part in tasks for request in part.requests), *((stated.request,) if stated else ())]
    return Sized({"kind": "app", "metadata": metadata}, whole, tuple(dict.fromkeys(asked)))


def _sum(sizes: Sequence[AppSize]) -> AppSize:
    tasks = sum(each.tasks for each in sizes)
    asked = times((each.request, each.tasks) for each in sizes)
    return AppSize(tasks, asked * (1 / tasks) if tasks else NOTHING, sizes[0].source)


def _label(body: Mapping[str, Any], name: str) -> str:
    """A label of the pods that an object makes, or of the object."""
    places = (at(body, f"{place}.labels") for place in ("spec.template.metadata", "metadata"))
    return next((str(labels[name]) for labels in places if isinstance(labels, Mapping) and name in labels), "")


def _size(body: Mapping[str, Any]) -> AppSize | None:
    """The size that a manifest says; refused where it is none that an API server takes."""
    try:
        return app_size(_completed(body))
    except SlackwaterError:
        raise
    except (RecursionError, *decoding.UNREADABLE) as problem:  # an alias may stand for what it is in
        what = " ".join(str(word) for word in (body.get("kind"), at(body, "metadata.name")) if word)
        trouble = f"{what or 'an object'} is not written as Kubernetes reads it ({fault(problem)})"
        raise InvalidInput("FILE", trouble, "try `kubectl apply --dry-run=server`") from problem


def _completed(body: Any) -> Any:
    """A manifest as the API server completes it: what a container limits and does not request, it requests."""
    if isinstance(body, list):
        return [_completed(each) for each in body]
    if not isinstance(body, Mapping):
        return body
    made = {key: _completed(value) for key, value in body.items()}
    if isinstance(made.get("limits"), Mapping):
        made["requests"] = {**made["limits"], **(made.get("requests") or {})}
    return made


def app_size(body: Mapping[str, Any]) -> AppSize | None:
    """How many tasks a manifest asks for, and how much for each; None where it does not say."""
    for place in TEMPLATES:
        stated = announced({key: str(value) for key, value in (at(body, f"{place}.annotations") or {}).items()})
        if stated is not None:
            return stated
    if body.get("kind") == "Pod":
        pod = msgspec.convert({"spec": body.get("spec") or {}}, wire.Pod, strict=False)
        return AppSize(1, native(pod), "manifest")
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    rules = [row.size for row in builtin().frameworks if row.size is not None]
    rule = next((each for each in rules if (each.kind, each.group) == (body.get("kind"), group)), None)
    if rule is None:
        return None
    if rule.kind == "Job" and at(body, rule.count) is None:  # parallelism is 1 where nobody wrote it
        body = {**body, "spec": {**(body.get("spec") or {}), "parallelism": 1}}
    return from_object(rule, body)


def _governance(api: ApiClient, namespaces: set[str], system: str) -> Governance:
    governance = read_governance(api, namespaces, system)
    for kind, plural in (("AdmissionQueue", "admissionqueues"), ("ReservationPool", "reservationpools")):
        found = api.items(custom_path(plural))
        governance.set(kind, [trim.custom(msgspec.convert(body, wire.Custom, strict=False)) for body in found])
    return governance


def _nodes(extender: ExtenderClient) -> Sequence[Node] | None:
    """All nodes; None where the extender does not say, or a node cannot be read that may be the largest."""
    try:
        found, wrong = decoding.read(decoding.node, about_nodes(extender), "nodes")
    except Unavailable:
        return None
    return None if wrong else found


def _one(
    api: ApiClient,
    governance: Governance,
    nodes: Sequence[Node] | None,
    app: Sized,
    default: str,
) -> Forecast:
    body, size, requests = app
    namespace = str(at(body, "metadata.namespace") or default)
    name = at(body, "metadata.name") or at(body, "metadata.generateName") or ""
    queue_name = governance.queue_of(namespace)
    queue = _queue(api, queue_name)
    kind = _category(governance, queue_name, queue, size)
    fitting = None if nodes is None else _fitting(nodes, size)
    never = next(filter(None, (_never(nodes, request) for request in requests)), "")
    start, sentence = _start(governance, namespace, queue_name, queue, kind, size, fitting, never)
    return Forecast(
        app=f"{body.get('kind')} {name}",
        namespace=namespace,
        queue=queue_name,
        tasks=size.tasks,
        request=dict(size.request.items()),
        size=kind.value,
        fitting=fitting,
        waiting=queue.waiting if queue else 0,
        start=start,
        sentence=sentence,
    )


def _start(
    governance: Governance,
    namespace: str,
    queue_name: str,
    queue: Queue | None,
    kind: Category,
    size: AppSize,
    fitting: int | None,
    never: str,
) -> tuple[Start | None, str]:
    """The interval where it would wait, and the answer as a sentence."""
    if not governance.managed(namespace):
        return None, f"namespace {namespace} is not managed: label it {names.MANAGED}=true, or ask its own scheduler"
    if never:
        return None, never
    mode = governance.mode(namespace)
    if mode is not Mode.ENFORCE:
        return (
            None,
            f"nothing is held in namespace {namespace} (mode {mode.value}): it starts as soon as a node has room",
        )
    if queue is None:
        found = Start(unknown=NO_STATUS.format(queue=queue_name))
    elif queue.waiting == 0 and fitting:
        room = f"{fitting} of {count(size.tasks, 'task has', 'tasks have')} room now"
        return None, f"at once: nobody waits in queue {queue_name}, and {room}"
    else:
        known = queue.next_small if kind is Category.SMALL else queue.next_large
        found = known or Start(unknown=NO_STATUS.format(queue=queue_name))
    ahead = f"; {count(queue.waiting, 'app waits', 'apps wait')} in queue {queue_name}" if queue else ""
    return found, f"{found.sentence}{ahead}"


def _queue(api: ApiClient, name: str) -> Queue | None:
    """The queue with its status; None where it has none."""
    found = next((each for each in api.items(custom_path("admissionqueues")) if each["metadata"]["name"] == name), None)
    return decoding.sound(decoding.queue(found, time.time())) if found and found.get("status") else None


def _category(governance: Governance, name: str, queue: Queue | None, size: AppSize) -> Category:
    """Small or large, as the operator will find: by its share of the queue's capacity where a pool guards it."""
    pool = governance.pools.get(governance.pool_of(name))
    if pool is None or queue is None or not queue.capacity:
        return Category.LARGE
    pooled = Resources({kind: value for kind, value in size.request.items() if queue.capacity.get(kind)})
    return classify((pooled * size.tasks).share(Resources(queue.capacity)), 1.0, pool.theta)


def _fitting(nodes: Sequence[Node], size: AppSize) -> int:
    """For how many tasks there is room: all of them where they ask for nothing; an overfull node has none."""
    rooms = [[node.room.get(kind, 0.0) for kind in size.request] for node in nodes if node.open]
    found = places(np.array(rooms).reshape(len(rooms), len(size.request)), size.request.values())
    return min(size.tasks, int(found.sum()))


def _never(nodes: Sequence[Node] | None, request: Resources) -> str:
    """Why no node could ever take a task; "" where one could, or nobody knows."""
    if not nodes:
        return ""
    offered = np.array([[node.allocatable.get(kind, 0.0) for kind in request] for node in nodes])
    if holding(offered, request.values()).any():
        return ""
    for (kind, value), most in zip(request.items(), offered.max(axis=0), strict=True):
        if value > most:
            asked, has = amount(kind, value, unit=True), amount(kind, float(most), unit=True)
            return f"never: a task asks for {asked}, and no node has more than {has}; lower the request"
    asked = " and ".join(amount(kind, value, unit=True) for kind, value in request.items())
    return f"never: a task asks for {asked}, and no node has all of that; lower the request"
