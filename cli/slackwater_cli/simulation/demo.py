"""`slackwater demo`: one contended hour under the stock scheduler and under Slackwater, in a table anyone can read."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.results.metrics import Metrics
    from slackwater_simulator.results.outcome import Outcome

POLICIES = {"kube": "stock scheduler", "slackwater": "Slackwater"}
SCENES = {
    "hour": "A contended hour: 90 apps of five teams on 10 nodes of 16 cores",
    "nine": "Nine o'clock: 180 apps start within three seconds",
}

# How each scene is shown: virtual seconds a second, and the moment with which it opens.
PACES = {"hour": (60.0, 1200.0), "nine": (10.0, 60.0)}


def command(
    report: Annotated[Path, typer.Option(help="Folder for the report with its figures.")] = Path("report"),
    seed: Annotated[int, typer.Option(min=0, help="Another hour; same seed, same hour.")] = 0,
    hours: Annotated[
        int, typer.Option(min=1, help="So many hours like it (the next seeds) are played too, to see if it was luck.")
    ] = 3,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then show the hour on the dashboard, a minute a second.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the dashboard, on this machine only.")] = 8580,
) -> None:
    """Play a contended hour on a virtual cluster, plain and with Slackwater, and compare."""
    from slackwater_simulator.reports.page import write
    from slackwater_simulator.results.metrics import measure

    console = Console()
    outcomes, makespans = _play(seed, hours)
    metrics = {scene: {policy: measure(outcomes[scene, policy]) for policy in POLICIES} for scene in SCENES}
    console.print(_verdict(metrics["hour"]), style="bold", highlight=False)
    for scene, title in SCENES.items():
        console.print(_table(title, metrics[scene]))
    for line in [*_words(metrics["nine"], outcomes), *_spread(seed, makespans)]:
        console.print(line, soft_wrap=True, highlight=False)
    page = write([outcomes["hour", policy] for policy in POLICIES], report)
    console.print(f"\nFigures of the hour: {page}", soft_wrap=True, highlight=False)
    console.print(
        "Decided by the functions that run in a cluster; apps and use are made up (gen:hour).\n"
        "Next: slackwater demo --serve (watch it), slackwater assess --help (your cluster).",
        style="dim",
        highlight=False,
    )
    if serve:
        _serve(outcomes, port, console)


def _serve(outcomes: dict[tuple[str, str], Outcome], port: int, console: Console) -> None:
    from slackwater_monitor.sources.simulated.replay import Replay
    from slackwater_monitor.sources.simulated.scenes import Scenes
    from slackwater_monitor.web.server import options
    from slackwater_monitor.web.server import serve as show

    plays = {
        scene: Replay(outcomes[scene, "slackwater"], rival=outcomes[scene, "kube"], speed=speed, opening=opening)
        for scene, (speed, opening) in PACES.items()
    }
    console.print(f"\nDashboard: http://127.0.0.1:{port}/ (Ctrl-C ends it)", highlight=False)
    show(Scenes(plays, SCENES), options("127.0.0.1", port))


def _play(seed: int, hours: int) -> tuple[dict[tuple[str, str], Outcome], list[dict[str, float]]]:
    """Both scenes under both schedulers, and when all work of each further hour was done under each."""
    from slackwater_simulator.results.metrics import measure

    outcomes, makespans = {}, []
    with bars() as tick:
        for scene in SCENES:
            for policy, label in POLICIES.items():
                outcomes[scene, policy] = _run(scene, policy, seed, tick(f"{scene}, {label}"))
        makespans.append({policy: measure(outcomes["hour", policy]).makespan for policy in POLICIES})
        for further in range(seed + 1, seed + hours):
            done = tick(f"another hour, seed {further}")
            makespans.append({policy: measure(_run("hour", policy, further, done)).makespan for policy in POLICIES})
    return outcomes, makespans


def _run(scene: str, policy: str, seed: int, progress: Callable[[float], None]) -> Outcome:
    from slackwater_simulator.simulation import run
    from slackwater_simulator.workload.cluster import parse
    from slackwater_simulator.workload.generators.catalogue import cluster_of, generate

    name = f"gen:hour?case={scene}"
    return run(
        generate(name, seed=seed), parse(cluster_of(name)), policy, seed=seed, world="kubernetes", progress=progress
    )


def _table(title: str, metrics: dict[str, Metrics]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for policy in metrics:
        table.add_column(POLICIES[policy], justify="right", style="bold" if policy == "slackwater" else None)
    table.add_column("")
    for label, value, show in _ROWS:
        values = [value(one) for one in metrics.values()]
        table.add_row(label, *(show(each) for each in values), _change(values) if show is _minutes else "")
    table.add_row("")
    return table


def _minutes(seconds: float) -> str:
    """Minutes; what never came is told so."""
    return f"{seconds / 60:.1f} min" if seconds < math.inf else "never"


def _change(values: list[float]) -> str:
    """How ours compares with theirs, in the words people use."""
    if len(values) != 2 or math.inf in values or values[0] == values[1]:
        return ""
    theirs, ours = values
    if theirs >= 1.5 * ours:
        return f"[green]{theirs / ours:.1f} times as fast[/]"
    share = abs(theirs - ours) / theirs
    return f"[green]{share:.0%} sooner[/]" if ours < theirs else f"[yellow]{share:.0%} later[/]"


def _time(pick: Callable[[Metrics], float]) -> Callable[[Metrics], float]:
    """A time of the apps; infinite where none ever finished."""
    return lambda one: pick(one) if one.finished else math.inf


def _share(value: float) -> str:
    return f"{value:.0%}" if value == value else "–"  # noqa: PLR0124 - NaN differs from itself


# What is shown, how it is read off, and how it is written: what people wait for first, what it costs last.
_ROWS: tuple[tuple[str, Callable[[Metrics], Any], Callable[[Any], str]], ...] = (
    ("small apps: done after, mean", _time(lambda one: one.small_completion.mean), _minutes),
    ("all apps: done after, mean", _time(lambda one: one.completion.mean), _minutes),
    ("one app in twenty: later than", _time(lambda one: one.completion.p95), _minutes),
    ("all work is done after", lambda one: math.inf if one.deadlock else one.makespan, _minutes),
    (
        "apps that finish",
        lambda one: (one.finished, one.finished + one.unfinished),
        lambda pair: "{} of {}".format(*pair),
    ),
    ("cores busy, mean", lambda one: one.used[0] if one.used and one.finished else math.nan, _share),
    ("tasks lost, memory full", lambda one: one.failures, str),
)


def _verdict(hour: dict[str, Metrics]) -> str:
    """The hour in one sentence, whoever is ahead."""
    theirs, ours = (hour[policy].completion.mean for policy in ("kube", "slackwater"))
    return f"Same apps, same nodes: done after {_minutes(ours)} instead of {_minutes(theirs)}, on average.\n"


def _spread(seed: int, makespans: list[dict[str, float]]) -> list[str]:
    """The same comparison on further hours, each told, whoever is ahead."""
    if len(makespans) < 2:
        return []
    told = [_plain(_change([each["kube"], each["slackwater"]]) or "at the same time") for each in makespans]
    return [f"Seeds {seed} to {seed + len(told) - 1}: all work is done {', '.join(told)}."]


def _plain(words: str) -> str:
    return Text.from_markup(words).plain


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
