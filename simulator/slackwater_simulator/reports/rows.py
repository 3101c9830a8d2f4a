"""An outcome as one flat row with stable keys: what `-o json` prints and sweeps collect."""

from __future__ import annotations

import math
from collections.abc import Mapping

from slackwater_simulator.reports.causes import lower_bound
from slackwater_simulator.results.metrics import Metrics, Spread, measure
from slackwater_simulator.results.outcome import Outcome

Value = str | int | float | bool | None
Row = dict[str, Value]
_TIMES = tuple(f"{of}_{what}_s" for what in ("wait", "completion") for of in ("mean", "median", "p95"))
# The numbers of a row, by name.
METRICS = (
    "makespan_s",
    "mean_slowdown",
    *(f"{group}{name}" for group in ("", "small_", "large_") for name in _TIMES),
    *(f"{share}_{kind}" for share in ("allocated", "used", "efficiency") for kind in ("cpu", "memory")),
    "failures",
    "finished",
    "unfinished",
    "refused",
    "peak_drivers",
    "peak_tasks",
    "containers",
    "decisions",
)


def row(outcome: Outcome, *, timing: bool = False) -> Row:
    """All metrics. `timing` adds the wall time of decisions, the one number that differs between equal runs."""
    metrics = measure(outcome)
    values: dict[str, Value] = {
        "policy": outcome.policy,
        "world": outcome.world,
        "workload": outcome.workload.name,
        "cluster": outcome.cluster.name,
        "seed": outcome.seed,
        "makespan_s": metrics.makespan,
        **_spread("wait", metrics.wait),
        "mean_slowdown": metrics.slowdown,
        **_spread("completion", metrics.completion),
        "small_jobs": metrics.small_jobs,
        **_spread("wait", metrics.small_wait, "small_"),
        **_spread("completion", metrics.small_completion, "small_"),
        "large_jobs": metrics.large_jobs,
        **_spread("wait", metrics.large_wait, "large_"),
        **_spread("completion", metrics.large_completion, "large_"),
        **_shares(metrics, outcome.cluster.kinds),
        "failures": metrics.failures,
        "deadlock": metrics.deadlock,
        "finished": metrics.finished,
        "unfinished": metrics.unfinished,
        "refused": metrics.refused,
        "peak_drivers": outcome.peak_drivers,
        "peak_tasks": outcome.peak_tasks,
        "containers": len(outcome.containers.job),
        "decisions": metrics.decisions,
    }
    if timing:
        values["decision_s"] = metrics.decision_seconds
    return {name: _plain(value) for name, value in values.items()}


def full_row(outcome: Outcome) -> dict[str, object]:
    """The row, core-hours by cause and the makespan nobody can beat."""
    return {
        **row(outcome),
        "core_hours": {cause: _plain(hours) for cause, hours in outcome.core_hours.items()},
        "lower_bound_s": _plain(lower_bound(outcome)),
    }


def described(outcome: Outcome) -> dict[str, object]:
    """The row, core-hours by cause, the makespan nobody can beat, and what of the workload was not measured."""
    workload = outcome.workload
    return {
        **full_row(outcome),
        "modelled": [{"field": field, "model": model} for field, model in workload.modelled],
        "assumed": [{"field": field, "value": value} for field, value in outcome.cluster.assumed],
        "skipped": workload.skipped,
        "notes": [*workload.notes, *outcome.notes],
    }


def _spread(name: str, spread: Spread, group: str = "") -> Mapping[str, Value]:
    return {
        f"{group}mean_{name}_s": spread.mean,
        f"{group}median_{name}_s": spread.median,
        f"{group}p95_{name}_s": spread.p95,
    }


def _shares(metrics: Metrics, kinds: tuple[str, ...]) -> Mapping[str, Value]:
    """Shares of the cluster per kind; `used` and `efficiency` are null where the workload does not tell its use."""
    shares: dict[str, Value] = {}
    for index, kind in enumerate(kinds[:2]):
        shares[f"allocated_{kind}"] = metrics.allocated[index]
        shares[f"used_{kind}"] = metrics.used[index] if index < len(metrics.used) else None
        shares[f"efficiency_{kind}"] = metrics.efficiency[index] if index < len(metrics.efficiency) else None
    return shares


def _plain(value: Value) -> Value:
    """Numbers as JSON can hold them: what is not known is null, and digits beyond a microsecond are noise."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value
