"""The web application: Flask routes around the verbs. No logic of its own."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import orjson
import structlog
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster import names
from slackwater_cluster.extenderapi import ReserveReply, UnreserveReply
from slackwater_extender.auth import Unauthenticated
from slackwater_extender.components import Components
from slackwater_extender.http.api import api, encoded
from slackwater_extender.http.scheduler import SchedulerRoutes
from slackwater_extender.metrics import CONTENT_TYPE
from slackwater_extender.scheduling import placewire

log = structlog.get_logger(__name__)

JSON = "application/json"
INSTANCE = names.INSTANCE_HEADER


def create(parts: Components) -> Flask:
    """The application over one set of parts."""
    app = Flask("slackwater_extender", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = parts.settings.server.body_limit
    SchedulerRoutes(parts).register(app)
    serving = _Serving(parts)
    app.add_url_rule("/v1/place", "place", serving.place, methods=["POST"])
    app.add_url_rule("/v1/reserve", "reserve", serving.reserve, methods=["POST"])
    app.add_url_rule("/v1/unreserve", "unreserve", serving.unreserve, methods=["POST"])
    app.add_url_rule("/metrics", "metrics", serving.metrics)
    app.register_blueprint(api(parts))
    app.register_error_handler(InvalidInput, serving.bad_input)
    app.register_error_handler(Unauthenticated, serving.stranger)
    app.register_error_handler(Unavailable, _unavailable)
    app.register_error_handler(HTTPException, serving.http_error)
    app.register_error_handler(Exception, serving.unexpected)
    return app


@dataclass
class _Serving:
    parts: Components

    def place(self) -> Response:
        """POST /v1/place: a node for each of many pods."""
        began = perf_counter()
        self._admit()
        self._meant()
        reply = self.parts.placer.place(placewire.read(request.get_data(cache=False)))
        metrics = self.parts.metrics
        metrics.latency.labels("place").observe(perf_counter() - began)
        metrics.decisions.labels("place", "placed", "").inc(len(reply.placed))
        for refusal in reply.refused:
            metrics.decisions.labels("place", "refused", refusal.reason).inc()
        return encoded(reply)

    def reserve(self) -> Response:
        """POST /v1/reserve: pods released without a node of ours count from now on."""
        self._admit()
        self._meant()
        done = self.parts.placer.reserve(placewire.read_reserve(request.get_data(cache=False)))
        return encoded(ReserveReply(done))

    def unreserve(self) -> Response:
        """POST /v1/unreserve: placements and reservations that will not come true."""
        self._admit()
        done = self.parts.placer.unreserve(placewire.read_uids(request.get_data(cache=False)))
        return encoded(UnreserveReply(done))

    def metrics(self) -> Response:
        """GET /metrics."""
        return Response(self.parts.metrics.page(), content_type=CONTENT_TYPE)

    def _admit(self) -> None:
        self.parts.doorkeeper.admit(request.environ)

    def _meant(self) -> None:
        """Whether the caller decided on our rooms: in a hand-over two of us answer for a moment."""
        meant = request.headers.get(INSTANCE, "")
        if meant and meant != self.parts.instance:
            raise Unavailable("another instance answers now; ask for its rooms first")

    def bad_input(self, problem: InvalidInput) -> Response:
        """400: what is wrong, and what to send instead."""
        self.parts.metrics.rejected.labels("bad input").inc()
        return _said(400, str(problem), field=problem.field)

    def stranger(self, problem: Unauthenticated) -> Response:
        """401: nobody proved who they are."""
        self.parts.metrics.rejected.labels("unknown caller").inc()
        return _said(401, str(problem))

    def http_error(self, problem: HTTPException) -> Response:
        """404, 405, 413 and the like, as JSON."""
        self.parts.metrics.rejected.labels("http").inc()
        return _said(problem.code or 400, problem.description or problem.name)

    def unexpected(self, problem: Exception) -> Response:
        """500: a mistake of ours outside the scheduler's verbs."""
        self.parts.metrics.errors.labels("api").inc()
        log.error("request failed", path=request.path, exc_info=problem)
        return _said(500, "internal error, see the extender's log")


def _unavailable(problem: Unavailable) -> Response:
    return _said(503, str(problem))


def _said(status: int, text: str, **more: str) -> Response:
    return Response(orjson.dumps({"error": text, **more}), status=status, mimetype=JSON)
