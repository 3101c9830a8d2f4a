"""The scheduler's two verbs as routes. What goes wrong with one pod is that pod's answer, never a broken request."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any
from weakref import WeakSet

import orjson
import structlog
from flask import Flask, Response, request

from slackwater.errors import InvalidInput, Unavailable
from slackwater_extender.auth import Unauthenticated
from slackwater_extender.components import Components
from slackwater_extender.scheduling import wire
from slackwater_extender.scheduling.decisionlog import Decision

log = structlog.get_logger(__name__)

JSON = "application/json"
INTERNAL = "slackwater: internal error, see the extender's log"

Body = Callable[[], bytes]  # reads the body of a request
Decide = Callable[[wire.Question], tuple[bytes, Decision]]
GiveUp = Callable[[wire.Question], bytes]


class SchedulerRoutes:
    """POST /filter and POST /prioritize."""

    def __init__(self, parts: Components) -> None:
        self._parts = parts
        self.body_limit = parts.settings.server.body_limit
        verbs = parts.verbs
        self._verbs: dict[str, tuple[Decide, GiveUp]] = {
            "filter": (verbs.filter, lambda _: wire.failed(INTERNAL)),
            "prioritize": (verbs.prioritize, wire.flat),
        }
        self._latency = {verb: parts.metrics.latency.labels(verb) for verb in self._verbs}
        self._counters: dict[tuple[str, str, str], Any] = {}
        self._logged: set[str] = set()  # where an unexpected error was logged already
        self._proven: WeakSet[socket.socket] = WeakSet()  # connections on which a caller proved who it is

    def register(self, app: Flask) -> None:
        """Put both verbs into an application, and where the server finds them."""
        app.extensions["scheduler"] = self
        for verb in self._verbs:
            app.add_url_rule(f"/{verb}", verb, partial(self._view, verb), methods=["POST"])

    def _view(self, verb: str) -> Response:
        status, body = self.answer(verb, request.environ, lambda: request.get_data(cache=False))
        return Response(body, status=status, mimetype=JSON)

    def proven(self, sock: socket.socket) -> bool:
        """Whether a verb was asked on this connection by a caller that proved who it is."""
        return sock in self._proven

    def answer(self, verb: str, environ: Mapping[str, Any], body: Body) -> tuple[int, bytes]:
        """The status and body that answer a verb."""
        began = perf_counter()
        with self._parts.cache.lock.answering():
            answered = self._answer(verb, environ, body)
        self._latency[verb].observe(perf_counter() - began)
        return answered

    def _answer(self, verb: str, environ: Mapping[str, Any], body: Body) -> tuple[int, bytes]:
        """Know the caller, read what it sends, decide. Whatever is wrong with the request is told with a 4xx."""
        try:
            self._parts.doorkeeper.admit(environ)
            if (sock := environ.get("gunicorn.socket")) is not None:
                self._proven.add(sock)
            return 200, self._decided(verb, wire.read(body()))
        except Unauthenticated as problem:
            return self._said(401, "unknown caller", str(problem))
        except Unavailable as problem:  # the API server could not be asked who this is
            return self._said(503, "unknown caller", str(problem))
        except InvalidInput as problem:
            return self._said(400, "bad input", str(problem), field=problem.field)

    def _decided(self, verb: str, question: wire.Question) -> bytes:
        decide, give_up = self._verbs[verb]
        try:
            body, decision = decide(question)
        except InvalidInput:
            raise
        except Exception as problem:  # noqa: BLE001 - an error on one pod is that pod's error, never the process's
            self._log(verb, question, problem)
            return give_up(question)
        self._count(verb, decision)
        return body

    def _count(self, verb: str, decision: Decision) -> None:
        key = (verb, decision.result.value, decision.reason)
        counter = self._counters.get(key)
        if counter is None:  # a handful of verbs, results and constant reasons
            counter = self._counters[key] = self._parts.metrics.decisions.labels(*key)
        counter.inc()

    def _log(self, verb: str, question: wire.Question, problem: Exception) -> None:
        """Log an unexpected error once per place where it happened; count it each time."""
        self._parts.metrics.errors.labels(verb).inc()
        frames = traceback.extract_tb(problem.__traceback__)
        where = f"{type(problem).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        if where not in self._logged:
            self._logged.add(where)
            meta = question.meta
            log.error("cannot decide", verb=verb, pod=f"{meta.namespace}/{meta.name}", exc_info=problem)

    def _said(self, status: int, why: str, text: str, **more: str) -> tuple[int, bytes]:
        self._parts.metrics.rejected.labels(why).inc()
        return status, orjson.dumps({"error": text, **more})
