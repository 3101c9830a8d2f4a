"""`slackwater demo`: one contended hour under the stock scheduler and under Slackwater, in a table anyone can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.metrics import Metrics
    from slackwater_simulator.outcome import Outcome

POLICIES = {"kube": "stock scheduler", "slackwater": "Slackwater"}
SCENES = {
    "hour": "A contended hour: 90 apps of five teams on 10 nodes of 16 cores",
    "nine": "Nine o'clock: 180 apps start within three seconds",
}


def command(
    report: Annotated[Path, typer.Option(help="Folder for the report with its figures.")] = Path("report"),
    seed: Annotated[int, typer.Option(help="Another hour; same seed, same hour.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then show the hour on the dashboard, a minute a second.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the dashboard, on this machine only.")] = 8580,
) -> None:
    """Play a contended hour on a virtual cluster, plain and with Slackwater, and compare."""
    from slackwater_simulator.metrics import measure
    from slackwater_simulator.reports.page import write

    console = Console()
    outcomes = _play(seed)
    for scene, title in SCENES.items():
        metrics = {policy: measure(outcomes[scene, policy]) for policy in POLICIES}
        console.print(_table(title, metrics))
    for line in _words({policy: measure(outcomes["nine", policy]) for policy in POLICIES}, outcomes):
        console.print(line, soft_wrap=True, highlight=False)
    page = write([outcomes["hour", policy] for policy in POLICIES], report)
    console.print(f"\nFigures of the hour: {page}", soft_wrap=True, highlight=False)
    console.print(
        "Decided by the very functions that run in a cluster; the apps and their use are made up (gen:hour).\n"
        "Next: slackwater simulate --help (your own traces), slackwater assess --help (your own cluster).",
        style="dim",
        highlight=False,
    )
    if serve:
        _serve(outcomes["hour", "slackwater"], port, console)


def _serve(outcome: Outcome, port: int, console: Console) -> None:
    from slackwater_monitor.sources.played import Played
    from slackwater_monitor.web.serving import options
    from slackwater_monitor.web.serving import serve as show

    console.print(f"\nDashboard: http://127.0.0.1:{port}/ (Ctrl-C ends it)", highlight=False)
    show(Played(outcome), options("127.0.0.1", port))


def _play(seed: int) -> dict[tuple[str, str], Outcome]:
    from slackwater_simulator.cluster import parse
    from slackwater_simulator.generators.catalogue import cluster_of, generate
    from slackwater_simulator.run import run

    outcomes = {}
    with bars() as tick:
        for scene in SCENES:
            name = f"gen:hour?case={scene}"
            workload, cluster = generate(name, seed=seed), parse(cluster_of(name))
            for policy, label in POLICIES.items():
                outcomes[scene, policy] = run(
                    workload, cluster, policy, seed=seed, world="kubernetes", progress=tick(f"{scene}, {label}")
                )
    return outcomes


def _table(title: str, metrics: dict[str, Metrics]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for policy in metrics:
        table.add_column(POLICIES[policy], justify="right")
    for label, show in _ROWS:
        table.add_row(label, *(show(one) for one in metrics.values()))
    table.add_row("")
    return table


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def _finished(one: Metrics) -> str:
    return "never" if one.deadlock else _minutes(one.makespan)


def _apps(one: Metrics) -> str:
    return f"{one.finished} of {one.finished + one.unfinished}"


def _share(values: tuple[float, ...]) -> str:
    return f"{values[0]:.0%}" if values and values[0] == values[0] else "–"


_ROWS = (
    ("all work is done after", _finished),
    ("apps that finish", _apps),
    ("an app takes, on average", lambda one: _minutes(one.completion.mean) if one.finished else "–"),
    ("… one in twenty longer than", lambda one: _minutes(one.completion.p95) if one.finished else "–"),
    ("a small app takes, on average", lambda one: _minutes(one.small_completion.mean) if one.finished else "–"),
    ("cores really busy, on average", lambda one: _share(one.used) if one.finished else "–"),
    ("tasks lost to full memory", lambda one: str(one.failures)),
)


def _words(nine: dict[str, Metrics], outcomes: dict[tuple[str, str], Outcome]) -> list[str]:
    """What happened at nine, in a sentence each."""
    lines = []
    if nine["kube"].deadlock:
        drivers = outcomes["nine", "kube"].peak_drivers
        lines.append(
            f"At nine the stock scheduler started {drivers} drivers, which hold every core and wait for tasks that "
            "find none: nothing moves any more."
        )
    if not nine["slackwater"].deadlock:
        most = outcomes["nine", "slackwater"].peak_drivers
        lines.append(f"Slackwater let at most {most} drivers in at a time, so that each could run its tasks.")
    return lines
