"""`slackwater what-if`: one's own past under other policies, with the error of replaying what did happen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from slackwater_cli.options import policy_names
from slackwater_cli.printing import Format, Output, console, data, put, tell, written
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_monitor.whatif import Comparison, WhatIfFigures

NARROWEST = 80  # characters of a line in which its numbers stand beside each other
NAMES = {"kube": "kube (stock)"}
HEADS = ("makespan", "completion", "wait", "requested,\nCPU / memory", "used,\nCPU / memory", "failures")
POLICIES = "kube,slackwater,capacity,fair"


def command(
    trace: Annotated[Path, typer.Argument(help="A trace written by `slackwater export`, or any other.")],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Policies, by commas or one by one.", show_default=POLICIES),
    ] = None,
    was: Annotated[str, typer.Option(help="The policy that was in force, whose replay is judged.")] = "kube",
    cluster: Annotated[str | None, typer.Option(help="Other nodes than those exported: 500x4, a YAML file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same result.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a page of figures into this folder.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say what completion, waits, utilisation and failures would have been under each policy."""
    from slackwater_monitor.whatif import compare, opened

    workload, machines, happened = opened(trace, cluster, seed)
    names = policy_names(policy or [POLICIES])
    if report is not None:
        from slackwater_simulator.reports.page import prepare

        prepare(report)
    with bars() as tick:
        found = compare(workload, machines, names, happened=happened, was=was, seed=seed, progress=tick)
    if report is not None:
        from slackwater_simulator.reports.page import write

        written(write(list(found.outcomes.values()), report))
    if not data(found.jsonable(), output):
        _print(found, wide=output is Format.WIDE)


def _print(found: Comparison, *, wide: bool) -> None:
    from slackwater_simulator.charts.amounts import count

    wide = wide or any(each.unfinished for each in found.policies.values())  # they are in no time of the table
    title = f"{found.name}: {count(found.jobs, 'job')}"
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column("")
    for head in (*HEADS, *(("unfinished",) if wide else ())):
        made.add_column(head, justify="right", no_wrap=True)
    if found.happened is not None:
        made.add_row("what happened", *_cells(found.happened, wide), style="bold")
    for name, each in found.policies.items():
        replay = ", replayed" if name == found.was else ""
        world = f" (world {there})" if (there := found.elsewhere(name)) else ""
        made.add_row(
            f"{NAMES.get(name, name)}{world}{replay}", *_cells(each, wide), style="red" if each.deadlock else None
        )
    out = console()
    put(made, wide=wide or not out.is_terminal or out.width < NARROWEST)
    if found.errors:
        tell(f"error of the replay of what did happen: {found.error_words}")
    if found.warning:
        tell(f"warning: {found.warning}", style="yellow")
    if found.verdict:
        tell(found.verdict, style="bold")
    for note in found.notes:
        tell(f"note: {note}", style="dim")


def _cells(each: WhatIfFigures, wide: bool) -> list[str]:
    from slackwater_simulator.charts.amounts import percent, seconds

    def shares(values: tuple[float, ...]) -> str:
        return " / ".join(percent(value) for value in values) or "–"

    return [
        "deadlock" if each.deadlock else seconds(each.makespan),
        seconds(each.completion),
        seconds(each.wait),
        shares(each.requested),
        shares(each.used),
        f"{each.failures:,}",
        *((f"{each.unfinished:,}",) if wide else ()),
    ]
