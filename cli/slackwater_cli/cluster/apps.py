"""`slackwater apps`: every app, where it stands, and why it waits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.errors import Unavailable
from slackwater_cli.cluster.connection import Context, Everywhere, Kubeconfig, Namespace, api_server, namespace_of
from slackwater_cli.printing import Column, Format, Output, show, tell

if TYPE_CHECKING:
    from slackwater_monitor.sources.views import App

NOT_FOUND = 1


def command(
    app: Annotated[str | None, typer.Argument(help="Only apps whose name or id contains this.")] = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only apps that wait.")] = False,
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List apps; -o wide shows their ids, too. Exit code 1 where none matches."""
    from slackwater_cluster.api.client import NotFound
    from slackwater_cluster.api.paths import custom_path
    from slackwater_monitor.sources import decoding

    api = api_server(kubeconfig, context)
    place = "" if everywhere else namespace_of(namespace, kubeconfig, context)
    try:
        bodies = api.items(custom_path("trackedapps", namespace=place))
    except NotFound as problem:
        raise Unavailable("this cluster knows no TrackedApps; is Slackwater installed?") from problem
    found, wrong = decoding.read(decoding.apps_at(time.time()), bodies, "trackedapps")
    for sentence in wrong:
        tell(sentence, stderr=True)
    chosen = [each for each in found if (app is None or each.matches(app)) and (each.waits or not waiting)]
    ordered = sorted(chosen, key=lambda each: (each.queue, each.position or 0, each.namespace, each.name))
    show(ordered, columns(everywhere=everywhere), output, "no app matches" if found else "no app is tracked there")
    if not ordered:
        raise typer.Exit(NOT_FOUND)


def columns(*, everywhere: bool = True) -> list[Column[App]]:
    """What is shown of an app; the narrow table fits into 80 characters."""
    from slackwater_simulator.charts.amounts import percent, seconds

    return [
        Column("NAMESPACE", lambda app: app.namespace, wide=not everywhere, most=12),
        Column("APP", lambda app: app.shown, most=18 if everywhere else 30),
        Column("PHASE", lambda app: app.phase),
        Column("POS", lambda app: str(app.position or ""), number=True),
        Column("WAIT", lambda app: seconds(app.wait) if app.wait is not None else "", number=True),
        Column("HELD", lambda app: str(app.pods.get("held", 0)), number=True),
        Column("BOUND", lambda app: str(app.pods.get("bound", 0)), number=True),
        Column("USED", lambda app: percent(app.efficiency) if app.efficiency is not None else "", number=True),
        Column("REASON", lambda app: app.reason, most=16),
        Column("ID", lambda app: app.name, wide=True),
        Column("QUEUE", lambda app: app.queue, wide=True),
        Column("DONE", lambda app: str(app.pods.get("finished", 0)), number=True, wide=True),
        Column("FRAMEWORK", lambda app: app.framework, wide=True),
        Column("CATEGORY", lambda app: app.category, wide=True),
        Column("STARTS", lambda app: app.start.sentence if app.start else "", wide=True),
        Column("MESSAGE", lambda app: app.message, wide=True),
    ]
