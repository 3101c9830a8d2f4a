"""The scheduler's two verbs as routes. What goes wrong with one pod is that pod's answer, never a broken request."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import structlog
from flask import Flask, Response, request

from slackwater.errors import InvalidInput
from slackwater_extender.components import Components
from slackwater_extender.scheduling import wire
from slackwater_extender.scheduling.decisionlog import Decision

log = structlog.get_logger(__name__)

JSON = "application/json"
INTERNAL = "slackwater: internal error, see the extender's log"

Decide = Callable[[wire.Question], tuple[bytes, Decision]]
GiveUp = Callable[[wire.Question], bytes]


@dataclass
class SchedulerRoutes:
    """POST /filter and POST /prioritize."""

    parts: Components
    _logged: set[str] = field(default_factory=set)  # where an unexpected error was logged already
    _counters: dict[tuple[str, str, str], Any] = field(default_factory=dict)

    def register(self, app: Flask) -> None:
        """Put both verbs into an application."""
        app.add_url_rule("/filter", "filter", self.filter, methods=["POST"])
        app.add_url_rule("/prioritize", "prioritize", self.prioritize, methods=["POST"])

    def filter(self) -> Response:
        """POST /filter: which of the nodes the pod may use."""
        return self._answered("filter", self.parts.verbs.filter, lambda _: wire.failed(INTERNAL))

    def prioritize(self) -> Response:
        """POST /prioritize: how much each node is liked."""
        return self._answered("prioritize", self.parts.verbs.prioritize, wire.flat)

    def _answered(self, verb: str, decide: Decide, give_up: GiveUp) -> Response:
        """Know the caller, then read what it sends, then decide."""
        began = perf_counter()
        with self.parts.books.lock.answering():
            self.parts.doorkeeper.admit(request.environ)
            body = self._decided(verb, wire.read(request.get_data(cache=False)), decide, give_up)
        self.parts.metrics.latency.labels(verb).observe(perf_counter() - began)
        return Response(body, mimetype=JSON)

    def _decided(self, verb: str, question: wire.Question, decide: Decide, give_up: GiveUp) -> bytes:
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
            counter = self._counters[key] = self.parts.metrics.decisions.labels(*key)
        counter.inc()

    def _log(self, verb: str, question: wire.Question, problem: Exception) -> None:
        """Log an unexpected error once per place where it happened; count it each time."""
        self.parts.metrics.errors.labels(verb).inc()
        frames = traceback.extract_tb(problem.__traceback__)
        where = f"{type(problem).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        if where not in self._logged:
            self._logged.add(where)
            meta = question.meta
            log.error("cannot decide", verb=verb, pod=f"{meta.namespace}/{meta.name}", exc_info=problem)
