"""What was seen, thinned as it grows: a day of snapshots stays a few thousand numbers."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Sequence

from slackwater_monitor.sources.views import BorderHistory, Snapshot, TimeSeries

SIZE = "allocatable"
LINES = {SIZE: "allocatable", "requested": "declared", "used": "used", "estimated": "estimate"}
KINDS = ("cpu", "memory")
# Points kept; beyond this every second one of the older half goes.
MOST = 2000


Border = tuple[float, float, float]  # share for small jobs, slots held by small and by large


class Memory:
    """Sums of snapshots over time. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: list[tuple[float, dict[str, dict[str, float]], dict[str, Border]]] = []

    def add(self, seen: Snapshot) -> None:
        """Remember the sums of one snapshot; NaN where nobody tells them."""
        sums = {kind: {line: seen.total(name, kind) for line, name in LINES.items()} for kind in KINDS}
        if not seen.charged:
            sums = {kind: dict.fromkeys(LINES, math.nan) | {SIZE: each[SIZE]} for kind, each in sums.items()}
        borders = {
            pool.name: (pool.delta, pool.small.occupied, pool.large.occupied)
            for pool in seen.pools
            if pool.delta is not None
        }
        with self._lock:
            self._points.append((seen.at, sums, borders))
            if len(self._points) > MOST:
                half = len(self._points) // 2
                self._points = self._points[:half:2] + self._points[half:]

    def history(self) -> TimeSeries:
        """Sums over time."""
        with self._lock:
            points = list(self._points)
        return TimeSeries(
            [at for at, _, _ in points],
            {kind: {line: [sums[kind][line] for _, sums, _ in points] for line in LINES} for kind in KINDS},
        )

    def borders(self) -> Sequence[BorderHistory]:
        """Borders over time."""
        with self._lock:
            points = list(self._points)
        moved: dict[str, list[tuple[float, Border]]] = defaultdict(list)
        for at, _, borders in points:
            for pool, border in borders.items():
                moved[pool].append((at, border))
        return [
            BorderHistory(pool, [at for at, _ in found], *([border[part] for _, border in found] for part in range(3)))
            for pool, found in sorted(moved.items())
        ]
