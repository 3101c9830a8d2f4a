"""The page of a simulation: summary, comparison, causes of idle cores, timelines, efficiency and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from slackwater_simulator.charts import page
from slackwater_simulator.charts.page import Block, Bullets, Card, Heading, Page, Paragraph, Section
from slackwater_simulator.reports import causes, figures, levels
from slackwater_simulator.reports.names import named, policy_css
from slackwater_simulator.reports.table import notes, percent, seconds, table
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome

READING = "Triples are mean / median / 95th percentile. Small jobs ask for at most a tenth of the cluster."
NOTHING = "Everything shown comes from the trace and the rules of the simulated world; nothing was modelled."


def write(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the page into a folder, which is made if need be, and say where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(render(outcomes), encoding="utf-8")
    return path


def render(outcomes: Sequence[Outcome]) -> str:
    """The page as text. Same outcomes, same text: wall times are left out."""
    first = outcomes[0]
    end = max(levels.horizon(outcome) for outcome in outcomes)
    lines = notes(outcomes)
    made = Page(
        title=f"{first.workload.name} on {first.cluster.name}",
        brand="Slackwater simulation",
        heading=first.workload.name,
        facts=_facts(outcomes),
        modelled=", ".join(field for field, _ in first.workload.modelled),
        cards=[_card(index, outcome) for index, outcome in enumerate(outcomes)],
        sections=(
            Section("compare", "Comparison", page.figures(figures.comparison(outcomes)), "Comparison"),
            Section("causes", "Where the core-hours went", list(_causes(outcomes)), "Causes"),
            Section("time", "Over time", list(_timelines(outcomes, end)), "Over time"),
            Section("efficiency", "Requested and used", page.figures(figures.efficiencies(first))),
            Section("nodes", "Nodes", list(_nodes(outcomes, end)), "Nodes"),
            Section("numbers", "All numbers", [table(outcomes, timing=False), Paragraph(READING, "fine")], "Numbers"),
            Section("basis", "What this rests on", [Bullets(lines) if lines else Paragraph(NOTHING)]),
        ),
    )
    return page.render(made)


def _facts(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    first = outcomes[0]
    containers = sum(job.tasks + (job.driver is not None) for job in first.workload.jobs)
    return (
        f"{len(first.workload.jobs):,} jobs",
        f"{containers:,} containers",
        f"{len(first.cluster):,} nodes ({first.cluster.name})",
        f"world {', '.join(dict.fromkeys(outcome.world for outcome in outcomes))}",
        f"seed {first.seed}",
    )


def _card(index: int, outcome: Outcome) -> Card:
    metrics = measure(outcome)
    shares = zip(("CPU", "memory"), metrics.allocated, strict=False)
    stuck = ("deadlock", f"{metrics.finished:,} jobs done")
    big, small = stuck if metrics.deadlock else (seconds(metrics.makespan), "s makespan")
    return Card(
        named(outcome.policy),
        policy_css(outcome.policy, index),
        big,
        small,
        rows=(
            ("mean completion", f"{seconds(metrics.completion.mean)} s"),
            ("mean wait", f"{seconds(metrics.wait.mean)} s"),
        ),
        fine=(
            *(f"{percent(share)} {kind} reserved" for kind, share in shares),
            f"{metrics.failures:,} failure{'s' if metrics.failures != 1 else ''}",
        ),
        bad=metrics.deadlock,
    )


def _causes(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    yield from page.figures(causes.figure(outcomes))
    counted = causes.table(outcomes)
    if counted is not None:
        yield counted


def _timelines(outcomes: Sequence[Outcome], end: float) -> Iterator[Block]:
    tops = figures.largest(outcomes, end)
    for index, outcome in enumerate(outcomes):
        yield Heading(named(outcome.policy), f"policy {policy_css(outcome.policy, index)}")
        yield from page.figures(figures.timelines(outcome, end, tops))


def _nodes(outcomes: Sequence[Outcome], end: float) -> Iterator[Block]:
    for index, (outcome, figure) in enumerate(zip(outcomes, figures.nodes(outcomes, end), strict=True)):
        yield Heading(named(outcome.policy), f"policy {policy_css(outcome.policy, index)}")
        yield from page.figures([figure])
