"""Who ran where and when: every container as a bar in its node's lanes, or, on large clusters, how full nodes were."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from html import escape

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.reports.svg import Floats, Scale, element, label, number, ticks, unit_of
from slackwater_simulator.results.metrics import requests
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DONE, DRIVER

WIDTH, LEFT, RIGHT, BOTTOM = 960.0, 84.0, 8.0, 34.0
# Beyond these a bar is too thin to see and the page too heavy to open.
MOST_BARS, MOST_LANES = 2500, 220
LANE = 7.0
GAP = 5.0
COLOURS = 12
# The heat strips of large clusters.
MOST_BANDS, BAND, COLUMNS, LEVELS = 40, 11.0, 160, 9


def drawable(outcome: Outcome) -> bool:
    """Whether every container can have a bar of its own."""
    return len(outcome.containers.job) <= MOST_BARS and sum(pack(outcome)[1]) <= MOST_LANES


def pack(outcome: Outcome) -> tuple[NDArray[np.int64], list[int]]:
    """The first free lane for every container, so that none overlap, and how many lanes each node needs."""
    rows = outcome.containers
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


def bars(outcome: Outcome, end: float) -> str:
    """Every container as a bar in the lanes of its node; nodes that never ran anything are left out."""
    lane, needed = pack(outcome)
    shown = [node for node, lanes in enumerate(needed) if lanes]
    tops: dict[int, float] = {}
    height = GAP
    for node in shown:
        tops[node] = height
        height += max(needed[node] * LANE, 12.0) + GAP
    x = Scale(0.0, end, LEFT, WIDTH - RIGHT)
    parts = list(_names(outcome, tops, {node: max(needed[node] * LANE, 12.0) for node in shown}))
    parts.append(_axis(x, height))
    parts.extend(
        _bar(outcome, row, x, tops[int(outcome.containers.node[row])] + lane[row] * LANE) for row in range(len(lane))
    )
    return element(WIDTH, height + BOTTOM, f"Containers on nodes under {outcome.policy}", "".join(parts))


def _names(outcome: Outcome, tops: dict[int, float], heights: dict[int, float]) -> Iterator[str]:
    for node, top in tops.items():
        middle = number(top + heights[node] / 2 + 4)
        name = escape(outcome.cluster.nodes[node].name)
        yield _box("ground", LEFT, top, WIDTH - RIGHT - LEFT, heights[node])
        yield f'<text class="tick end" x="{number(LEFT - 8)}" y="{middle}">{name}</text>'


def _box(css: str, x: float, y: float, width: float, height: float, inside: str = "") -> str:
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{css}" {place}>{inside}</rect>'


def _bar(outcome: Outcome, row: int, x: Scale, top: float) -> str:
    rows, jobs = outcome.containers, outcome.workload.jobs
    job, stage = int(rows.job[row]), int(rows.stage[row])
    begin, end = x.at(float(rows.allocated[row])), x.at(float(rows.released[row]))
    name = "driver" if stage == DRIVER else f"{jobs[job].stages[stage].name} {int(rows.task[row]) + 1}"
    kind = "driver" if stage == DRIVER else f"j{job % COLOURS}"
    failed = "" if rows.status[row] == DONE else " failed"
    told = f"{jobs[job].id}, {name}: {rows.allocated[row]:,.1f}–{rows.released[row]:,.1f} s"
    width = max(end - begin - 0.4, 0.6)
    return _box(f"bar {kind}{failed}", begin, top, width, LANE - 1, f"<title>{escape(told)}</title>")


def _axis(x: Scale, top: float) -> str:
    size, name = unit_of(x.high)
    parts = []
    for value in ticks(0.0, x.high / size, 8):
        at = number(x.at(value * size))
        parts.append(f'<path class="grid" d="M{at} {number(GAP)}V{number(top)}"/>')
        parts.append(f'<text class="tick mid" x="{at}" y="{number(top + 13)}">{label(value)}</text>')
    parts.append(f'<text class="name mid" x="{number((LEFT + WIDTH) / 2)}" y="{number(top + 28)}">time, {name}</text>')
    return "".join(parts)


def heat(outcome: Outcome, end: float) -> str:
    """One strip per node, or per group of nodes: the darker, the larger the share of CPU that is reserved."""
    share = occupancy(outcome, end)
    x = Scale(0.0, end, LEFT, WIDTH - RIGHT)
    height = GAP + len(share) * BAND
    parts = [_axis(x, height)]
    parts.extend(_band_name(outcome, band, len(share)) for band in range(0, len(share), max(1, len(share) // 10)))
    level = np.ceil(np.clip(share, 0.0, 1.0) * (LEVELS - 1)).astype(np.int64)
    parts.extend(_cells(level, value) for value in range(1, LEVELS))
    return element(WIDTH, height + BOTTOM, f"Reserved share of CPU per node under {outcome.policy}", "".join(parts))


def _band_name(outcome: Outcome, band: int, bands: int) -> str:
    nodes = outcome.cluster.nodes
    name = escape(nodes[band * len(nodes) // bands].name)
    return f'<text class="tick end" x="{number(LEFT - 8)}" y="{number(GAP + band * BAND + 9)}">{name}</text>'


def _cells(level: NDArray[np.int64], value: int) -> str:
    """All cells of one level as one path; neighbours in a strip become one box."""
    width = (WIDTH - LEFT - RIGHT) / level.shape[1]
    boxes = []
    for band, row in enumerate(level == value):
        steps = np.flatnonzero(np.diff(np.concatenate(([False], row, [False])).astype(np.int8)))
        top = number(GAP + band * BAND)
        for begin, stop in steps.reshape(-1, 2).tolist():
            wide = number((stop - begin) * width)
            boxes.append(f"M{number(LEFT + begin * width)} {top}h{wide}v{number(BAND - 1)}h-{wide}z")
    return f'<path class="heat" style="--level:{value / (LEVELS - 1):.3f}" d="{"".join(boxes)}"/>' if boxes else ""


def occupancy(outcome: Outcome, end: float) -> Floats:
    """Reserved share of CPU: a row per band of nodes, a column per time bin."""
    rows, nodes = outcome.containers, outcome.cluster.nodes
    bands = min(MOST_BANDS, len(nodes))
    band_of = np.arange(len(nodes)) * bands // len(nodes)
    capacity = np.bincount(band_of, weights=[node.capacity[0] for node in nodes], minlength=bands)
    width = end / COLUMNS
    cores = requests(outcome)[:, 0] if len(rows.job) else np.zeros(0)
    area = _overlap(band_of[rows.node], rows.allocated / width, rows.released / width, cores, bands)
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
