"""`slackwater simulate`: play a workload on a cluster under one or more policies and compare them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from slackwater.errors import InvalidInput
from slackwater_cli.options import parse_settings, policy_names, refuse_unread
from slackwater_cli.printing import FOR_PEOPLE, WIDEST, Format, Output, console, data, jsonable, put, tell, written
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.results.outcome import Outcome
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload


# Which policies are compared where none is named, by the world that suits the workload.
DEFAULTS = {
    "yarn": "capacity,fair,slackwater",
    "ideal": "fcfs,easy",
    "kubernetes": "kube,slackwater",
    "transfer": "nearest,network",
}
# Options that only a play into a real cluster reads, and those that only a simulation does.
LIVE_ONLY = ("scale", "kubeconfig", "namespace", "selector", "limit", "image", "burn")
SIMULATED_ONLY = ("report", "cluster", "forecasts", "world")


def _list(asked: bool) -> None:
    if not asked:
        return
    from slackwater_simulator.policies.registry import policies
    from slackwater_simulator.workload.generators.catalogue import GENERATORS, PREFIX

    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for title, lines in (
        ("policies", policies()),
        ("generators", {PREFIX + name: entry.about for name, entry in GENERATORS.items()}),
    ):
        grid.add_row(title, style="bold")
        for name, about in lines.items():
            grid.add_row(f"  {name}", about)
    put(grid, wide=False)
    raise typer.Exit


# Characters of a terminal's line: for the names of the rows, and for each policy, so that no word is broken.
LABELS, READABLE = 15, 16
LIVE = "With --live"  # a part of the help text


# The command line, option by option.
WorkloadName = Annotated[
    str,
    typer.Argument(
        help="A trace file (SWIM, Rumen, SLS, SWF, our own; gz accepted) or a generator: gen:dress?small=0.2"
    ),
]
ClusterSpec = Annotated[
    str | None,
    typer.Option(help="500x4 (nodes x cores), 8x24c32Gi, or a YAML file of node groups; a generator knows its own."),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help="Policies, by commas or one by one: fair,capacity?calculator=dominant; also your own, mymodule:MyPolicy.",
        show_default="by world: " + "; ".join(f"{world}: {names}" for world, names in DEFAULTS.items()),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Feeds every model and the heartbeat phases; same seed, same result.")]
World = Annotated[
    str,
    typer.Option(help="yarn, ideal (no heartbeats, no delays), kubernetes, transfer (stages that move data), or auto."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", help="A setting of world or policy: name=value, or policy.name=value; may be repeated."
    ),
]
Report = Annotated[Path | None, typer.Option(help="Write a page of figures into this folder.")]
Listing = Annotated[
    bool, typer.Option("--list", callback=_list, is_eager=True, help="Show all policies and generators.")
]
Forecasts = Annotated[
    bool, typer.Option("--forecasts", help="Slackwater: say how often starts lay inside the intervals forecast.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Count broken lines instead of stopping at one.")]
Live = Annotated[
    bool, typer.Option("--live", help="Play it into a real cluster, under slackwater or kube, beside the prediction.")
]
Scale = Annotated[float, typer.Option(help="How many times as fast.", rich_help_panel=LIVE)]
Kubeconfig = Annotated[Path | None, typer.Option(help="The cluster to play into.", rich_help_panel=LIVE)]
Namespace = Annotated[
    str, typer.Option(help="Namespace that is made for it, and removed afterwards.", rich_help_panel=LIVE)
]
Selector = Annotated[str, typer.Option(help="Labels of the nodes to use: key=value,…", rich_help_panel=LIVE)]
Limit = Annotated[float, typer.Option(help="Stop after so many seconds.", rich_help_panel=LIVE)]
Image = Annotated[
    str, typer.Option(help="Real containers of this image (burn, driver), for real kubelets.", rich_help_panel=LIVE)
]
Burn = Annotated[
    float, typer.Option(help="With --image: the share of the workload's use they really take.", rich_help_panel=LIVE)
]


def command(
    context: typer.Context,
    workload: WorkloadName,
    cluster: ClusterSpec = None,
    policy: Policies = None,
    seed: Seed = 0,
    world: World = "auto",
    setting: Settings = None,
    report: Report = None,
    output: Output = Format.TABLE,
    listing: Listing = False,  # noqa: ARG001 - its callback acts
    skip_bad: SkipBad = False,
    forecasts: Forecasts = False,
    live: Live = False,
    scale: Scale = 1.0,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = "slackwater-live",
    selector: Selector = "",
    limit: Limit = 3600.0,
    image: Image = "",
    burn: Burn = 1.0,
) -> None:
    """Play WORKLOAD under each policy and print what came out."""
    from slackwater.validation import once
    from slackwater_simulator.simulation import choose
    from slackwater_simulator.workload.cluster import parse
    from slackwater_simulator.workload.loading import default_cluster, load

    if live:
        refuse_unread(context, SIMULATED_ONLY.__contains__, "it is for simulations, not for --live")
    else:
        refuse_unread(context, LIVE_ONLY.__contains__, "it is for plays into a cluster", "add --live, or ")
    given = policy_names(policy) if policy else ["slackwater"] if live else None
    once("--policy", given or ())
    jobs = load(workload, seed=seed, skip_bad=skip_bad)
    names = given or policy_names([DEFAULTS.get(choose(jobs) if world == "auto" else world, "slackwater")])
    options = parse_settings(setting or [], names)
    if forecasts:
        _switch_on(options)
    if report is not None and not live:
        from slackwater_simulator.reports.page import prepare

        prepare(report)
    if live:
        from slackwater_cli.simulation.live import Wish, labels, perform

        if len(names) > 1:
            raise InvalidInput("--policy", "a cluster is played under one policy at a time", "name one with --live")

        chosen = labels(selector)
        wish = Wish(names[0], scale, namespace, kubeconfig, chosen, limit, seed, options[names[0]], image, burn)
        perform(jobs, wish, output)
        return
    machines = parse(cluster or default_cluster(workload))
    outcomes = _play(jobs, machines, names, seed, choose(jobs, names) if world == "auto" else world, options)
    if report is not None:
        _write(outcomes, report)
    _print(outcomes, output, forecasts=forecasts)


def _switch_on(options: dict[str, dict[str, object]]) -> None:
    """Forecast starts under the policies that can."""
    able = [name for name in options if _forecasts_starts(name)]
    if not able:
        raise InvalidInput("--forecasts", "only slackwater forecasts starts", "add --policy slackwater")
    for name in able:
        options[name]["forecasts"] = True


def _forecasts_starts(policy: str) -> bool:
    return policy.partition("?")[0] == "slackwater"


def _play(
    jobs: Workload, machines: Cluster, names: list[str], seed: int, world: str, options: dict[str, dict[str, object]]
) -> list[Outcome]:
    from slackwater_simulator.policies.registry import variant
    from slackwater_simulator.simulation import run

    for name in names:
        variant(name)  # before the first of them is played
    with bars() as tick:
        return [
            run(jobs, machines, name, seed=seed, world=world, progress=tick(name), **options[name]) for name in names
        ]


def _write(outcomes: list[Outcome], folder: Path) -> None:
    from slackwater_simulator.reports.page import write

    written(write(outcomes, folder))


def _print(outcomes: list[Outcome], output: Format, *, forecasts: bool) -> None:
    from slackwater_simulator.charts.table import terminal
    from slackwater_simulator.reports import causes
    from slackwater_simulator.reports.rows import described
    from slackwater_simulator.reports.table import notes, table

    asked = {each.policy: each for each in outcomes if forecasts and _forecasts_starts(each.policy)}
    if output not in FOR_PEOPLE:
        data([described(each) | (_judged(each) if each.policy in asked else {}) for each in outcomes], output)
        return
    out = console(width=WIDEST if output is Format.WIDE else None)
    parts = list(_parts(outcomes, out.width))
    short = output is not Format.WIDE
    for made in (*(table(part, short=short) for part in parts), *map(causes.table, parts)):
        if made is not None:
            out.print(terminal(made, boxed=True))
    for outcome in asked.values():
        tell(_sentence(outcome))
    for line in notes(outcomes):
        tell(line, style="dim")


def _parts(outcomes: list[Outcome], width: int) -> Iterator[list[Outcome]]:
    """As many policies side by side as a terminal has room for, about as many in each table."""
    most = max(1, (width - LABELS) // READABLE)
    tables = -(-len(outcomes) // most)
    size = -(-len(outcomes) // tables)
    return (outcomes[start : start + size] for start in range(0, len(outcomes), size))


def _judged(outcome: Outcome) -> dict[str, object]:
    from slackwater_simulator.results.startforecasts import judged

    return {f"start_forecast_{name}": value for name, value in jsonable(judged(outcome)).items()}


def _sentence(outcome: Outcome) -> str:
    """How good the forecasts of a run were, in words."""
    from slackwater_simulator.charts.amounts import count, percent, seconds
    from slackwater_simulator.results.startforecasts import judged

    found = judged(outcome)
    if not found.known:
        return f"{outcome.policy}: no start was forecast; {count(found.unknown, 'app')} waited before enough was known"
    return (
        f"{outcome.policy}: {percent(found.inside)} of {count(found.known, 'start')} lay inside their interval "
        "(80 % aimed at); "
        f"median error {seconds(found.error)}, median width {seconds(found.width)}, median wait {seconds(found.wait)}; "
        f"{count(found.unknown, 'app')} started before enough was known"
    )
