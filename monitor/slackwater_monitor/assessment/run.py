"""From an address to an assessment: fetch what is not on disk, then assess, then write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slackwater.errors import InvalidInput, SlackwaterError, Unavailable
from slackwater_cluster.frameworks import FrameworkTable, builtin
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.assessment.assessment import KINDS, Assessment, assess
from slackwater_monitor.assessment.owners import USERS
from slackwater_monitor.assessment.prices import Prices
from slackwater_monitor.assessment.report import page
from slackwater_monitor.assessment.report.values import jsonable
from slackwater_monitor.history.cache import Cache
from slackwater_monitor.history.fetch import History, cluster, collect
from slackwater_monitor.history.grid import Grid

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What to assess, and how."""

    connection: QueryConnection
    grid: Grid
    cache: Path | None = None
    labels: dict[str, str] = field(default_factory=dict)  # meaning → label, where scraping renamed them
    user_labels: tuple[str, ...] = ()
    table: FrameworkTable = field(default_factory=builtin)
    namespaces: tuple[str, ...] = ()  # none: all
    stated: bool = False  # the length of windows was asked for, and is not ours to change


def fetch(order: Order, progress: Progress | None = None) -> tuple[History, Path]:
    """The period on disk, and the folder it lies in."""
    server = Prometheus(order.connection)
    try:
        cache = Cache.of(order.connection, order.cache, cluster(server, order.grid.end))
        history = collect(
            server,
            cache,
            order.grid,
            order.table,
            given=order.labels,
            user_labels=(*order.user_labels, *USERS),
            namespaces=order.namespaces,
            stated=order.stated,
            progress=progress,
        )
    finally:
        server.close()
    return history, cache.folder


def run(order: Order, fetching: Progress | None = None, reading: Progress | None = None) -> Assessment:
    """Fetch and assess."""
    history, folder = fetch(order, fetching)
    if not any(len(answer) for kind in KINDS for answer in history.answers(f"{kind}-count")):
        raise unmeasured(order.namespaces)
    return assess(history, order.table, folder, user_labels=(*order.user_labels, *USERS), progress=reading)


def unmeasured(namespaces: Sequence[str]) -> SlackwaterError:
    """That nothing was measured, of all namespaces or of those that were chosen."""
    if not namespaces:
        return Unavailable("no container was measured in this period; ask for another time with --since and --until")
    trouble = f"no pod of {' or '.join(namespaces)} was measured in this period"
    return InvalidInput("--namespace", trouble, "see `kubectl get namespaces`, or ask for a longer --since")


def write(found: Assessment, folder: Path, prices: Prices | None = None) -> Path:
    """The page and the JSON file; gives the page."""
    folder.mkdir(parents=True, exist_ok=True)
    values = json.dumps(jsonable(found, prices), indent=1, ensure_ascii=False)
    (folder / "assessment.json").write_text(values, encoding="utf-8")
    path = folder / "index.html"
    path.write_text(page.render(found, prices), encoding="utf-8")
    return path
