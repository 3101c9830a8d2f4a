"""Two plays of the same work side by side, up to the same moment: what the other scheduler had done by then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.sources.simulated.play import Play
from slackwater_monitor.sources.views import ComparisonRow, SchedulerComparison
from slackwater_simulator.charts.amounts import count, seconds
from slackwater_simulator.reports.names import named
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DRIVER, REFUSED

Floats = NDArray[np.float64]
POINTS = 200  # of the curves


def compared(ours: Play, theirs: Play, now: float) -> SchedulerComparison:
    """Both plays at one moment, as numbers a person compares at a glance."""
    pair = (theirs, ours)
    jobs = len(ours.outcome.jobs.submit)
    sums = [each.sums(now) for each in pair]
    rows = [
        _lap("apps finished", [_finished(each.outcome, now) for each in pair], f"of {jobs}", more=True),
        _lap("apps that wait", [_waiting(each, now) for each in pair], ""),
        _lap("tasks that run", [_running(each, now) for each in pair], "", more=True),
        _lap("cores requested by what runs", [round(float(asked[0])) for asked, _, _ in sums], "", more=True),
        _lap("cores in use", [round(float(used[0])) for _, used, _ in sums], "", more=True),
    ]
    spent = [_spent(each.outcome, now) for each in pair]
    rows.append(
        ComparisonRow(
            "an app has taken so far, on average", seconds(spent[0]), seconds(spent[1]), better=_sign(spent, False)
        )
    )
    time = np.linspace(0.0, max(now, 1e-9), POINTS)
    return SchedulerComparison(
        rival=named(theirs.outcome.policy),
        name=named(ours.outcome.policy),
        rows=rows,
        time=time.tolist(),
        submitted=_counts(ours.outcome.jobs.submit, time),
        theirs=_counts(theirs.outcome.jobs.end, time),
        ours=_counts(ours.outcome.jobs.end, time),
        nodes=list(zip(theirs.nodes(now), ours.nodes(now), strict=True)),
        stuck=_stuck(theirs.outcome, now),
    )


def _stuck(found: Outcome, now: float) -> str:
    """Why nothing moves any more under the other scheduler, once that is so."""
    if not found.deadlock or now < found.stalled_at:
        return ""
    drivers = count(found.peak_drivers, "driver holds every core and waits", "drivers hold every core and wait")
    return (
        f"{drivers} for tasks that find none: nothing moves any more, "
        f"and none of its {len(found.jobs.submit):,} apps will ever finish."
    )


def _lap(what: str, pair: list[int], note: str, *, more: bool = False) -> ComparisonRow:
    theirs, ours = pair
    return ComparisonRow(what, f"{theirs:,}", f"{ours:,}", note, _sign([theirs, ours], more))


def _sign(pair: list[int] | list[float], more: bool) -> int:
    """1 where ours is the better number, −1 where theirs is, 0 where they are level or unknown."""
    theirs, ours = pair
    if ours == theirs or ours != ours or theirs != theirs:  # noqa: PLR0124 - NaN differs from itself
        return 0
    return 1 if (ours > theirs) == more else -1


def _counts(moments: Floats, time: Floats) -> list[float]:
    known = np.sort(moments[np.isfinite(moments)])
    return [float(count) for count in np.searchsorted(known, time, side="right")]


def _finished(each: Outcome, now: float) -> int:
    return int((each.jobs.end <= now).sum())


def _waiting(each: Play, now: float) -> int:
    """Apps of which a pod waits, as on the other pages."""
    return len(np.unique(each.pods.job[each.pods.waiting(now)]))


def _running(each: Play, now: float) -> int:
    return int((each.active(now) & (each.rows.stage != DRIVER)).sum())


def _spent(each: Outcome, now: float) -> float:
    """Mean time since submission of all apps there so far, without refused ones; up to now for those not done."""
    here = (each.jobs.submit <= now) & (each.jobs.status != REFUSED)
    ends = np.fmin(each.jobs.end[here], now)
    return float(np.mean(ends - each.jobs.submit[here])) if here.any() else float("nan")
