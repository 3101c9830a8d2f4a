"""What tasks of an app really use, and what the next ones should therefore ask for (optional, off by default).

    N' = clip(percentile of earlier tasks' peaks × (1 + margin), D ÷ c, D)

A lowered request may be too low for an app that uses what it declares; learning raises it again, at release, by the
`resize` subresource. Never below the ceiling rule, never above what was declared.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slackwater.resources import CPU, MEMORY, Resources
from slackwater.validation import clip
from slackwater_cluster import names
from slackwater_cluster.customresources.slackpolicy import Reclaim
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.declared import ceiling
from slackwater_cluster.pods.quantities import parse_quantity

# Tasks remembered per kind of task, and how many there must be before anything is concluded.
REMEMBERED = 64
ENOUGH = 5
# Less than this much more is not worth a write.
WORTH = 0.05

# Kinds of tasks remembered: about 1 kB each. Stages and series are named by tenants, so there may be any number.
MOST_LIKENESSES = 10_000

# Tasks that are alike: namespace, series of the app, role, stage.
Likeness = tuple[str, str, str, str]


@dataclass
class UsageHistory:
    """Peaks of tasks by likeness."""

    _peaks: dict[str, tuple[Likeness, Resources]] = field(default_factory=dict)  # running tasks, by uid
    # CPU and memory of the last tasks of each kind, one after the other: a sixth of what objects would take.
    _lessons: dict[Likeness, array[float]] = field(default_factory=dict)
    uses: dict[str, Resources] = field(default_factory=dict)  # by uid, as last measured

    def observe(self, uses: Mapping[str, tuple[Likeness, Resources]]) -> None:
        """Take in the present use of running tasks; one that is gone has become a lesson."""
        for uid in [uid for uid in self._peaks if uid not in uses]:
            likeness, peak = self._peaks.pop(uid)
            # Those seen last stand last; the ones seen longest ago go first.
            lessons = self._lessons.pop(likeness, None) or array("d")
            lessons.extend((peak[CPU], peak[MEMORY]))
            self._lessons[likeness] = lessons[-2 * REMEMBERED :]
        while len(self._lessons) > MOST_LIKENESSES:
            del self._lessons[next(iter(self._lessons))]
        for uid, (likeness, use) in uses.items():
            known = self._peaks.get(uid)
            self._peaks[uid] = (likeness, use if known is None else known[1].at_least(use))
        self.uses = {uid: use for uid, (_, use) in uses.items()}

    def lessons(self, likeness: Likeness) -> int:
        """How many tasks of this kind were seen to their end."""
        return len(self._lessons.get(likeness, ())) // 2

    def wanted(self, likeness: Likeness, pod: PodRecord, terms: Reclaim) -> Resources | None:
        """The requests a new task should have; None where too little is known or it asks for that already."""
        if not terms.enabled or self.lessons(likeness) < ENOUGH:
            return None
        known = {CPU: self._lessons[likeness][0::2], MEMORY: self._lessons[likeness][1::2]}
        ceilings = ceiling(pod.annotations.get(names.SHRUNK, ""))
        wanted = {
            kind: clip(
                percentile(known[kind], terms.percentile) * (1 + terms.margin_percent / 100),
                pod.declared[kind] / ceilings[kind],
                pod.declared[kind],
            )
            for kind in (CPU, MEMORY)
            if pod.native[kind] > 0
        }
        more = any(value > pod.native[kind] * (1 + WORTH) for kind, value in wanted.items())
        return Resources({**pod.native, **wanted}) if more else None


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def resized(containers: list[Mapping[str, Any]], native: Resources, wanted: Resources) -> dict[str, Any] | None:
    """A patch for `resize` that raises each container's requests in proportion, but not above its own limit."""
    changed = []
    for container in containers:
        resources = container.get("resources", {})
        requests = {
            kind: _raised(kind, parse_quantity(str(asked)), wanted[kind] / native[kind], resources.get("limits", {}))
            for kind, asked in resources.get("requests", {}).items()
            if kind in (CPU, MEMORY) and native[kind] > 0
        }
        if requests:
            changed.append({"name": container["name"], "resources": {"requests": requests}})
    return {"spec": {"containers": changed}} if changed else None


def _raised(kind: str, asked: float, factor: float, limits: Mapping[str, Any]) -> str:
    value = asked * factor
    if kind in limits:
        value = min(value, parse_quantity(str(limits[kind])))
    return f"{math.ceil(value * 1000 - 1e-6)}m" if kind == CPU else str(math.ceil(value - 1e-6))
