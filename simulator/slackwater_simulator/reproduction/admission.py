"""Paper 002 (AM admission control): Table I against the best of a static sweep, Figure 1's trend, the deadlock toy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from slackwater.admission.budget import score
from slackwater_simulator.charts.amounts import count
from slackwater_simulator.charts.plots import Plot, PlotCurve
from slackwater_simulator.reproduction.parallel import SeedSpread
from slackwater_simulator.reproduction.study import Check, Options, Study, judged, mean, shown
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators import admission

SIZES = (1, 2, 3, 4)
SWEEP = tuple(range(0, 61, 4))
# Rows TC = 1 … 4, columns AMC = 1 … 4.
TABLE = (
    (90.4, 99.6, 89.3, 91.4),
    (99.3, 95.6, 99.4, 91.7),
    (97.6, 99.2, 96.9, 97.4),
    (88.5, 90.5, 99.7, 98.5),
)
# Hadoop 2.2's Fair had no limit for drivers; containers are granted as asked for, and none reserves a node.
FAIR: Options = {
    "base": "fair",
    "max_am_share": -1.0,
    "reservation_multiple": math.inf,
    "memory_step": 0.5 * 2**30,
    "min_memory": 0.5 * 2**30,
}
VARIANTS: tuple[tuple[str, Options], ...] = (
    ("memory rounded up to whole GiB", {"memory_step": float(2**30), "min_memory": float(2**30)}),
    ("Fair may reserve nodes", {"reservation_multiple": 2.0}),
    ("capacity counted in whole tasks (our option)", {"effective": True}),
)


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One pair of sizes with one seed."""

    amc: int
    tc: int
    score: float  # eq. 4, percent
    best: int  # the smallest of the static values that did best
    locked: tuple[int, ...]  # static values that deadlocked
    stuck: bool  # deadlock with control


def makespan(amc: int, tc: int, seed: int, policy: str, options: Options) -> float:
    """Seconds until all 72 jobs are done; infinite in a deadlock."""
    made = admission.generate(seed=seed, amc=amc, tc=tc)
    found = run(made, parse(admission.CLUSTER), policy, seed=seed, world="yarn", **options)
    return math.inf if found.deadlock else float(found.jobs.end.max())


def cell(amc: int, tc: int, seed: int, options: Options, sweep: tuple[int, ...] = SWEEP) -> ScoreCell:
    """Control against every static value. The `effective` option is the control's alone."""
    plain = {name: value for name, value in options.items() if name != "effective"}
    static = {
        reserve: makespan(amc, tc, seed, "static-reservation", {**plain, "reserve": float(reserve)})
        for reserve in sweep
    }
    ours = makespan(amc, tc, seed, "admission", options)
    least = min(static.values())
    best = min(reserve for reserve, seconds in static.items() if seconds <= least * (1 + 1e-9))
    locked = tuple(reserve for reserve, seconds in static.items() if math.isinf(seconds))
    stuck = math.isinf(ours)
    return ScoreCell(amc, tc, 0.0 if stuck else score(ours, least), best, locked, stuck)


def toy() -> Check:
    """ADM-10: four drivers of one vcore on four vcores, two 10 s tasks each."""
    made, machines = admission.generate(case="toy"), parse("1x4")
    free = run(made, machines, "fifo", world="ideal", cores=True)
    held = run(made, machines, "admission", world="ideal", base="fifo", cores=True)
    end = float(held.jobs.end.max())
    ours = (
        f"without control {'deadlock' if free.deadlock else 'no deadlock'} with {free.peak_drivers} drivers;"
        f" with it {held.peak_drivers} drivers at once, {end:g} s"
    )
    holds = free.deadlock and free.peak_drivers == 4 and held.peak_drivers == 2 and end == 40.0
    return judged(
        "toy", "4 jobs on 4 vcores", "(derived) deadlock with 4 drivers; 2 at once, 40 s", ours, "exact", holds
    )


def reproduce(spread: SeedSpread, *, full: bool = False) -> Study:
    """16 cells a seed; with `full`, five seeds and the variants."""
    seeds = 5 if full else 1
    calls = [(amc, tc, seed, FAIR) for seed in range(seeds) for tc in SIZES for amc in SIZES]
    cells = spread(cell, calls)
    return Study(
        paper="002",
        title="AM admission control: how many drivers may run",
        runs=f"{count(seeds, 'seed')}, 17 runs a cell",
        checks=(toy(), *_table(cells), _trend(cells)),
        sensitivity=tuple(_variants(spread, cells, full=full)),
        modelled=(
            "durations: driver U(5, 7) s until it asks, 2 maps U(12, 18) s, 1 reduce U(14, 20) s after the first map",
            "1.5 GB for a driver, 1 GB for a task; heartbeats of 1 s; no limit on drivers but the gate's",
        ),
        remarks=_remarks(cells),
        plots=(_scores(cells), _reservations(cells)),
    )


def expected(*, full: bool = False) -> int:
    """How many cells `reproduce` will ask for."""
    return 16 * 5 + 16 * len(VARIANTS) if full else 17


def _scores_of(cells: list[ScoreCell]) -> list[list[float]]:
    return [[mean(c.score for c in cells if (c.tc, c.amc) == (tc, amc)) for amc in SIZES] for tc in SIZES]


def _best_of(cells: list[ScoreCell]) -> list[list[float]]:
    return [[mean(c.best for c in cells if (c.tc, c.amc) == (tc, amc)) for amc in SIZES] for tc in SIZES]


def _summary(scores: list[list[float]]) -> tuple[float, float, int]:
    flat = [value for row in scores for value in row]
    return mean(flat), min(flat), sum(value > 95 for value in flat)


def _table(cells: list[ScoreCell]) -> list[Check]:
    average, worst, over = _summary(_scores_of(cells))
    stuck = sum(c.stuck for c in cells)
    locked = sum(bool(c.locked) for c in cells)
    highest = max((max(c.locked) for c in cells if c.locked), default=0)
    return [
        judged("Table I", "mean score of 16 cells", "95.3", f"{average:.1f}", "at least 90", average >= 90),
        judged("Table I", "cells above 95", "10 of 16", f"{over} of 16", "at least 8", over >= 8),
        shown("Table I", "lowest cell", "88.5 (AMC 1, TC 4)", _lowest(_scores_of(cells), worst)),
        judged("Table I", "deadlocks with control", "none", f"{stuck} of {len(cells)} runs", "none", stuck == 0),
        judged(
            "Table I",
            "deadlocks without enough reservation",
            "unprotected Fair deadlocks",
            f"in {locked} of {len(cells)} cells, up to a reservation of {highest} vcores",
            "at least one cell",
            locked > 0,
        ),
    ]


def _lowest(scores: list[list[float]], worst: float) -> str:
    tc, amc = next((t, a) for t in SIZES for a in SIZES if scores[t - 1][a - 1] == worst)
    return f"{worst:.1f} (AMC {amc}, TC {tc})"


def _trend(cells: list[ScoreCell]) -> Check:
    best = _best_of(cells)
    by_tc = [mean(row) for row in best]
    by_amc = [mean(row[k] for row in best) for k in range(len(SIZES))]
    rises = all(a < b for a, b in pairwise(by_tc))
    falls = all(a > b for a, b in pairwise(by_amc))
    ours = (
        f"by TC {', '.join(f'{value:.1f}' for value in by_tc)}; by AMC {', '.join(f'{value:.1f}' for value in by_amc)}"
    )
    return judged(
        "Figure 1",
        "best static reservation, vcores",
        "rises with TC, falls with AMC",
        ours,
        "means rise and fall",
        rises and falls,
    )


def _variants(spread: SeedSpread, base: list[ScoreCell], *, full: bool) -> list[Check]:
    if not full:
        whole = spread(cell, [(3, 3, 0, {**FAIR, "effective": True})])[0]
        return [shown("AMC = TC = 3", "seed 0, capacity counted in whole tasks (our option)", "", f"{whole.score:.1f}")]
    calls = [(amc, tc, 0, {**FAIR, **more}) for _, more in VARIANTS for tc in SIZES for amc in SIZES]
    found = spread(cell, calls)
    rows = [shown("Table I", "seed 0, as above", "", _line(base[:16]))]
    for index, (what, _) in enumerate(VARIANTS):
        rows.append(shown("Table I", f"seed 0, {what}", "", _line(found[index * 16 : (index + 1) * 16])))
    return rows


def _line(cells: list[ScoreCell]) -> str:
    average, worst, over = _summary(_scores_of(cells))
    return f"mean {average:.1f}, lowest {worst:.1f}, {over} above 95, {sum(c.stuck for c in cells)} deadlocks"


def _remarks(cells: list[ScoreCell]) -> tuple[str, ...]:
    scores = _scores_of(cells)
    remarks = ["Single cells are not expected to match: the durations are drawn, the paper's cluster is gone."]
    if scores[2][2] < 95:
        remarks.append(
            f"AMC = TC = 3 scores {scores[2][2]:.1f} where the paper prints 96.9: nodes of 8 vcores hold two containers"
            " of 3 and waste two, but eq. 1 counts all 64 vcores and lets in too many. Counting capacity in whole"
            " tasks (option `effective`, sensitivity row) is our answer; the paper's form is what is scored."
        )
    return tuple(remarks)


def _scores(cells: list[ScoreCell]) -> Plot:
    names = tuple(f"{amc}/{tc}" for tc in SIZES for amc in SIZES)
    ours = tuple(value for row in _scores_of(cells) for value in row)
    published = tuple(value for row in TABLE for value in row)
    return Plot(
        "002-table-1",
        "Score against the best static reservation (Table I)",
        "vcores of a driver / of a task",
        "score, %",
        (PlotCurve("published", names, published, True), PlotCurve("ours", names, ours)),
    )


def _reservations(cells: list[ScoreCell]) -> Plot:
    best = _best_of(cells)
    return Plot(
        "002-figure-1",
        "Best static reservation (Figure 1)",
        "vcores of a task (TC)",
        "vcores kept for tasks",
        tuple(
            PlotCurve(f"AMC {amc}", tuple(float(tc) for tc in SIZES), tuple(best[tc - 1][amc - 1] for tc in SIZES))
            for amc in SIZES
        ),
    )
