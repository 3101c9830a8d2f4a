"""The scheduler's two verbs, answered before Flask is asked: every call sits in the scheduler's one loop.

Flask's own work (contexts, routing, response objects) is a tenth of a millisecond, which is much for a node whose room
is looked up in two. Everything else goes through to Flask.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson
import structlog

from slackwater.errors import InvalidInput, Unavailable
from slackwater_extender.auth import Unauthenticated
from slackwater_extender.components import Components
from slackwater_extender.scheduling import wire
from slackwater_extender.scheduling.decisionlog import Decision

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = structlog.get_logger(__name__)

INTERNAL = "slackwater: internal error, see the extender's log"
PHRASES = {
    200: "200 OK",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    413: "413 Content Too Large",
    503: "503 Service Unavailable",
}

Decide = Callable[[wire.Question], tuple[bytes, Decision]]
GiveUp = Callable[[wire.Question], bytes]


class FastPath:
    """A WSGI application in front of another one."""

    def __init__(self, parts: Components, behind: WSGIApplication) -> None:
        self._parts, self._behind = parts, behind
        self.turns, self.limit = parts.books.lock, parts.settings.server.body_limit
        self._told: set[str] = set()  # where an unexpected error was logged already
        verbs = parts.verbs
        self._verbs: dict[str, tuple[str, Decide, GiveUp]] = {
            "/filter": ("filter", verbs.filter, lambda _: wire.failed(INTERNAL)),
            "/prioritize": ("prioritize", verbs.prioritize, wire.flat),
        }
        self._latency = {name: parts.metrics.latency.labels(name) for name, _, _ in self._verbs.values()}
        self._counters: dict[tuple[str, str, str], Any] = {}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a verb, or pass the request on."""
        if environ["PATH_INFO"] not in self._verbs or environ["REQUEST_METHOD"] != "POST":
            return self._behind(environ, start_response)
        with self.turns.answering():
            status, body = self.answer(environ["PATH_INFO"], environ, self._body(environ))
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return (body,)

    def answer(self, path: str, environ: Mapping[str, Any], body: bytes | None) -> tuple[str, bytes]:
        """The status and body that answer a verb; no body stands for one that is too long."""
        began = perf_counter()
        name, decide, give_up = self._verbs[path]
        status, answer = self._answer(environ, body, name, decide, give_up)
        self._latency[name].observe(perf_counter() - began)
        return PHRASES[status], answer

    def _answer(
        self, environ: Mapping[str, Any], body: bytes | None, name: str, decide: Decide, give_up: GiveUp
    ) -> tuple[int, bytes]:
        """Admit, read, decide. Whatever is wrong with the request is told with a 4xx."""
        try:
            self._parts.doorkeeper.admit(environ)
            if body is None:
                return self._said(413, "http", f"more than {self.limit} bytes")
            return 200, self._decided(name, wire.read(body), decide, give_up)
        except Unauthenticated as problem:
            return self._said(401, "unknown caller", str(problem))
        except Unavailable as problem:  # the API server could not be asked who this is
            return self._said(503, "unknown caller", str(problem))
        except InvalidInput as problem:
            return self._said(400, "bad input", str(problem), field=problem.field)

    def _body(self, environ: WSGIEnvironment) -> bytes | None:
        limit, told = self.limit, str(environ.get("CONTENT_LENGTH") or "")
        if told.isdigit():
            return None if int(told) > limit else bytes(environ["wsgi.input"].read(int(told)))
        body = bytes(environ["wsgi.input"].read(limit + 1)) if environ.get("wsgi.input_terminated") else b""
        return None if len(body) > limit else body

    def _decided(self, name: str, question: wire.Question, decide: Decide, give_up: GiveUp) -> bytes:
        try:
            body, decision = decide(question)
        except InvalidInput:
            raise
        except Exception as problem:  # noqa: BLE001 - an error on one pod is that pod's error, never the process's
            self._tell(name, question, problem)
            return give_up(question)
        self._count(name, decision)
        return body

    def _count(self, name: str, decision: Decision) -> None:
        key = (name, decision.result.value, decision.reason)
        counter = self._counters.get(key)
        if counter is None:  # a handful of verbs, results and constant reasons
            counter = self._counters[key] = self._parts.metrics.decisions.labels(*key)
        counter.inc()

    def _tell(self, verb: str, question: wire.Question, problem: Exception) -> None:
        """Log an unexpected error once per place where it happened; count it each time."""
        self._parts.metrics.errors.labels(verb).inc()
        frames = traceback.extract_tb(problem.__traceback__)
        where = f"{type(problem).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        if where not in self._told:
            self._told.add(where)
            meta = question.meta
            log.error("cannot decide", verb=verb, pod=f"{meta.namespace}/{meta.name}", exc_info=problem)

    def _said(self, status: int, why: str, text: str, **more: str) -> tuple[int, bytes]:
        self._parts.metrics.rejected.labels(why).inc()
        return status, orjson.dumps({"error": text, **more})
