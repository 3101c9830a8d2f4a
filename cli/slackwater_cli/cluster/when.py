"""`slackwater when`: when an app would start, before it is submitted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater_cli.cluster.connection import Namespace, Reach
from slackwater_cli.optiongroups import grouped
from slackwater_cli.printing import Column, Format, Output, show

if TYPE_CHECKING:
    from slackwater_monitor.when import Forecast


@grouped
def command(
    file: Annotated[Path, typer.Argument(help="YAML of the app as you would apply it.")],
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    *,
    reach: Reach,
) -> None:
    """Say when the apps of FILE would start if they were submitted now; nothing is submitted."""
    bodies = _read(file)
    from slackwater_monitor.when import forecast, sized

    sized(bodies)  # what is wrong with the file is told before anything is asked
    found = forecast(*reach.clients(), bodies, reach.namespace(namespace), reach.system)
    show(found, _columns(), output, "there is no app in it")


def _read(file: Path) -> list[dict[str, Any]]:
    """The objects of a file; those of a List one by one."""
    from slackwater_simulator.workload.yamlfile import documents

    found = documents(file, "FILE", "give a manifest as kubectl reads it")
    objects = [each for each in found if isinstance(each, dict)]
    items = [item for each in objects for item in (each.get("items") or [each])]
    return [item for item in items if isinstance(item, dict)]


def _columns() -> list[Column[Forecast]]:
    return [
        Column("app", lambda each: each.app),
        Column("queue", lambda each: each.queue),
        Column("size", lambda each: each.size),
        Column("tasks", lambda each: f"{each.tasks:,}", number=True),
        Column("room for", lambda each: "–" if each.fitting is None else f"{each.fitting:,}", number=True),
        Column("starts", lambda each: each.sentence),
    ]
