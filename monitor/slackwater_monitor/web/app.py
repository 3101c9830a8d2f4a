"""The Flask application: every page is a GET under a strict security policy; nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files

from flask import Flask, Response, jsonify, render_template, request
from jinja2 import ChoiceLoader, PackageLoader
from werkzeug.exceptions import HTTPException

import slackwater
from slackwater.errors import InvalidInput, SlackwaterError
from slackwater.placement.reasons import tallied
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.source import Chooser, Source
from slackwater_monitor.web.pages import details, lists, overview
from slackwater_monitor.web.pages.frame import Values, said
from slackwater_monitor.web.pages.sidebyside import side_by_side
from slackwater_monitor.web.query import Query
from slackwater_monitor.web.trials import Trials
from slackwater_simulator.charts.amounts import amount, count, percent, seconds
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
    ("/queue", "queues", "Queues"),
    ("/pools", "pools", "Pools"),
    ("/apps", "apps", "Apps"),
    ("/what-if", "what_if", "What if"),
)
PLAYS = 1  # seconds after which an open page of a play asks for the next moment
RACE = ("/side-by-side", "side_by_side", "Side by side")
# The list that the page of a single thing belongs to.
PARENTS = {"node": "nodes", "queue": "queues", "pool": "pools", "app": "apps", "pod": "apps"}
# The Grafana dashboards of the chart that show the same over days.
PANELS = {
    "overview": "slack",
    "nodes": "efficiency",
    "queues": "queues",
    "queue": "queues",
    "pools": "pools",
    "pool": "pools",
}


def dashboard(source: Chooser, settings: Settings) -> Flask:
    """The application over a source, or over several scenes."""
    app = Flask("slackwater_monitor.web")
    app.jinja_env.filters |= {"amount": amount, "percent": percent, "seconds": seconds, "shade": shade, "said": said}
    app.jinja_env.filters["counted"] = count
    app.jinja_env.filters["tallied"] = tallied
    app.jinja_env.loader = ChoiceLoader([PackageLoader("slackwater_monitor.web"), LOADER])
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    pages = Pages(source, settings)
    for path, name, made in (
        ("/", "overview", overview.overview),
        ("/nodes", "nodes", lists.nodes),
        ("/queue", "queues", lists.queue),
        ("/pools", "pools", lists.pools),
        ("/apps", "apps", lists.apps),
        ("/what-if", "what_if", pages.trial),
    ):
        app.add_url_rule(path, name, partial(pages.listed, name, made))
    for path, name, found in (
        ("/nodes/<name>", "node", details.node),
        ("/queue/<name>", "queue", details.queue),
        ("/pools/<name>", "pool", details.pool),
        ("/apps/<namespace>/<path:name>", "app", details.app),
        ("/pods/<namespace>/<name>", "pod", details.pod),
    ):
        app.add_url_rule(path, f"one_{name}", partial(pages.single, name, found))
    app.add_url_rule("/side-by-side", "side_by_side", pages.race)
    app.add_url_rule("/api/snapshot", "snapshot", pages.snapshot)
    app.add_url_rule("/healthz", "healthz", lambda: jsonify({"status": "ok"}))
    app.add_url_rule("/style.css", "style", style)
    app.register_error_handler(SlackwaterError, pages.refused)
    app.register_error_handler(HTTPException, pages.unknown)
    app.after_request(guarded)
    return app


class Pages:
    """Answers requests: chooses the source that is asked for, and puts its values into the page's template."""

    def __init__(self, source: Chooser, settings: Settings) -> None:
        self._source, self._settings = source, settings
        self._trials = Trials(settings.traces)

    def listed(self, name: str, made: Callable[[Source, Query], Values]) -> str:
        """A page that is always there."""
        shown = self._source.chosen(request.args)
        return self._page(name, shown, made(shown, _query()))

    def single(self, name: str, made: Callable[..., Values | None], /, **which: str) -> tuple[str, int]:
        """The page of one thing, or that there is none."""
        shown = self._source.chosen(request.args)
        found = made(shown, _query(), *which.values())
        if found is None:
            return self._page("trouble", shown, {"sentence": f"there is no {name} {'/'.join(which.values())}"}), 404
        return self._page(name, shown, found), 200

    def race(self) -> tuple[str, int]:
        """Both schedulers side by side."""
        shown = self._source.chosen(request.args)
        found = shown.comparison()
        if found is None:
            words = "a cluster has one scheduler only; What if plays its past under others"
            return self._page("trouble", shown, {"sentence": words}), 404
        return self._page("side_by_side", shown, side_by_side(shown, found)), 200

    def trial(self, source: Source, query: Query) -> Values:
        """The what-if form, which also offers the play that is shown."""
        del query
        return self._trials.page(request.args, getattr(source, "outcome", None))

    def snapshot(self) -> Response:
        """Everything as JSON."""
        return jsonify(asdict(self._source.chosen(request.args).snapshot()))

    def refused(self, problem: SlackwaterError) -> tuple[str, int]:
        """What was asked for is wrong, and does not go along to other pages; or somebody does not answer."""
        wrong = isinstance(problem, InvalidInput)
        return self._trouble(str(problem), Query(request.path, {}) if wrong else _query()), 400 if wrong else 503

    def unknown(self, problem: HTTPException) -> tuple[str, int]:
        """No such page."""
        return self._trouble(str(problem.description), _query()), problem.code or 500

    def _trouble(self, sentence: str, query: Query) -> str:
        return self._page("trouble", self._source.chosen({}), {"sentence": sentence, "query": query})

    def _page(self, name: str, shown: Source, values: Values) -> str:
        base, panel = self._settings.grafana_url.rstrip("/"), PANELS.get(name)
        player = shown.player
        races = player is not None and shown.races
        return render_template(
            f"{name}.html",
            pages=(PAGES[0], RACE, *PAGES[1:]) if races else PAGES,
            current=PARENTS.get(name, name),
            title=shown.title,
            version=slackwater.__version__,
            refresh=self._settings.refresh if player is None else PLAYS,
            virtual=shown.virtual,
            player=player,
            grafana=f"{base}/d/slackwater-{panel}" if base and panel else "",
            **{"query": _query(), **values},
        )


def _query() -> Query:
    return Query(request.path, request.args.to_dict())


def style() -> Response:
    """The style sheet of all pages, and that of the dashboard."""
    own = files("slackwater_monitor.web").joinpath("static/dashboard.css").read_text(encoding="utf-8")
    return Response(STYLE + own, mimetype="text/css", headers={"Cache-Control": "max-age=300"})


def guarded(reply: Response) -> Response:
    """Every answer carries the policy; pages are never kept."""
    reply.headers.update(HEADERS)
    if reply.mimetype == "text/html":
        reply.headers["Cache-Control"] = "no-store"
    return reply
