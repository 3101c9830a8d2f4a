"""The result table: a row per metric, a column per policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slackwater_simulator.charts.amounts import count, rounded
from slackwater_simulator.charts.table import Table
from slackwater_simulator.results.metrics import Metrics, Spread, measure
from slackwater_simulator.results.outcome import Outcome

Cell = Callable[[Metrics, Outcome], str]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name, how to print it, whether a rule follows, and how to print it where room is short."""

    label: str
    cell: Cell
    last: bool = False
    short: Cell | None = None


def seconds(value: float) -> str:
    """A time a person can read, in seconds."""
    if not math.isfinite(value):
        return "–"
    digits = 2 if abs(value) < 1000 else 1 if abs(value) < 100_000 else 0
    return f"{value:,.{digits}f}"


def brief(value: float) -> str:
    """A time beside others: three digits that count, so that a column for each policy fits into 80 characters."""
    return rounded(value) if math.isfinite(value) else "–"


def percent(value: float) -> str:
    """A share as percent."""
    return f"{value:.1%}" if math.isfinite(value) else "–"


def _times(label: str, pick: Callable[[Metrics], Spread]) -> Metric:
    return Metric(label, _three(pick, seconds), short=_three(pick, brief))


def _three(pick: Callable[[Metrics], Spread], shown: Callable[[float], str]) -> Cell:
    return lambda metrics, _: " / ".join(map(shown, _values(pick(metrics))))


def _values(spread: Spread) -> tuple[float, float, float]:
    return spread.mean, spread.median, spread.p95


def _shares(pick: Callable[[Metrics], tuple[float, ...]]) -> Cell:
    return lambda metrics, _: " / ".join(percent(value) for value in pick(metrics)[:2]) or "not told"


def _cost(metrics: Metrics, _: Outcome) -> str:
    if not metrics.decisions:
        return "–"
    return f"{metrics.decisions:,} × {1e6 * metrics.decision_seconds / metrics.decisions:,.0f} µs"


def _jobs(metrics: Metrics, _: Outcome) -> str:
    total = metrics.finished + metrics.unfinished
    refused = f", {metrics.refused:,} refused" if metrics.refused else ""
    return f"{metrics.finished:,}" if not metrics.unfinished else f"{metrics.finished:,} of {total:,}{refused}"


LINES = (
    Metric("jobs finished", _jobs),
    Metric("makespan, s", lambda metrics, _: seconds(metrics.makespan), last=True),
    _times("completion, s", lambda metrics: metrics.completion),
    _times("  small jobs", lambda metrics: metrics.small_completion),
    _times("  large jobs", lambda metrics: metrics.large_completion),
    _times("wait, s", lambda metrics: metrics.wait),
    _times("  small jobs", lambda metrics: metrics.small_wait),
    _times("  large jobs", lambda metrics: metrics.large_wait),
    Metric("mean slowdown", lambda metrics, _: seconds(metrics.slowdown), last=True),
    Metric("requested, cpu / memory", _shares(lambda metrics: metrics.allocated)),
    Metric("used, cpu / memory", _shares(lambda metrics: metrics.used)),
    Metric("allocation efficiency", _shares(lambda metrics: metrics.efficiency), last=True),
    Metric("failures", lambda metrics, _: f"{metrics.failures:,}"),
    Metric("deadlock", lambda metrics, _: "yes" if metrics.deadlock else "no"),
    Metric("decisions", _cost),
)


def table(outcomes: Sequence[Outcome], *, timing: bool = True, short: bool = False) -> Table:
    """The comparison. Without `timing` the row that holds wall time, which differs from run to run, is left out."""
    first = outcomes[0]
    measured = [(measure(outcome), outcome) for outcome in outcomes]
    lines = [line for line in LINES if timing or line.cell is not _cost]
    cells = [(line.label, (line.short if short else None) or line.cell) for line in lines]
    rows = [(label, *(cell(metrics, outcome) for metrics, outcome in measured)) for label, cell in cells]
    return Table(
        f"{first.workload.name} on {first.cluster.name}, seed {first.seed} (mean / median / p95)",
        ("", *(outcome.policy for outcome in outcomes)),
        rows,
        rules=[at for at, line in enumerate(lines) if line.last],
        alarms=[at for at, row in enumerate(rows) if row[0] == "deadlock" and "yes" in row],
    )


def notes(outcomes: Sequence[Outcome]) -> list[str]:
    """What a reader of the table must know: what is made up, skipped lines, remarks."""
    workload, cluster = outcomes[0].workload, outcomes[0].cluster
    lines = [f"made up, not measured: {field}: {model}" for field, model in workload.modelled]
    lines.extend(f"assumed: {field} of the cluster: {value}" for field, value in cluster.assumed)
    if workload.skipped:
        lines.append(f"skipped: {count(workload.skipped, 'broken line')}")
    lines.extend(f"note: {note}" for note in workload.notes)
    lines.extend(f"note ({outcome.policy}): {note}" for outcome in outcomes for note in outcome.notes)
    return lines
