"""What runs of `make bench-lab` gave, as tables for people."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from support.bench.costs import Cost

PLAIN = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of one scheduler gave."""

    rate: float  # pods per second
    p50: float  # seconds, creation to bind
    p99: float
    release: float  # seconds, creation to release, median
    seconds: float
    cost: Cost


Runs = dict[str, list[Run]]
MEASURES: dict[str, Callable[[Run, int], float]] = {
    "pods bound per second": lambda run, _: run.rate,
    "creation to bound, p50, s": lambda run, _: run.p50,
    "creation to bound, p99, s": lambda run, _: run.p99,
    "creation to release, p50, s": lambda run, _: run.release,
    "requests to the API server per pod": lambda run, pods: run.cost.total_requests / pods,
    "CPU seconds of the extender per 1,000 pods": lambda run, pods: run.cost.cpu.get("extender", 0.0) / pods * 1000,
    "CPU seconds of the operator per 1,000 pods": lambda run, pods: run.cost.cpu.get("operator", 0.0) / pods * 1000,
}
WAITS = ("creation to bound, p50, s", "creation to bound, p99, s", "creation to release, p50, s")


def report(runs: Runs, pods: int, *, waits: bool) -> list[str]:
    """Rates and costs, then CPU time by process and requests by kind; `waits`: whether pods were created in the run."""
    names = " | ".join({PLAIN: "plain"}.get(which, which) for which in runs)
    rule = "|---" * len(runs) + "|"
    lines = [f"| measure, median (least to most) | {names} | over plain |", f"|---|---{rule}"]
    for name, measure in MEASURES.items():
        if waits or name not in WAITS:
            lines.append(_row(name, [[measure(run, pods) for run in runs[which]] for which in runs]))
    lines += ["", f"| CPU milliseconds per pod | {names} |", f"|---{rule}"]
    lines += _shares(runs, lambda run: {name: value / pods * 1000 for name, value in run.cost.cpu.items()}, 0.05)
    lines += ["", f"| requests per pod | {names} |", f"|---{rule}"]
    lines += _shares(runs, lambda run: {name: value / pods for name, value in run.cost.requests.items()}, 0.05)
    lines += ["", f"| milliseconds per pod in the API server's admission | {names} |", f"|---{rule}"]
    return lines + _shares(
        runs, lambda run: {name: value / pods * 1000 for name, value in run.cost.admission.items()}, 0.05
    )


def _row(name: str, values: list[list[float]]) -> str:
    cells = [f"{statistics.median(v):.2f} ({min(v):.2f} to {max(v):.2f})" for v in values]
    below, *others = [statistics.median(v) for v in values]
    ratios = [f"{each / below:.2f}" for each in others] if below else []
    return f"| {name} | {' | '.join(cells)} | {', '.join(ratios)} |"


def _shares(runs: Runs, look: Callable[[Run], dict[str, float]], least: float) -> list[str]:
    """Medians by key, the largest first; what hardly counts is left out."""
    seen = {which: [look(run) for run in runs[which]] for which in runs}
    keys = {key for column in seen.values() for each in column for key in each}
    last = list(runs)[-1]
    middle = {
        which: {key: statistics.median([each.get(key, 0.0) for each in seen[which]]) for key in keys} for which in seen
    }
    rows = sorted(keys, key=lambda key: -middle[last][key])
    return [
        f"| {key} | {' | '.join(f'{middle[which][key]:.2f}' for which in runs)} |"
        for key in rows
        if max(middle[which][key] for which in runs) >= least
    ]
