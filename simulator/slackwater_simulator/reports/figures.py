"""The figures of the page: each with a title, a sentence on how to read it, a legend and a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slackwater_simulator.charts.amounts import UNITS, count, title, unit_of
from slackwater_simulator.charts.lines import Line, chart, cumulative, over_time
from slackwater_simulator.charts.page import Figure
from slackwater_simulator.charts.percentiles import Range, ranges
from slackwater_simulator.charts.svg import Floats
from slackwater_simulator.reports import levels
from slackwater_simulator.reports.names import named, policy_css
from slackwater_simulator.reports.nodes import bars, drawable, heat
from slackwater_simulator.results.metrics import small_jobs
from slackwater_simulator.results.outcome import Outcome, Series
from slackwater_simulator.results.startforecasts import NAMES as FORECASTS

CPU, MEMORY = 0, 1


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
    for group, chosen in groups:
        rows.append((group, [_range(outcome, index, name, chosen) for index, outcome in enumerate(outcomes)]))
    return Figure(
        f"{name.capitalize()} by policy",
        f"{caption} Bar: mean. Diamond: median. Line: to the 95th percentile.",
        ranges(f"{name.capitalize()} by policy", rows),
    )


def _range(outcome: Outcome, index: int, name: str, chosen: np.typing.NDArray[np.bool_]) -> Range:
    values = _times(outcome, name)[chosen]
    known = values[~np.isnan(values)]
    if not len(known):
        return Range(named(outcome.policy), policy_css(outcome.policy, index), None, 0.0, 0.0)
    median, p95 = np.percentile(known, (50, 95)).tolist()
    return Range(named(outcome.policy), policy_css(outcome.policy, index), float(known.mean()), median, p95)


def _distribution(outcomes: Sequence[Outcome], name: str) -> Figure:
    sets = [_times(outcome, name) for outcome in outcomes]
    known = [values[~np.isnan(values)] for values in sets]
    longest = max((float(np.quantile(values, 0.99)) for values in known if len(values)), default=1.0)
    size, unit = unit_of(max(longest, 1e-9))
    lines = []
    for index, (outcome, values) in enumerate(zip(outcomes, known, strict=True)):
        x, y = _extended(*cumulative(values / size), longest / size)
        # A job that never got there counts as missing at the top, not as if it did not exist.
        lines.append(Line(policy_css(outcome.policy, index), x, y * 100 * len(values) / max(len(sets[index]), 1)))
    words = f"Share of jobs by {name}"
    return Figure(
        words,
        f"How many jobs have a {name} of at most so much (to the 99th percentile). Further left is better.",
        chart(words, lines, f"{name}, {unit}", "% of jobs", x_max=max(longest / size, 1e-9), y_max=100),
        tuple((policy_css(outcome.policy, index), named(outcome.policy)) for index, outcome in enumerate(outcomes)),
    )


def _extended(x: Floats, y: Floats, right: float) -> tuple[Floats, Floats]:
    """From the ground to the right border: beyond its last value a share stays what it is."""
    if not len(x):
        return x, y
    inside = x <= right
    edge = float(np.interp(right, x, y))
    return np.concatenate((x[:1], x[inside], [right])), np.concatenate(([0.0], y[inside], [edge]))


def progress(outcomes: Sequence[Outcome], end: float) -> Figure:
    """Apps finished over time under each policy, below those submitted."""
    edge = np.linspace(0.0, end, levels.BINS + 1)
    lines = [Line("sent", edge, _arrived(outcomes[0].jobs.submit, edge))]
    legend = [("sent", "submitted")]
    for index, outcome in enumerate(outcomes):
        css = policy_css(outcome.policy, index)
        lines.append(Line(css, edge, _arrived(outcome.jobs.end, edge)))
        legend.append((css, named(outcome.policy)))
    words = "Apps finished over time"
    caption = "The sooner a line climbs, the less people wait. On a line that stays at zero nothing ever finishes."
    return Figure(words, caption, over_time(words, lines, "apps", end=end), legend)


def _arrived(moments: Floats, edge: Floats) -> Floats:
    known = np.sort(moments[np.isfinite(moments)])
    return np.searchsorted(known, edge, side="right").astype(np.float64)


def timelines(outcome: Outcome, end: float, tops: dict[str, float]) -> Iterator[Figure]:
    """One policy over time. `tops` are the largest values over all policies, so that their drawings compare."""
    borders = levels.edges(outcome, end)
    middle = (borders[:-1] + borders[1:]) / 2
    yield _queue(outcome, borders, middle, tops["jobs"])
    yield _containers(outcome, borders, middle, tops["containers"])
    for kind in (CPU, MEMORY):
        if any(stage.request[kind] > 0 for job in outcome.workload.jobs for stage in job.stages):
            yield _resource(outcome, kind, borders, middle)
    yield from _pools(outcome, end)


def largest(outcomes: Sequence[Outcome], end: float) -> dict[str, float]:
    """The common tops of the vertical axes."""
    tops = {"jobs": 1.0, "containers": 1.0}
    for outcome in outcomes:
        borders = levels.edges(outcome, end)
        jobs = max(levels.waiting(outcome, borders).max(), levels.running(outcome, borders).max())
        held = max(levels.held(outcome, kind, borders).max() for kind in (True, False))
        tops = {"jobs": max(tops["jobs"], float(jobs)), "containers": max(tops["containers"], float(held))}
    return tops


def _queue(outcome: Outcome, borders: Floats, x: Floats, top: float) -> Figure:
    lines = (
        Line("wait", x, levels.waiting(outcome, borders), filled=True),
        Line("run", x, levels.running(outcome, borders)),
    )
    return Figure(
        "Queue",
        "Jobs that wait for their first task, and jobs that run.",
        over_time("Queue", lines, "jobs", end=borders[-1], top=top),
        (("wait", "waiting"), ("run", "running")),
    )


def _containers(outcome: Outcome, borders: Floats, x: Floats, top: float) -> Figure:
    lines = [Line("run", x, levels.held(outcome, False, borders), filled=True)]
    legend = [("run", "tasks")]
    if any(job.driver for job in outcome.workload.jobs):
        lines.append(Line("driver", x, levels.held(outcome, True, borders)))
        legend.append(("driver", "drivers"))
    svg = over_time("Containers", lines, "containers", end=borders[-1], top=top)
    return Figure("Containers", "Containers that hold resources.", svg, legend)


def _resource(outcome: Outcome, kind: int, borders: Floats, x: Floats) -> Figure:
    name = outcome.cluster.kinds[kind]
    scale, unit = UNITS["cpu" if kind == CPU else "memory"]
    lines = [Line("asked", x, levels.requested(outcome, kind, borders) / scale, filled=True)]
    legend = [("asked", "requested")]
    for found, css, words in ((f"used_{name}", "used", "used"), (f"estimated_{name}", "guess", "estimated")):
        if found in outcome.series:
            lines.append(_thinned(outcome.series[found], css, scale))
            legend.append((css, words))
    capacity = outcome.cluster.total[kind] / scale
    return Figure(
        title(name),
        f"{_listed([words for _, words in legend]).capitalize()} over time, against what the cluster has.",
        over_time(title(name), lines, unit, end=borders[-1], limit=capacity),
        (*legend, ("limit", "capacity")),
    )


def _listed(words: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _thinned(series: Series, css: str, scale: float = 1.0) -> Line:
    """A recorded series with at most a few hundred points: means of equal runs of samples."""
    group = max(1, -(-len(series.time) // levels.BINS))
    starts = np.arange(0, len(series.time), group)
    if not len(starts):
        return Line(css, np.zeros(0), np.zeros(0))
    counts = np.diff(np.append(starts, len(series.time)))
    time = np.add.reduceat(series.time, starts) / counts
    return Line(css, time, np.add.reduceat(series.value, starts) / counts / scale)


# What policies record, in words: title, reading help, unit, and what the line is.
KNOWN_SERIES = {
    "delta": (
        "Pool for small jobs",
        "Share of the slots kept for small jobs, as the policy moved it.",
        "share",
        "share for small jobs",
    ),
    "reservation": (
        "Reservation for tasks",
        "What drivers may not take, as the policy moved it.",
        "",
        "kept for tasks",
    ),
}


def _pools(outcome: Outcome, end: float) -> Iterator[Figure]:
    """Whatever else the policy recorded: its pools, its reservation. One figure each."""
    drawn = {f"{what}_{kind}" for what in ("used", "estimated") for kind in outcome.cluster.kinds}
    for name in sorted(set(outcome.series) - drawn - set(FORECASTS)):
        line = _thinned(outcome.series[name], "pool")
        plain = name.replace("_", " ").capitalize()
        unknown = (f"Pool: {plain}", f"What {outcome.policy} decided by.", "", plain)
        words, caption, unit, legend = KNOWN_SERIES.get(name, unknown)
        if len(line.y):
            yield Figure(words, caption, over_time(words, [line], unit, end=end), (("pool", legend),))


def nodes(outcomes: Sequence[Outcome], end: float) -> Iterator[Figure]:
    """Who ran where, one drawing per policy and all of one kind."""
    if all(drawable(outcome) for outcome in outcomes):
        words, draw = "Containers by node", bars
        caption = "Every container in a lane of its node, coloured by job. Grey: drivers. Red: failed."
    else:
        words, draw = "Reserved CPU by node", heat
        caption = "How much of each node's CPU is reserved: the stronger, the more. Large clusters are shown in groups."
    for outcome in outcomes:
        yield Figure(words, caption + _stuck(outcome), draw(outcome, end), wide=True)


def _stuck(outcome: Outcome) -> str:
    if not outcome.deadlock:
        return ""
    drivers = outcome.peak_drivers
    holders = count(drivers, "driver holds", "drivers hold") if drivers else "what is running holds"
    return f" Deadlock at {outcome.stalled_at:,.0f} s: {holders} what tasks wait for."


def efficiencies(outcome: Outcome) -> Iterator[Figure]:
    """How much of what was asked for is used (equation 7 of paper 000)."""
    for kind, name in ((MEMORY, "Memory"), (CPU, "CPU")):
        found = levels.efficiency(outcome, kind)
        if found is None:
            continue
        groups = (("p0", "containers", found.containers), ("p1", "jobs", found.jobs), ("p2", "users", found.users))
        right = max(100.0, *(float(values.max(initial=0.0)) * 100 for _, _, values in groups))
        lines = []
        for css, _, values in groups:
            x, y = _extended(*cumulative(values * 100), right)
            lines.append(Line(css, x, y * 100))
        words = f"{name} efficiency"
        yield Figure(
            words,
            f"How many containers, jobs and users use at most so much of the {name.replace('M', 'm')} they request.",
            chart(words, lines, "% of request used", "% of all", x_max=right, y_max=100),
            tuple((css, text) for css, text, _ in groups),
        )
