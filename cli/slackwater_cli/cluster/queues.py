"""`slackwater queues`: every admission queue with its test in numbers, and the pools that share its nodes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.errors import Unavailable
from slackwater_cli.cluster.connection import Context, Kubeconfig, api_server
from slackwater_cli.printing import Column, Format, Output, data, jsonable, show, tell

if TYPE_CHECKING:
    from slackwater_monitor.sources.views import Amounts, Pool, Queue

NOT_FOUND = 1


def command(
    queue: Annotated[str | None, typer.Argument(help="Only this queue.")] = None,
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List queues and pools. Exit code 1 where none matches."""
    from slackwater_cluster.api.client import NotFound
    from slackwater_cluster.api.paths import custom_path
    from slackwater_monitor.sources import decoding

    api = api_server(kubeconfig, context)
    try:
        found = api.items(custom_path("admissionqueues"))
        queues, wrong = decoding.read(decoding.queues_at(time.time()), found, "admissionqueues")
        pools, also = decoding.read(decoding.pool, api.items(custom_path("reservationpools")), "reservationpools")
    except NotFound as problem:
        raise Unavailable("this cluster knows no AdmissionQueues; is Slackwater installed?") from problem
    for sentence in (*wrong, *also):
        tell(sentence, stderr=True)
    queues = [each for each in queues if queue in (None, each.name)]
    pools = [each for each in pools if queue in (None, each.queue)]
    nested = {"queues": jsonable(queues), "pools": jsonable(pools)}
    rows = [{"kind": kind, **each} for kind in ("queue", "pool") for each in nested[f"{kind}s"]]
    if not data(rows if output in (Format.CSV, Format.MARKDOWN) else nested, output):
        show(queues, columns(), output, f"there is no queue {queue}" if queue else "there is no queue")
        if pools:
            typer.echo()
            show(pools, pool_columns(), output, "")
    if not queues:
        raise typer.Exit(NOT_FOUND)


def columns() -> list[Column[Queue]]:
    """What is shown of a queue."""
    return [
        Column("QUEUE", lambda queue: queue.name),
        Column("STATE", lambda queue: queue.state),
        Column("ORDER", lambda queue: queue.order, wide=True),
        Column("CAPACITY", lambda queue: told(queue.capacity), number=True),
        Column("FOR TASKS", lambda queue: told(queue.reservation), number=True),
        Column("LEFT FOR DRIVERS", lambda queue: told(queue.budget), number=True),
        Column("DRIVERS", lambda queue: f"{queue.drivers_running} + {queue.drivers_waiting} waiting", number=True),
        Column("HELD", lambda queue: str(queue.held), number=True),
        Column("RELEASED", lambda queue: str(queue.released), number=True, wide=True),
        Column("NAMESPACES", lambda queue: queue.serves, wide=True),
        Column("PROBLEM", lambda queue: queue.problem, wide=True),
    ]


def pool_columns() -> list[Column[Pool]]:
    """What is shown of a pool."""
    from slackwater_simulator.charts.amounts import percent

    return [
        Column("POOL", lambda pool: pool.name),
        Column("QUEUE", lambda pool: pool.queue),
        Column("SLOTS", lambda pool: f"{pool.total:.1f}", number=True),
        Column("SMALL SHARE", lambda pool: percent(pool.delta), number=True),
        Column("SMALL", lambda pool: f"{pool.small.occupied:.1f} + {pool.small.available:.1f} free", number=True),
        Column("LARGE", lambda pool: f"{pool.large.occupied:.1f} + {pool.large.available:.1f} free", number=True),
        Column("SMALL WANTS", lambda pool: f"{pool.small.demand:.1f}", number=True, wide=True),
        Column("LARGE WANTS", lambda pool: f"{pool.large.demand:.1f}", number=True, wide=True),
        Column("FORECAST ERROR", lambda pool: f"{pool.forecast_error:.2f}", number=True, wide=True),
    ]


def told(amounts: Amounts) -> str:
    """Amounts in one cell: cores, GiB, then the rest."""
    from slackwater_simulator.charts.amounts import amount

    units = {"cpu": "c", "memory": "Gi"}
    return " ".join(f"{amount(kind, value)}{units.get(kind, f' {kind}')}" for kind, value in amounts.items()) or "–"
