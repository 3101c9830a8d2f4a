"""`slackwater explain`: why a pod waits, why it is where it is, or how the room of a node comes about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from slackwater.errors import InvalidInput
from slackwater_cli.cluster.connection import Namespace, Reach
from slackwater_cli.optiongroups import grouped
from slackwater_cli.printing import Format, Output, data, jsonable, put, tell

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ExtenderClient

KINDS = ("pod", "node")
# For scripts: 0 the pod has a node or is done, 1 there is no such pod, 2 could not ask, 3 it waits.
NOT_FOUND, WAITS = 1, 3


@grouped
def command(
    what: Annotated[
        list[str], typer.Argument(metavar="[pod|node] NAME", help="A pod as NAME or NAMESPACE/NAME, or node NAME.")
    ],
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    *,
    reach: Reach,
) -> None:
    """Explain a pod, or a node. Exit codes: 0 it has a node or is done, 1 not found, 2 could not ask, 3 it waits."""
    from slackwater_cluster.api.client import NotFound
    from slackwater_monitor.explain import SHOWN, lines
    from slackwater_monitor.sources.explanation import explain

    kind, given = _target(what)
    api, asked = reach.clients()
    if kind == "node":
        _node(asked, given, output)
        return
    place, _, name = given.rpartition("/")
    chosen = place or reach.namespace(namespace)
    try:
        found = explain(api, asked, chosen, name, system=reach.system)
    except NotFound as problem:
        tell(f"there is no pod {chosen}/{name}", stderr=True)
        raise typer.Exit(NOT_FOUND) from problem
    if not data(jsonable(found), output):
        _print(lines(found, None if output is Format.WIDE else SHOWN))
    if found.waits:
        raise typer.Exit(WAITS)


def _target(what: list[str]) -> tuple[str, str]:
    """The kind and the name, written as kubectl users write them: NAME, pod NAME, pod/NAME, node NAME, node/NAME."""
    first, _, rest = what[0].partition("/")
    if len(what) == 2 and what[0].removesuffix("s") in KINDS:
        return what[0].removesuffix("s"), what[1]
    if len(what) == 1 and rest and first.removesuffix("s") in KINDS:
        return first.removesuffix("s"), rest
    if len(what) == 1 and what[0] not in KINDS:
        return "pod", what[0]
    raise InvalidInput(
        "explain", f"{' '.join(what)!r} names no pod and no node", "write pod NAMESPACE/NAME or node NAME"
    )


def _node(asked: ExtenderClient, name: str, output: Format) -> None:
    from slackwater_cluster.api.client import NotFound
    from slackwater_monitor.explain import node_lines
    from slackwater_monitor.sources.answers import about_node

    try:
        found = about_node(asked, name)
    except NotFound as problem:
        tell(f"the extender knows no node {name}", stderr=True)
        raise typer.Exit(NOT_FOUND) from problem
    if not data(found, output):
        _print(node_lines(found))


def _print(lines: list[tuple[str, str]]) -> None:
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for what, words in lines:
        made.add_row(what, words)
    put(made, wide=False)
