"""The Flask application: every page is a GET under a strict security policy; nothing here changes anything."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files

from flask import Flask, Response, jsonify, render_template, request
from jinja2 import ChoiceLoader, PackageLoader
from werkzeug.exceptions import HTTPException

import slackwater
from slackwater.errors import InvalidInput, SlackwaterError
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.source import Source
from slackwater_monitor.web import pages
from slackwater_monitor.web.trials import Trials
from slackwater_simulator.charts.amounts import amount, percent, seconds
from slackwater_simulator.charts.heat import shade
from slackwater_simulator.charts.page import LOADER, STYLE

# Nothing from elsewhere, nothing inline, nobody may frame us, forms come back to us only.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PAGES = (
    ("/", "overview", "Overview"),
    ("/nodes", "nodes", "Nodes"),
    ("/queue", "queue", "Queue"),
    ("/pools", "pools", "Pools"),
    ("/apps", "apps", "Apps"),
    ("/what-if", "what_if", "What if"),
)


def dashboard(source: Source, settings: Settings) -> Flask:
    """The application over one source."""
    app = Flask("slackwater_monitor.web")
    app.jinja_env.filters |= {"amount": amount, "percent": percent, "seconds": seconds, "shade": shade}
    app.jinja_env.loader = ChoiceLoader([PackageLoader("slackwater_monitor.web"), LOADER])
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    trials = Trials(settings.traces, getattr(source, "outcome", None))

    def page(name: str, **values: object) -> str:
        common = {"pages": PAGES, "current": name, "title": source.title, "version": slackwater.__version__}
        return render_template(f"{name}.html", **common, refresh=settings.refresh, virtual=source.virtual, **values)

    app.add_url_rule("/", "overview", lambda: page("overview", **pages.overview(source)))
    app.add_url_rule("/nodes", "nodes", lambda: page("nodes", **pages.nodes(source)))
    app.add_url_rule("/queue", "queue", lambda: page("queue", **pages.queue(source)))
    app.add_url_rule("/pools", "pools", lambda: page("pools", **pages.pools(source)))
    app.add_url_rule("/apps", "apps", lambda: page("apps", **pages.apps(source, request.args.get("find", ""))))
    app.add_url_rule("/what-if", "what_if", lambda: page("what_if", **trials.page(request.args)))

    @app.get("/apps/<namespace>/<path:name>")
    def one_app(namespace: str, name: str) -> tuple[str, int]:
        found = pages.app(source, namespace, name)
        if found is None:
            return page("trouble", sentence=f"there is no app {namespace}/{name}"), 404
        return page("app", **found), 200

    @app.get("/api/snapshot")
    def snapshot() -> Response:
        return jsonify(asdict(source.snapshot()))

    @app.get("/healthz")
    def healthz() -> Response:
        return jsonify({"status": "ok"})

    @app.get("/style.css")
    def style() -> Response:
        own = files("slackwater_monitor.web").joinpath("static/dashboard.css").read_text(encoding="utf-8")
        return Response(STYLE + own, mimetype="text/css", headers={"Cache-Control": "max-age=300"})

    @app.errorhandler(SlackwaterError)
    def refused(problem: SlackwaterError) -> tuple[str, int]:
        return page("trouble", sentence=str(problem)), 400 if isinstance(problem, InvalidInput) else 503

    @app.errorhandler(HTTPException)
    def unknown(problem: HTTPException) -> tuple[str, int]:
        return page("trouble", sentence=str(problem.description)), problem.code or 500

    @app.after_request
    def guarded(reply: Response) -> Response:
        reply.headers.update(HEADERS)
        if reply.mimetype == "text/html":
            reply.headers["Cache-Control"] = "no-store"
        return reply

    return app
