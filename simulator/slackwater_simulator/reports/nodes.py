"""Who ran where: every container as a bar in its node's lanes, or, on large clusters, how full nodes were."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from slackwater_simulator.charts.gantt import Bar, Track, gantt
from slackwater_simulator.charts.heat import strips
from slackwater_simulator.charts.svg import Floats
from slackwater_simulator.results.metrics import requests, since
from slackwater_simulator.results.outcome import Containers, Outcome, holding
from slackwater_simulator.results.status import ALIVE, DONE, DRIVER
from slackwater_simulator.workload.workload import Job

# Beyond these a bar is too thin to see and the page too heavy to open.
MOST_BARS, MOST_LANES = 2500, 220
LANE, LOWEST = 7.0, 12.0
COLOURS = 12
# The heat strips of large clusters.
MOST_BANDS, COLUMNS = 40, 160


def drawable(outcome: Outcome) -> bool:
    """Whether every container can have a bar of its own."""
    return len(holding(outcome).job) <= MOST_BARS and sum(pack(outcome)[1]) <= MOST_LANES


def pack(outcome: Outcome) -> tuple[NDArray[np.int64], list[int]]:
    """The first free lane for every container, so that none overlap, and how many lanes each node needs."""
    rows = holding(outcome)
    lane = np.zeros(len(rows.job), dtype=np.int64)
    needed = []
    for node in range(len(outcome.cluster)):
        mine = np.flatnonzero(rows.node == node)
        ordered = mine[np.argsort(rows.allocated[mine], kind="stable")]
        needed.append(_fill(lane, ordered, rows.allocated, rows.released))
    return lane, needed


def _fill(lane: NDArray[np.int64], ordered: NDArray[np.int64], begin: Floats, end: Floats) -> int:
    busy: list[tuple[float, int]] = []  # (free again, lane)
    free: list[int] = []
    lanes = 0
    for row in ordered.tolist():
        while busy and busy[0][0] <= begin[row] + 1e-9:
            heappush(free, heappop(busy)[1])
        if free:
            lane[row] = heappop(free)
        else:
            lane[row], lanes = lanes, lanes + 1
        heappush(busy, (float(end[row]), int(lane[row])))
    return lanes


def bars(outcome: Outcome, end: float) -> Markup:
    """Every container as a bar in the lanes of its node; nodes that never ran anything are left out."""
    lane, needed = pack(outcome)
    rows = holding(outcome)
    drawn: list[list[Bar]] = [[] for _ in needed]
    for row, at in enumerate(lane.tolist()):
        drawn[int(rows.node[row])].append(_bar(outcome.workload.jobs, rows, row, at * LANE))
    tracks = [
        Track(outcome.cluster.nodes[node].name, max(lanes * LANE, LOWEST), drawn[node])
        for node, lanes in enumerate(needed)
        if lanes
    ]
    return gantt(f"Containers on nodes under {outcome.policy}", tracks, end)


def _bar(jobs: Sequence[Job], rows: Containers, row: int, top: float) -> Bar:
    job, stage = int(rows.job[row]), int(rows.stage[row])
    begin, end = float(rows.allocated[row]), float(rows.released[row])
    name = "driver" if stage == DRIVER else f"{jobs[job].stages[stage].name} {int(rows.task[row]) + 1}"
    colour = "driver" if stage == DRIVER else f"j{job % COLOURS}"
    failed = "" if rows.status[row] in {DONE, ALIVE} else " failed"
    words = f"{jobs[job].id}, {name}: {begin:,.1f}–{end:,.1f} s"
    return Bar(f"bar {colour}{failed}", begin, end, words, top, LANE - 1)


def heat(outcome: Outcome, end: float) -> Markup:
    """One strip per node, or per group of nodes: the darker, the larger the share of CPU that is reserved."""
    share, nodes = occupancy(outcome, end), outcome.cluster.nodes
    names = [nodes[band * len(nodes) // len(share)].name for band in range(len(share))]
    return strips(f"Reserved share of CPU per node under {outcome.policy}", names, share, end)


def occupancy(outcome: Outcome, end: float) -> Floats:
    """Reserved share of CPU: a row per band of nodes, a column per time bin."""
    rows, nodes = holding(outcome), outcome.cluster.nodes
    bands = min(MOST_BANDS, len(nodes))
    band_of = np.arange(len(nodes)) * bands // len(nodes)
    capacity = np.bincount(band_of, weights=[node.capacity[0] for node in nodes], minlength=bands)
    width = end / COLUMNS
    cores = requests(outcome, rows)[:, 0] if len(rows.job) else np.zeros(0)
    area = _overlap(band_of[rows.node], since(outcome, rows, 0) / width, rows.released / width, cores, bands)
    return area / np.maximum(capacity, 1e-12)[:, None]


def _overlap(band: NDArray[np.int64], begin: Floats, end: Floats, weight: Floats, bands: int) -> Floats:
    """Σ weight × covered part of each bin. Whole bins by a difference array, then the uncovered ends are taken off."""
    first = np.clip(np.floor(begin), 0, COLUMNS - 1).astype(np.int64)
    last = np.clip(np.floor(end), 0, COLUMNS - 1).astype(np.int64)
    wide, size = COLUMNS + 1, bands * (COLUMNS + 1)
    rise = np.bincount(band * wide + first, weights=weight, minlength=size)
    fall = np.bincount(band * wide + last + 1, weights=weight, minlength=size)
    whole = np.cumsum((rise - fall).reshape(bands, wide), axis=1)
    early = np.bincount(band * wide + first, weights=weight * (begin - first), minlength=size)
    late = np.bincount(band * wide + last, weights=weight * (last + 1 - end), minlength=size)
    return np.asarray((whole - (early + late).reshape(bands, wide))[:, :COLUMNS], dtype=np.float64)
