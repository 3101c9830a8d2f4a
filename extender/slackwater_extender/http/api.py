"""What the operator, the command line and people may read: nodes, capacity, decisions, explanations, wake-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import msgspec
import orjson
from flask import Blueprint, Response, request

import slackwater
from slackwater.errors import InvalidInput
from slackwater_cluster.extenderapi import FreedReply, UsageReply, WakeupsReply, WokenPod
from slackwater_extender.components import Components
from slackwater_extender.http.openapi import document
from slackwater_extender.scheduling import explain as explaining

JSON = "application/json"
LONGEST_WAIT = 10.0  # seconds a caller of /v1/wakeups may wait: each holds one thread


def api(parts: Components) -> Blueprint:
    """Every GET route."""
    made = Blueprint("api", __name__)
    routes: dict[str, Callable[..., Response]] = {
        "/v1/nodes": nodes,
        "/v1/nodes/<name>": node,
        "/v1/capacity": capacity,
        "/v1/rooms": rooms,
        "/v1/decisions": decisions,
        "/v1/explain/<namespace>/<name>": explain,
        "/v1/wakeups": wakeups,
        "/v1/freed": freed,
        "/v1/usage": usage,
        "/v1/version": version,
        "/openapi.json": described,
        "/healthz": healthz,
        "/readyz": readyz,
    }
    for rule, view in routes.items():
        made.add_url_rule(rule, view.__name__, partial(view, parts))
    return made


def said(body: object, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), status=status, mimetype=JSON)


def encoded(reply: msgspec.Struct) -> Response:
    """An answer of which the operator has the same struct."""
    return Response(msgspec.json.encode(reply), mimetype=JSON)


def nodes(parts: Components) -> Response:
    """GET /v1/nodes?selector=key=value,…: every node in short."""
    return said({"kinds": parts.cache.kinds, "nodes": explaining.nodes(parts.cache, _selector())})


def node(parts: Components, name: str) -> Response:
    """GET /v1/nodes/NAME: the ledger of one node, with the arithmetic spelled out."""
    with parts.cache.lock:
        if name not in parts.cache.nodes:
            return said({"error": f"there is no node {name}"}, 404)
        return said(explaining.node(parts.cache, name))


def capacity(parts: Components) -> Response:
    """GET /v1/capacity?selector=…: sums over open nodes, and Tot of the pools."""
    with parts.cache.lock:
        return said(explaining.capacity(parts.cache, _selector()))


def rooms(parts: Components) -> Response:
    """GET /v1/rooms: every node's room as arrays."""
    _note_leader(parts)
    return encoded(explaining.rooms(parts.cache, parts.instance))


def decisions(parts: Components) -> Response:
    """GET /v1/decisions?namespace=&pod=&result=&limit=: the newest first."""
    asked = request.args
    found = parts.decisions.latest(
        namespace=asked.get("namespace", ""),
        pod=asked.get("pod", ""),
        result=asked.get("result", ""),
        limit=min(_number("limit", 100), parts.settings.decisions.remembered),
    )
    return said({"decisions": [asdict(each) for each in found]})


def explain(parts: Components, namespace: str, name: str) -> Response:
    """GET /v1/explain/NAMESPACE/POD: why it waits, or why it is where it is."""
    found = explaining.pod(parts.cache, parts.waiting, parts.decisions, namespace, name)
    return said(found) if found else said({"error": f"there is no pod {namespace}/{name}"}, 404)


def wakeups(parts: Components) -> Response:
    """GET /v1/wakeups?after=N&wait=SECONDS: refused pods that have room now; ask on with the `next` of the answer.

    Waiting holds a thread, so it needs a caller that proves itself, and only so many wait at once: others are told what
    there is now.
    """
    with _waiting(parts) as wait:
        last, news = parts.waiting.news(_number("after", 0), wait)
    return encoded(WakeupsReply(last, [WokenPod(**asdict(each)) for each in news], len(parts.waiting)))


def freed(parts: Components) -> Response:
    """GET /v1/freed?after=N&wait=SECONDS: the number of the last moment at which room may have grown.

    It answers when that is another than N, or the time is over; who may wait is as with wake-ups.
    """
    with _waiting(parts) as wait:
        return encoded(FreedReply(parts.cache.freed.after(_number("after", 0), wait)))


@contextmanager
def _waiting(parts: Components) -> Iterator[float]:
    """How many seconds this caller may wait for news."""
    wait = min(float(_number("wait", 0)), LONGEST_WAIT)
    if wait <= 0:
        yield 0.0
        return
    caller = parts.doorkeeper.admit(request.environ)
    with parts.long_polls.hold(caller) as may_wait:
        yield wait if may_wait else 0.0


def usage(parts: Components) -> Response:
    """GET /v1/usage?nodes=true: what each managed pod was last measured to use, by uid; and each node, where asked."""
    _note_leader(parts)
    sampling, found = parts.sampling, parts.sampling.latest  # pods and nodes of one round
    asked = request.args.get("nodes") == "true"
    return encoded(UsageReply(sampling.pod_usage(found), sampling.node_usage(found) if asked else None))


def _note_leader(parts: Components) -> None:
    """Whoever asks for rooms or use and proves itself is the operator that leads; anybody else may read them, too."""
    if parts.doorkeeper.knows(request.environ):
        parts.cache.guard.asked(parts.cache.clock())


def version(parts: Components) -> Response:
    """GET /v1/version."""
    del parts
    return said({"version": slackwater.__version__})


def described(parts: Components) -> Response:
    """GET /openapi.json."""
    del parts
    return said(document())


def healthz(parts: Components) -> Response:
    """GET /healthz: the process answers."""
    del parts
    return said({"status": "ok"})


def readyz(parts: Components) -> Response:
    """GET /readyz: 200 when decisions can be made, with reasons where they are made with less than everything."""
    found = parts.readiness()
    body: dict[str, Any] = {"status": found.status, "reasons": found.reasons}
    return said(body, 200 if found.ready else 503)


def _number(name: str, default: int) -> int:
    text = request.args.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidInput(name, f"{text!r} is not a whole number", f"write {name}={default}")
    return int(text)


def _selector() -> dict[str, str]:
    """?selector=key=value,key=value."""
    text = request.args.get("selector", "")
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(not key or not equals for key, equals, _ in pairs):
        raise InvalidInput("selector", f"{text!r} is no list of labels", "write selector=pool=batch,zone=a")
    return {key: value for key, _, value in pairs}
