"""`slackwater demo`: one contended hour under the stock scheduler and under Slackwater, in a table anyone can read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from slackwater_cli.printing import console, tell
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
        int,
        typer.Option(
            min=1, help="Hours in all: with more than one, those of the next seeds too, to see if it was luck."
        ),
    ] = 3,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then show the hour on the dashboard, a minute a second.")
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard, on this machine only.")] = 8580,
) -> None:
    """Play a contended hour on a virtual cluster, under the stock scheduler and under Slackwater, and compare."""
    from slackwater_simulator.reports.page import prepare, write
    from slackwater_simulator.reports.story import standstill, told, verdict
    from slackwater_simulator.results.metrics import measure

    prepare(report)
    if serve:
        _check(port)
    out = console()
    outcomes, makespans = _play(seed, hours, reasons=serve)
    plays = {scene: {policy: outcomes[scene, policy] for policy in POLICIES} for scene in SCENES}
    metrics = {scene: {policy: measure(each) for policy, each in found.items()} for scene, found in plays.items()}
    further = _spread(seed, makespans)
    tell(f"{verdict(metrics['hour'])}\n", style="bold")
    for scene, title in SCENES.items():
        out.print(_table(title, metrics[scene]))
    for line in [*standstill(plays["nine"]), *further]:
        tell(line)
    page = write(list(plays["hour"].values()), report, told(SCENES, plays, further))
    tell(f"\nThe same as a page, with figures: {page}")
    tell(
        "Decided by the functions that run in a cluster; apps and use are made up (gen:hour).\n"
        f"Next: {called()} demo --serve (watch it), {called()} assess --help (your cluster).",
        style="dim",
    )
    if serve:
        _serve(outcomes, port)


def called() -> str:
    """The program as it was called: `.venv/bin/slackwater` where it is on no path, as after `make demo`."""
    program, found = Path(sys.argv[0]), shutil.which("slackwater")
    if program.name != "slackwater" or not program.exists() or (found and program.samefile(found)):
        return "slackwater"
    return str(program)


def _check(port: int) -> None:
    from slackwater_monitor.web.server import check_address, options

    check_address(options("127.0.0.1", port))


def _serve(outcomes: dict[tuple[str, str], Outcome], port: int) -> None:
    from slackwater_monitor.sources.simulated.replay import Replay
    from slackwater_monitor.sources.simulated.scenes import Scenes
    from slackwater_monitor.web.server import options
    from slackwater_monitor.web.server import serve as show

    plays = {
        scene: Replay(outcomes[scene, "slackwater"], rival=outcomes[scene, "kube"], speed=speed, opening=opening)
        for scene, (speed, opening) in PACES.items()
    }
    tell(f"\nDashboard: http://127.0.0.1:{port}/ (Ctrl-C ends it)")
    show(Scenes(plays, SCENES), options("127.0.0.1", port))


def _play(seed: int, hours: int, *, reasons: bool) -> tuple[dict[tuple[str, str], Outcome], list[dict[str, float]]]:
    """Both scenes under both schedulers, and when all work of each further hour was done under each."""
    from slackwater_simulator.results.metrics import measure

    outcomes, makespans = {}, []
    with bars() as tick:
        for scene in SCENES:
            for policy, label in POLICIES.items():
                options = {"reasons": True, "forecasts": True} if reasons and policy == "slackwater" else {}
                outcomes[scene, policy] = _run(scene, policy, seed, tick(f"{scene}, {label}"), options)
        makespans.append({policy: measure(outcomes["hour", policy]).makespan for policy in POLICIES})
        for further in range(seed + 1, seed + hours):
            done = tick(f"another hour, seed {further}")
            makespans.append({policy: measure(_run("hour", policy, further, done)).makespan for policy in POLICIES})
    return outcomes, makespans


def _run(
    scene: str, policy: str, seed: int, progress: Callable[[float], None], options: Mapping[str, object] | None = None
) -> Outcome:
    from slackwater_simulator.simulation import run
    from slackwater_simulator.workload.cluster import parse
    from slackwater_simulator.workload.generators.catalogue import cluster_of, generate

    name = f"gen:hour?case={scene}"
    jobs, machines = generate(name, seed=seed), parse(cluster_of(name))
    return run(jobs, machines, policy, seed=seed, world="kubernetes", progress=progress, **(options or {}))


def _table(title: str, metrics: dict[str, Metrics]) -> Table:
    from slackwater_simulator.reports.story import rows

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for policy in metrics:
        table.add_column(POLICIES[policy], justify="right", style="bold" if policy == "slackwater" else None)
    table.add_column("")
    for label, values, change in rows(metrics):
        words = "" if change is None else Text(change.words, style="green" if change.better else "yellow")
        table.add_row(label, *values, words)
    table.add_row("")
    return table


def _spread(seed: int, makespans: list[dict[str, float]]) -> list[str]:
    """The same comparison on further hours, each told, whoever is ahead."""
    from slackwater_simulator.reports.story import change

    if len(makespans) < 2:
        return []
    found = [change([each["kube"], each["slackwater"]]) for each in makespans]
    told = ", ".join(each.words if each is not None else "at the same time" for each in found)
    return [f"Seeds {seed} to {seed + len(found) - 1}: all work is done {told}."]
