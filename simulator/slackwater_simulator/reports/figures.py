"""The figures of the page: each with a title, a sentence on how to read it, a legend and a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slackwater_simulator.reports import curves
from slackwater_simulator.reports.gantt import bars, drawable, heat
from slackwater_simulator.reports.ranges import Range, ranges
from slackwater_simulator.reports.svg import Floats, Line, chart, unit_of
from slackwater_simulator.results.metrics import small_jobs
from slackwater_simulator.results.outcome import Outcome, Series
from slackwater_simulator.workload.workload import GIBI

CPU, MEMORY = 0, 1


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and the words around it. The legend pairs a colour class with its meaning."""

    title: str
    caption: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """A time axis: what is written below it, its length, and the seconds of its unit."""

    name: str
    length: float
    unit: float


def policy_css(index: int) -> str:
    """The colour class of the n-th policy."""
    return f"p{index % 8}"


def comparison(outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """All policies in one drawing: who waits how long."""
    for name, caption in (
        ("wait", "From submission to the first task's start."),
        ("completion", "From submission to the job's end."),
    ):
        yield _spreads(outcomes, name, caption)
        yield _distribution(outcomes, name)


def _times(outcome: Outcome, name: str) -> Floats:
    jobs = outcome.jobs
    return (jobs.start if name == "wait" else jobs.end) - jobs.submit


def _spreads(outcomes: Sequence[Outcome], name: str, caption: str) -> Figure:
    rows: list[tuple[str, list[Range]]] = []
    small = small_jobs(outcomes[0])
    groups = [("all jobs", np.ones(len(small), dtype=np.bool_))]
    if small.any() and not small.all():
        groups += [(f"small jobs ({int(small.sum()):,})", small), (f"large jobs ({int((~small).sum()):,})", ~small)]
    for title, chosen in groups:
        rows.append((title, [_range(outcome, index, name, chosen) for index, outcome in enumerate(outcomes)]))
    return Figure(
        f"{name.capitalize()} by policy",
        f"{caption} Bar: mean. Diamond: median. Line: to the 95th percentile.",
        ranges(f"{name.capitalize()} by policy", rows),
    )


def _range(outcome: Outcome, index: int, name: str, chosen: np.typing.NDArray[np.bool_]) -> Range:
    values = _times(outcome, name)[chosen]
    known = values[~np.isnan(values)]
    if not len(known):
        return Range(outcome.policy, policy_css(index), None, 0.0, 0.0)
    median, p95 = np.percentile(known, (50, 95)).tolist()
    return Range(outcome.policy, policy_css(index), float(known.mean()), median, p95)


def _distribution(outcomes: Sequence[Outcome], name: str) -> Figure:
    sets = [_times(outcome, name) for outcome in outcomes]
    known = [values[~np.isnan(values)] for values in sets]
    longest = max((float(np.quantile(values, 0.99)) for values in known if len(values)), default=1.0)
    size, unit = unit_of(max(longest, 1e-9))
    lines = []
    for index, values in enumerate(known):
        x, y = _extended(*curves.cumulative(values / size), longest / size)
        # A job that never got there counts as missing at the top, not as if it did not exist.
        lines.append(Line(policy_css(index), x, y * 100 * len(values) / max(len(sets[index]), 1)))
    title = f"Share of jobs by {name}"
    return Figure(
        title,
        f"How many jobs have a {name} of at most so much (to the 99th percentile). Further left is better.",
        chart(title, lines, f"{name}, {unit}", "% of jobs", x_max=max(longest / size, 1e-9), y_max=100),
        tuple((policy_css(index), outcome.policy) for index, outcome in enumerate(outcomes)),
    )


def _extended(x: Floats, y: Floats, right: float) -> tuple[Floats, Floats]:
    """From the ground to the right border: beyond its last value a share stays what it is."""
    if not len(x):
        return x, y
    inside = x <= right
    edge = float(np.interp(right, x, y))
    return np.concatenate((x[:1], x[inside], [right])), np.concatenate(([0.0], y[inside], [edge]))


def timelines(outcome: Outcome, end: float, tops: dict[str, float]) -> Iterator[Figure]:
    """One policy over time. `tops` are the largest values over all policies, so that their drawings compare."""
    borders = curves.edges(outcome, end)
    size, unit = unit_of(end)
    middle = (borders[:-1] + borders[1:]) / 2 / size
    axis = Axis(f"time, {unit}", end / size, size)
    yield _queue(outcome, borders, middle, axis, tops)
    yield _containers(outcome, borders, middle, axis, tops)
    for kind in (CPU, MEMORY):
        if any(stage.request[kind] > 0 for job in outcome.workload.jobs for stage in job.stages):
            yield _resource(outcome, kind, borders, middle, axis)
    yield from _pools(outcome, axis)


def largest(outcomes: Sequence[Outcome], end: float) -> dict[str, float]:
    """The common tops of the vertical axes."""
    tops = {"jobs": 1.0, "containers": 1.0}
    for outcome in outcomes:
        borders = curves.edges(outcome, end)
        jobs = max(curves.waiting(outcome, borders).max(), curves.running(outcome, borders).max())
        held = max(curves.held(outcome, kind, borders).max() for kind in (True, False))
        tops = {"jobs": max(tops["jobs"], float(jobs)), "containers": max(tops["containers"], float(held))}
    return tops


def _queue(outcome: Outcome, borders: Floats, x: Floats, axis: Axis, tops: dict[str, float]) -> Figure:
    lines = (
        Line("wait", x, curves.waiting(outcome, borders), filled=True),
        Line("run", x, curves.running(outcome, borders)),
    )
    title = "Queue"
    return Figure(
        title,
        "Jobs that wait for their first task, and jobs that run.",
        _chart(title, lines, axis, "jobs", tops["jobs"]),
        (("wait", "waiting"), ("run", "running")),
    )


def _containers(outcome: Outcome, borders: Floats, x: Floats, axis: Axis, tops: dict[str, float]) -> Figure:
    lines = [Line("run", x, curves.held(outcome, False, borders), filled=True)]
    legend = [("run", "tasks")]
    if any(job.driver for job in outcome.workload.jobs):
        lines.append(Line("driver", x, curves.held(outcome, True, borders)))
        legend.append(("driver", "drivers"))
    title = "Containers"
    caption = "Containers that hold resources."
    return Figure(title, caption, _chart(title, lines, axis, "containers", tops["containers"]), tuple(legend))


def _resource(outcome: Outcome, kind: int, borders: Floats, x: Floats, axis: Axis) -> Figure:
    name = outcome.cluster.kinds[kind]
    scale, unit = (1.0, "cores") if kind == CPU else (GIBI, "GiB")
    asked = curves.requested(outcome, kind, borders) / scale
    capacity = outcome.cluster.total[kind] / scale
    lines = [Line("asked", x, asked, filled=True)]
    legend = [("asked", "requested")]
    for found, css, text in ((f"used_{name}", "used", "used"), (f"estimated_{name}", "guess", "estimated")):
        if found in outcome.series:
            series = outcome.series[found]
            lines.append(_thinned(series, css, axis.unit, scale))
            legend.append((css, text))
    title = {"cpu": "CPU", "memory": "Memory"}.get(name, name)
    top = max(capacity, *(float(line.y.max()) for line in lines if len(line.y)))
    legend.append(("limit", "capacity"))
    words = [text for _, text in legend[:-1]]
    return Figure(
        title,
        f"{_listed(words).capitalize()} over time, against what the cluster has.",
        _chart(title, lines, axis, unit, top, capacity),
        tuple(legend),
    )


def _listed(words: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _thinned(series: Series, css: str, unit: float, scale: float) -> Line:
    """A recorded series with at most a few hundred points: means of equal runs of samples."""
    group = max(1, -(-len(series.time) // curves.BINS))
    starts = np.arange(0, len(series.time), group)
    if not len(starts):
        return Line(css, np.zeros(0), np.zeros(0))
    counts = np.diff(np.append(starts, len(series.time)))
    time = np.add.reduceat(series.time, starts) / counts / unit
    return Line(css, time, np.add.reduceat(series.value, starts) / counts / scale)


# What policies record, in words: title, reading help, unit.
KNOWN_SERIES = {
    "delta": (
        "Pool for small jobs",
        "Share of the slots kept for small jobs (δ of paper 004), as the policy moved it.",
        "share",
    ),
    "reservation": ("Reservation for tasks", "What drivers may not take (R of paper 002), as the policy moved it.", ""),
}


def _pools(outcome: Outcome, axis: Axis) -> Iterator[Figure]:
    """Whatever else the policy recorded: its pools, its reservation. One figure each."""
    drawn = {f"{what}_{kind}" for what in ("used", "estimated") for kind in outcome.cluster.kinds}
    for name in sorted(set(outcome.series) - drawn):
        line = _thinned(outcome.series[name], "pool", axis.unit, 1.0)
        plain = name.replace("_", " ").capitalize()
        title, caption, unit = KNOWN_SERIES.get(name, (f"Pool: {plain}", f"What {outcome.policy} decided by.", ""))
        if len(line.y):
            top = max(float(line.y.max()), 1e-9)
            yield Figure(title, caption, _chart(title, [line], axis, unit, top), (("pool", plain),))


def _chart(title: str, lines: Sequence[Line], axis: Axis, unit: str, top: float, limit: float | None = None) -> str:
    return chart(title, lines, axis.name, unit, x_max=axis.length, y_max=top, limit=limit)


def nodes(outcomes: Sequence[Outcome], end: float) -> Iterator[Figure]:
    """Who ran where, one drawing per policy and all of one kind."""
    if all(drawable(outcome) for outcome in outcomes):
        title, draw = "Containers by node", bars
        caption = "Every container in a lane of its node, coloured by job. Grey: drivers. Red: failed."
    else:
        title, draw = "Reserved CPU by node", heat
        caption = "How much of each node's CPU is reserved: the stronger, the more. Large clusters are shown in groups."
    for outcome in outcomes:
        yield Figure(title, caption + _stuck(outcome), draw(outcome, end), wide=True)


def _stuck(outcome: Outcome) -> str:
    if not outcome.deadlock:
        return ""
    drivers = f"{outcome.peak_drivers:,} drivers" if outcome.peak_drivers else "what is running"
    return (
        f" Deadlock at {outcome.stalled_at:,.0f} s: {drivers} hold what tasks wait for; what never ended is not drawn."
    )


def efficiencies(outcome: Outcome) -> Iterator[Figure]:
    """How much of what was asked for is used (equation 7 of paper 000)."""
    for kind, name in ((MEMORY, "Memory"), (CPU, "CPU")):
        found = curves.efficiency(outcome, kind)
        if found is None:
            continue
        groups = (("e0", "containers", found.containers), ("e1", "jobs", found.jobs), ("e2", "users", found.users))
        right = max(100.0, *(float(values.max(initial=0.0)) * 100 for _, _, values in groups))
        lines = []
        for css, _, values in groups:
            x, y = _extended(*curves.cumulative(values * 100), right)
            lines.append(Line(css, x, y * 100))
        title = f"{name} efficiency"
        yield Figure(
            title,
            f"How many containers, jobs and users use at most so much of the {name.replace('M', 'm')} they request.",
            chart(title, lines, "% of request used", "% of all", x_max=right, y_max=100),
            tuple((css, text) for css, text, _ in groups),
        )
