"""Where the core-hours went, policy by policy, beside the makespan that nobody can beat: as a table and as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slackwater.cycle.audit.idle import ABOUT, Cause
from slackwater_simulator.charts.page import Figure
from slackwater_simulator.charts.stacks import Part, Stack, stacks
from slackwater_simulator.charts.table import Table
from slackwater_simulator.reports.names import named
from slackwater_simulator.reports.table import percent, seconds
from slackwater_simulator.results.bounds import bound
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import FINISHED

TITLE = "Core-hours by cause"
READING = (
    "From the first submission to the end of the last container. Cores that do nothing while a pod waits are counted "
    "by what keeps the pod from them."
)
# By cause, the class of its colour.
COLOURS = {
    Cause.BUSY: "p2",
    Cause.NOTHING_WAITS: "p7",
    Cause.GATE: "p4",
    Cause.KEPT_BACK: "p6",
    Cause.TASKS: "p0",
    Cause.DRIVERS: "p5",
    Cause.MEMORY: "p1",
    Cause.CEILING: "p3",
    Cause.FRAGMENT: "p8",
}


def known(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those whose core-hours were counted."""
    return [outcome for outcome in outcomes if outcome.core_hours]


def lower_bound(outcome: Outcome) -> float | None:
    """Seconds below which no makespan of the jobs that ended can be; None where nobody tells what tasks use."""
    if not outcome.used:
        return None
    jobs = outcome.workload.jobs
    ended = [job for job, status in zip(jobs, outcome.jobs.status.tolist(), strict=True) if status == FINISHED]
    if not ended:
        return None
    before = min(job.submit for job in ended) - min(job.submit for job in jobs)
    return before + bound(replace(outcome.workload, jobs=tuple(ended)), outcome.cluster).makespan


def table(outcomes: Sequence[Outcome]) -> Table | None:
    """A row per cause, a column per policy; None where nobody counted."""
    counted = known(outcomes)
    if not counted:
        return None
    rows = [(ABOUT[cause], *(_share(outcome, cause) for outcome in counted)) for cause in Cause]
    rows.append(("total", *(f"{_whole(outcome):,.1f}" for outcome in counted)))
    rows.append(("makespan, s", *(seconds(measure(outcome).makespan) for outcome in counted)))
    least = [lower_bound(outcome) for outcome in counted]
    rows.append(("lower bound of it, s", *("–" if each is None else seconds(each) for each in least)))
    return Table(
        TITLE,
        ("", *(outcome.policy for outcome in counted)),
        rows,
        caption=READING,
        rules=[len(Cause) - 1, len(Cause)],
    )


def _whole(outcome: Outcome) -> float:
    return sum(outcome.core_hours.values())


def _share(outcome: Outcome, cause: Cause) -> str:
    hours, whole = outcome.core_hours[cause], _whole(outcome)
    return f"{hours:,.1f} ({percent(hours / whole if whole else 0.0)})"


def figure(outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """The same as bars, one per policy."""
    counted = known(outcomes)
    if not counted:
        return
    rows = [
        Stack(named(outcome.policy), [Part(COLOURS[cause], outcome.core_hours[cause], ABOUT[cause]) for cause in Cause])
        for outcome in counted
    ]
    legend = tuple(
        (COLOURS[cause], ABOUT[cause]) for cause in Cause if any(outcome.core_hours[cause] > 0 for outcome in counted)
    )
    yield Figure(TITLE, READING, stacks(TITLE, rows, "core-hours"), legend, wide=True)
