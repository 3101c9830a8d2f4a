"""Paper 003 (network-aware placement): execution time and CPU utilisation over bandwidth, against the nearest slot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.charts.plots import Plot, PlotCurve
from slackwater_simulator.reproduction.parallel import SeedSpread
from slackwater_simulator.reproduction.study import Check, Options, Study, judged, mean, shown
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators import network
from slackwater_simulator.worlds.transfers.world import simulate, utilisation

BANDWIDTHS = (10.0, 30.0, 100.0, 300.0, 1000.0)
PLACEMENTS: dict[str, tuple[str, Options]] = {
    "nearest": ("nearest", {}),
    "literal": ("network", {"key": "literal"}),
    "earliest_start": ("network", {"key": "earliest_start"}),
}


@dataclass(frozen=True, slots=True)
class Point:
    """One placement at one bandwidth."""

    makespan: float
    utilisation: float


def play(name: str, mbit: float, seed: int, even: bool = False) -> Point:
    """One run; `even`: no hot hosts, nothing on its way."""
    policy, options = PLACEMENTS[name]
    net = network.fabric(mbit, seed=seed)
    if even:
        net = replace(net, bandwidth=np.full_like(net.bandwidth, mbit * 1e6 / 8), queued=np.zeros_like(net.queued))
    made = network.generate(seed=seed)
    found = simulate(made, parse(network.CLUSTER), policy, seed, None, {**options, "net": net})
    return Point(float(found.jobs.end.max()), utilisation(found))


def reproduce(spread: SeedSpread, *, full: bool = False) -> Study:
    """Every placement at every bandwidth."""
    seeds = 5 if full else 2
    points = _means(spread, seeds, even=False)
    even = _means(spread, seeds, even=True)
    return Study(
        paper="003",
        title="Network-aware placement of task graphs",
        runs=count(seeds, "seed"),
        checks=tuple(check for name in ("literal", "earliest_start") for check in _checks(name, points)),
        sensitivity=tuple(_even(even)),
        modelled=(
            "20 jobs of 75 tasks in five levels, two parents each, U(32, 96) MB an edge",
            "a quarter of the hosts hot: a fifth of the bandwidth inbound, 64 MB waiting per sender",
            "links between two hosts send in order; a level is placed when the one before it has ended",
            "the baseline the paper calls YARN: nearest node to the task before it with a free slot (8 per host)",
        ),
        remarks=("The paper's numbers are lost: only the order of the curves can be compared, and it holds or not.",),
        plots=(
            _plot("003-time", "Execution time over bandwidth (Figure 3)", "seconds", points, "makespan"),
            _plot("003-utilisation", "CPU utilisation over bandwidth (Figure 4)", "share", points, "utilisation"),
        ),
    )


def expected(*, full: bool = False) -> int:
    """How many runs `reproduce` will ask for."""
    return (5 if full else 2) * len(PLACEMENTS) * len(BANDWIDTHS) * 2


def _means(spread: SeedSpread, seeds: int, *, even: bool) -> dict[tuple[str, float], Point]:
    keys = [(name, mbit) for name in PLACEMENTS for mbit in BANDWIDTHS]
    found = spread(play, [(name, mbit, seed, even) for name, mbit in keys for seed in range(seeds)])
    groups = [found[index * seeds : (index + 1) * seeds] for index in range(len(keys))]
    return {
        key: Point(mean(point.makespan for point in group), mean(point.utilisation for point in group))
        for key, group in zip(keys, groups, strict=True)
    }


def _row(points: dict[tuple[str, float], Point], name: str, field: str) -> list[float]:
    return [getattr(points[name, mbit], field) for mbit in BANDWIDTHS]


def _checks(name: str, points: dict[tuple[str, float], Point]) -> list[Check]:
    base, ours = _row(points, "nearest", "makespan"), _row(points, name, "makespan")
    gaps = [b - o for b, o in zip(base, ours, strict=True)]
    used, before = _row(points, name, "utilisation"), _row(points, "nearest", "utilisation")
    at = " / ".join(f"{mbit:g}" for mbit in BANDWIDTHS)
    return [
        judged(
            "Figure 3",
            f"{name}: execution time at {at} Mbit/s",
            "lower than YARN at every bandwidth",
            f"{_seconds(ours)} against {_seconds(base)} s",
            "lower at every one",
            all(gap > 0 for gap in gaps),
        ),
        judged(
            "Figure 3",
            f"{name}: gap to YARN at 10 and 1000 Mbit/s",
            "narrows, never closes",
            f"{gaps[0]:.0f} and {gaps[-1]:.0f} s",
            "at 1000 at most half of that at 10, above 0",
            0 < gaps[-1] <= gaps[0] / 2,
        ),
        judged(
            "Figure 4",
            f"{name}: CPU utilisation",
            "clearly higher",
            f"{_shares(used)} against {_shares(before)}",
            "higher at every one",
            all(u > b for u, b in zip(used, before, strict=True)),
        ),
    ]


def _even(points: dict[tuple[str, float], Point]) -> list[Check]:
    return [
        shown("no hot hosts", f"{name}: execution time", "", f"{_seconds(_row(points, name, 'makespan'))} s")
        for name in PLACEMENTS
    ]


def _seconds(values: list[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in values)


def _shares(values: list[float]) -> str:
    return " / ".join(f"{value:.2f}" for value in values)


def _plot(name: str, title: str, unit: str, points: dict[tuple[str, float], Point], field: str) -> Plot:
    return Plot(
        name,
        title,
        "Mbit/s between two hosts",
        unit,
        tuple(
            PlotCurve("nearest (YARN)" if key == "nearest" else key, BANDWIDTHS, tuple(_row(points, key, field)))
            for key in PLACEMENTS
        ),
        log=True,
    )
