"""Custom resources and the extender's answers, turned into views. Pure: bodies in, views out.

A body that is not what it should be costs itself only: `read` sets it aside and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster.objects import wire
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_cluster.timestamps import parse_or_none
from slackwater_monitor.sources.answers import LARGEST
from slackwater_monitor.sources.views import QUIET, Amounts, App, Bar, Node, Pool, Queue, Side, Start

Body = Mapping[str, Any]
View = TypeVar("View")
# What decoding meets in a body of the wrong shape.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
    SlackwaterError,
)


def read(decode: Callable[[Any], View], bodies: Iterable[Any], what: str) -> tuple[list[View], list[str]]:
    """The views of all bodies that can be read, and one sentence about those that cannot, if there are any."""
    views: list[View] = []
    wrong: list[str] = []
    for body in bodies:
        try:
            views.append(sound(decode(body)))
        except UNREADABLE as problem:
            wrong.append(f"{_name(body)}: {str(problem)[:200]}")
    left_out = f"{len(wrong)} of the {what} cannot be read and {'is' if len(wrong) == 1 else 'are'} left out"
    return views, [f"{left_out}: {wrong[0]}"] if wrong else []


def sound(view: View) -> View:
    """The view, each field of which is what it should be, and each number one that can be added to others."""
    plain = msgspec.to_builtins(view)
    _bounded(plain)
    return msgspec.convert(plain, type(view))


def _bounded(plain: Any) -> None:
    if isinstance(plain, float) and not -LARGEST <= plain <= LARGEST:
        raise ValueError(f"{plain} is beyond every amount of a cluster")
    if isinstance(plain, dict | list):
        for each in plain.values() if isinstance(plain, dict) else plain:
            _bounded(each)


@contextmanager
def readable(what: str, who: str = "the API server") -> Iterator[None]:
    """Whatever cannot be read inside is told in one sentence; who does not answer says itself so."""
    try:
        yield
    except Unavailable:
        raise
    except UNREADABLE as problem:
        raise Unavailable(f"{what} cannot be read: {who} answers {problem!r:.200}") from problem


def _name(body: object) -> str:
    meta = body.get("metadata", body) if isinstance(body, Mapping) else None
    return str(meta.get("name", "one without a name"))[:253] if isinstance(meta, Mapping) else "one that is no object"


def amounts(found: Mapping[str, object] | None) -> dict[str, float]:
    """Quantities of a custom resource as numbers."""
    return {kind: parse_quantity(str(text)) for kind, text in (found or {}).items()}


def apps_at(now: float) -> Callable[[Body], App]:
    """Reads TrackedApps for somebody who looks now: forecasts count from when they were written."""
    return lambda body: app(body, now)


def app(body: Body, now: float | None = None) -> App:
    """A TrackedApp, as it is read now; else as it was written."""
    meta, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    age = _age(status.get("start"), now)
    wait = status.get("waitSeconds")
    return App(
        namespace=meta["namespace"],
        name=spec.get("app", meta["name"]),
        phase=status.get("phase", "Waiting"),
        queue=spec.get("queue", ""),
        framework=spec.get("framework", ""),
        category=status.get("category", ""),
        position=status.get("position"),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        wait=None if wait is None else max(0.0, wait - age),
        wait_error=status.get("waitErrorSeconds"),
        start=start(status.get("start"), age),
        pods={state: int(count) for state, count in (status.get("pods") or {}).items()},
        declared=amounts(status.get("declared")),
        used=amounts(status.get("used")),
        efficiency=status.get("efficiency"),
        submitted=parse_or_none(meta.get("creationTimestamp")),
        title=spec.get("name", ""),
    )


def _age(found: Body | None, now: float | None) -> float:
    """Seconds since a forecast was made; 0 of an operator that does not say when."""
    written = parse_or_none((found or {}).get("at"))
    return max(0.0, now - written) if now is not None and written is not None else 0.0


def start(found: Body | None, age: float = 0.0) -> Start | None:
    """When an app is expected to start, or why that is not known."""
    if not found:
        return None
    low, middle, high = (found.get(f"{name}Seconds") for name in ("low", "middle", "high"))
    return Start(low, middle, high, found.get("source", ""), found.get("unknown", "")).after(age)


def _next(found: Body | None, now: float) -> Start | None:
    """A forecast for whoever comes next; none any more once its queue has stood still for longer than it says."""
    made = start(found)
    late = made is not None and made.known and not made.after(_age(found, now)).known
    return Start(unknown=QUIET) if late else made


def queues_at(now: float) -> Callable[[Body], Queue]:
    """Reads AdmissionQueues for somebody who looks now."""
    return lambda body: queue(body, now)


def queue(body: Body, now: float) -> Queue:
    """An AdmissionQueue, as it is read now: what it forecasts is as of when it last moved."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    return Queue(
        name=body["metadata"]["name"],
        state=spec.get("state", "open"),
        order=spec.get("order", "fifo"),
        namespaces=tuple(spec.get("namespaces") or ()),
        capacity=amounts(status.get("capacity")),
        reservation=amounts(status.get("reservation")),
        budget=amounts(status.get("budget")),
        drivers_running=int(status.get("driversRunning", 0)),
        drivers_waiting=int(status.get("driversWaiting", 0)),
        held=int(status.get("podsHeld", 0)),
        released=int(status.get("podsReleased", 0)),
        waiting=int(status.get("appsWaiting", 0)),
        next_small=_next(status.get("nextSmall"), now),
        next_large=_next(status.get("nextLarge"), now),
        problem=problem(status),
    )


def problem(status: Body) -> str:
    """What the conditions say against an object; empty where all is well."""
    return "; ".join(
        each.get("message", each.get("reason", ""))
        for each in status.get("conditions") or ()
        if each.get("status") == "False" and each.get("type") in ("Ready", "Valid", "Accepted")
    )


def pool(body: Body) -> Pool:
    """A ReservationPool."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    return Pool(
        name=body["metadata"]["name"],
        queue=spec.get("queue", "default"),
        delta=status.get("delta"),
        total=float(status.get("total", 0.0)),
        small=_side(status.get("small")),
        large=_side(status.get("large")),
        forecast_error=float(status.get("forecastError", 0.0)),
    )


def _side(found: Body | None) -> Side:
    chosen = found or {}
    return Side(**{name: float(chosen.get(name, 0.0)) for name in ("occupied", "available", "demand", "forecast")})


def node(body: Body) -> Node:
    """A node as the extender's /v1/nodes tells it; drivers count with what they are charged, max(use, request)."""
    drivers = _numbers(body, "drivers")
    return Node(
        name=body["name"],
        open=bool(body.get("open", True)),
        stale=bool(body.get("stale", False)),
        allocatable=_numbers(body, "allocatable"),
        allowed=_numbers(body, "allowed"),
        declared=_numbers(body, "declared"),
        used=_sum(_numbers(body, "used"), drivers),
        estimate=_sum(_numbers(body, "estimate"), drivers),
        room=_numbers(body, "room"),
    )


def _numbers(body: Body, name: str) -> Amounts:
    return {kind: float(value) for kind, value in (body.get(name) or {}).items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {kind: value + other.get(kind, 0.0) for kind, value in one.items()}


def plain_node(body: Body) -> Node:
    """A node as the API server tells it: all that is known where there is no extender."""
    status = body.get("status") or {}
    size = {kind: parse_quantity(str(text)) for kind, text in (status.get("allocatable") or {}).items()}
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())
    cordoned = bool((body.get("spec") or {}).get("unschedulable"))
    return Node(name=body["metadata"]["name"], allocatable=size, open=ready and not cordoned, stale=True)


def bar(pod: wire.Pod, role: str, stage: str) -> Bar:
    """A pod as a bar of its app's Gantt chart."""
    meta, spec, status = pod.metadata, pod.spec or wire.PodSpec(), pod.status or wire.PodStatus()
    created = _unix(meta.creation_timestamp) or 0.0
    start = _start(status)
    return Bar(
        pod=meta.name,
        role=role,
        stage=stage,
        node=spec.node_name or "",
        created=created,
        start=start,
        end=_end(status, created if start is None else start) if status.phase in ("Succeeded", "Failed") else None,
        phase=status.phase or "",
    )


def _start(status: wire.PodStatus) -> float | None:
    """When the first container started; of restarted ones, whose first life is not told, when the node took the pod."""
    containers = status.container_statuses or ()
    states = [each.state for each in containers if each.state is not None]
    lives = [life for state in states if (life := state.terminated or state.running) is not None]
    known = [at for life in lives if (at := _unix(life.started_at)) is not None]
    restarted = any(each.last_state and each.last_state.terminated for each in containers)
    taken = _unix(status.start_time) if status.phase not in ("Pending", "", None) else None
    return taken if taken is not None and (restarted or not known) else min(known, default=None)


def _end(status: wire.PodStatus, start: float) -> float:
    """When a pod that is over ended: its last container, else its newest condition, and never before it began."""
    ended = [each.state.terminated for each in status.container_statuses or () if each.state and each.state.terminated]
    told = [_unix(each.finished_at) for each in ended]
    changed = [_unix(each.last_transition_time) for each in status.conditions or ()]
    known = [at for at in told if at is not None] or [at for at in changed if at is not None]
    return max([*known, start])


def _unix(at: datetime | None) -> float | None:
    return at.timestamp() if at is not None else None
