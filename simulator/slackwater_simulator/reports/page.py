"""The page of a simulation: summary, comparison, causes of idle cores, timelines, efficiency and nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from slackwater.errors import InvalidInput
from slackwater_simulator.charts import page
from slackwater_simulator.charts.amounts import count
from slackwater_simulator.charts.amounts import seconds as duration
from slackwater_simulator.charts.page import Block, Bullets, Card, Heading, Page, Paragraph, Section
from slackwater_simulator.charts.table import Table
from slackwater_simulator.reports import causes, figures, levels
from slackwater_simulator.reports.names import named, policy_css
from slackwater_simulator.reports.story import Story
from slackwater_simulator.reports.table import notes, percent, table
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome

TERMS = (
    "Wait: from the submission of a job to the start of its first task. Completion: from its submission to its end. "
    "Makespan: from the first submission until all work is done; one long job at the end decides it."
)
READING = "Triples are mean / median / 95th percentile. Small jobs ask for at most a tenth of the cluster."
WHERE = "name a folder that may be made or written to"
NOTHING = "Everything shown comes from the trace and the rules of the simulated world; nothing was modelled."


def write(outcomes: Sequence[Outcome], folder: Path, story: Story | None = None) -> Path:
    """Write the page into a folder, which is made if need be, and say where it is."""
    prepare(folder)
    path = folder / "index.html"
    path.write_text(render(outcomes, story), encoding="utf-8")
    return path


def prepare(folder: Path, field: str = "--report") -> None:
    """Make the folder of a page, or say why it cannot be: before anything is played or asked for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(field, f"folder {str(folder)!r} cannot be made ({error.strerror})", WHERE) from error
    if not os.access(folder, os.W_OK):
        raise InvalidInput(field, f"nothing can be written into folder {str(folder)!r}", WHERE)


def prepare_file(path: Path, field: str = "--report") -> None:
    """The same for what is one file; to write over one that is there, nothing is asked of its folder."""
    if not os.access(path, os.F_OK):
        prepare(path.parent, field)
    elif path.is_dir() or not os.access(path, os.W_OK):
        raise InvalidInput(field, f"file {str(path)!r} cannot be written", "name a file that may be made or written to")


def render(outcomes: Sequence[Outcome], story: Story | None = None) -> str:
    """The page as text; a story opens it. Same outcomes, same text: wall times are left out."""
    first = outcomes[0]
    end = max(levels.horizon(outcome) for outcome in outcomes)
    lines = notes(outcomes)
    made = Page(
        title=f"{first.workload.name} on {first.cluster.name}",
        brand="Slackwater simulation",
        heading=first.workload.name if story is None else story.heading,
        lead="" if story is None else story.lead,
        facts=_facts(outcomes),
        modelled=_modelled([field for field, _ in first.workload.modelled]),
        cards=[] if story is not None else [_card(index, outcome) for index, outcome in enumerate(outcomes)],
        sections=(
            *(() if story is None else story.sections),
            Section("compare", "Comparison", list(_comparison(outcomes)), "Comparison"),
            Section("causes", "Where the core-hours went", list(_causes(outcomes)), "Causes"),
            Section("time", "Over time", list(_timelines(outcomes, end)), "Over time"),
            Section("efficiency", "Requested and used", page.figures(figures.efficiencies(first))),
            Section("nodes", "Nodes", list(_nodes(outcomes, end)), "Nodes"),
            Section(
                "numbers",
                "All numbers",
                [_called(table(outcomes, timing=False)), Paragraph(READING, "fine")],
                "Numbers",
            ),
            Section("basis", "What this rests on", [Bullets(lines) if lines else Paragraph(NOTHING)]),
        ),
    )
    return page.render(made)


def _modelled(fields: Sequence[str]) -> str:
    """What of the workload nobody measured."""
    return "the whole workload, with what its tasks use" if "everything" in fields else ", ".join(fields)


def _facts(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    first = outcomes[0]
    containers = sum(job.tasks + (job.driver is not None) for job in first.workload.jobs)
    return (
        count(len(first.workload.jobs), "job"),
        count(containers, "container"),
        f"{count(len(first.cluster), 'node')} ({first.cluster.name})",
        f"world {', '.join(dict.fromkeys(outcome.world for outcome in outcomes))}",
        f"seed {first.seed}",
    )


def _card(index: int, outcome: Outcome) -> Card:
    """What people wait for is the large number; when the last job was done stands below it."""
    metrics = measure(outcome)
    shares = zip(("CPU", "memory"), metrics.allocated, strict=False)
    stuck = ("deadlock", f"{count(metrics.finished, 'job')} done")
    big, small = stuck if metrics.deadlock else (duration(metrics.completion.mean), "until a job is done, mean")
    return Card(
        named(outcome.policy),
        policy_css(outcome.policy, index),
        big,
        small,
        rows=(
            ("waits for its first task, mean", duration(metrics.wait.mean)),
            ("all work is done after", "never" if metrics.deadlock else duration(metrics.makespan)),
        ),
        fine=(
            *(f"{percent(share)} {kind} reserved" for kind, share in shares),
            count(metrics.failures, "failure"),
            *((f"{count(metrics.refused, 'job')} refused",) if metrics.refused else ()),
        ),
        bad=metrics.deadlock,
    )


def _comparison(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    yield Paragraph(TERMS)
    yield from page.figures(figures.comparison(outcomes))


def _causes(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    yield from page.figures(causes.figure(outcomes))
    counted = causes.table(outcomes)
    if counted is not None:
        yield replace(_called(counted), caption="")


def _called(made: Table) -> Table:
    """The table with policies as people call them, as everywhere on the page."""
    return replace(made, heads=[named(head) for head in made.heads])


def _timelines(outcomes: Sequence[Outcome], end: float) -> Iterator[Block]:
    tops = figures.largest(outcomes, end)
    for index, outcome in enumerate(outcomes):
        yield Heading(named(outcome.policy), f"policy {policy_css(outcome.policy, index)}")
        yield from page.figures(figures.timelines(outcome, end, tops))


def _nodes(outcomes: Sequence[Outcome], end: float) -> Iterator[Block]:
    for index, (outcome, figure) in enumerate(zip(outcomes, figures.nodes(outcomes, end), strict=True)):
        yield Heading(named(outcome.policy), f"policy {policy_css(outcome.policy, index)}")
        yield from page.figures([figure])
