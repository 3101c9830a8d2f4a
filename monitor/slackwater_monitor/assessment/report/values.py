"""An assessment as plain values with stable keys: what `-o json` prints and `assessment.json` holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from slackwater_cluster.timestamps import stamp
from slackwater_monitor.assessment.assessment import KINDS, LEVELS, Assessment, Name
from slackwater_monitor.assessment.prices import Prices
from slackwater_monitor.assessment.usage import UsageStatistics

# Columns of each level's names.
NAMES: Mapping[str, tuple[str, ...]] = {
    "container": ("namespace", "pod", "container"),
    "pod": ("namespace", "pod"),
    "app": ("namespace", "app"),
    "namespace": ("namespace",),
    "user": ("user",),
    "node": ("node",),
}
DECILES = tuple(round(0.05 * step, 2) for step in range(1, 20))


def jsonable(found: Assessment, prices: Prices | None = None) -> dict[str, Any]:
    """Everything, in cores, bytes, seconds and shares from 0 to 1; where there are prices, US dollars too."""
    money = {"idle": {"a_month": idle_month(found, prices), **asdict(prices)}} if prices else {}
    return money | {
        "period": {
            "start": stamp(found.grid.start),
            "end": stamp(found.grid.end),
            "window_s": found.grid.step,
            "sample_s": found.interval,
        },
        "allocatable": dict(found.total),
        "summary": {kind: summary(found, kind) for kind in KINDS if kind in found.courses},
        "levels": {level: rows(found, level) for level in LEVELS},
        "efficiency_cdf": {level: {kind: cdf(found, level, kind) for kind in KINDS} for level in LEVELS},
        "reclaimable": {kind: [asdict(offer) for offer in offers] for kind, offers in found.offers.items()},
        "start_here": [asdict(place) for place in found.places],
        "drivers": [
            {"namespace": namespace, "app": app, "framework": framework}
            for (namespace, app), framework in sorted(found.drivers.items())
        ],
        "waits": {role: asdict(each) for role, each in found.waits.items()},
        "stalls": [asdict(stall) | {"start": stamp(stall.start), "end": stamp(stall.end)} for stall in found.stalls],
        "notes": list(found.notes),
    }


def summary(found: Assessment, kind: str) -> dict[str, float | None]:
    """The cluster as a whole: means over the windows that have samples, and efficiency by equation 7."""
    course, usages = found.courses[kind], [each.usage for each in found.levels["namespace"][kind].values()]
    used, reserved = sum(each.used for each in usages), sum(each.reserved for each in usages)
    return {
        "requested": _mean(course.asked),
        "used": _mean(course.used),
        "allocatable": found.total.get(kind) or None,
        "efficiency": used / reserved if reserved else None,
    }


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def idle_month(found: Assessment, prices: Prices) -> float:
    """What is reserved and not used, in US dollars a month; use without a request is no use of what was reserved."""
    idle: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    for kind in found.courses:
        each = summary(found, kind)
        idle[kind] = max(0.0, (each["requested"] or 0.0) * (1 - (each["efficiency"] or 0.0)))
    return prices.month(idle["cpu"], idle["memory"])


def rows(found: Assessment, level: str, prices: Prices | None = None) -> list[dict[str, Any]]:
    """One entry per thing of a level, by name; where there are prices, with what it leaves idle in dollars a month."""
    names = sorted({name for kind in found.levels[level].values() for name in kind})
    most = {kind: limits(found, level, kind) for kind in KINDS}
    made = [dict(zip(NAMES[level], name, strict=True)) | _kinds(found, level, name, most) for name in names]
    if prices is not None:
        sampled = {kind: _sampled(found, kind) for kind in KINDS}
        figures = found.levels[level]
        for row, name in zip(made, names, strict=True):
            idle = (_idle(figures.get(kind, {}).get(name), sampled[kind]) for kind in KINDS)
            row["idle_month"] = prices.month(*idle)
    return made


def _sampled(found: Assessment, kind: str) -> float:
    """Seconds of the windows that have samples, over which the cluster's means are taken too."""
    course = found.courses.get(kind)
    return found.grid.step * int(np.isfinite(course.asked).sum()) if course else 0.0


def _idle(figures: UsageStatistics | None, sampled: float) -> float:
    """What a thing reserved and did not use, as a mean over so many seconds."""
    return max(0.0, figures.usage.reserved - figures.usage.used) / sampled if figures and sampled else 0.0


def _kinds(found: Assessment, level: str, name: Name, most: Mapping[str, Mapping[Name, float]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if level in ("container", "pod"):
        member = found.members[name[0], name[1]]
        made |= {"app": member.app, "role": member.role, "user": member.user, "node": member.node}
    for kind in KINDS:
        figures = found.levels[level].get(kind, {}).get(name)
        if figures is not None:
            made[kind] = _entry(figures) | {"limit": most[kind].get(name)}
    return made


def _entry(figures: UsageStatistics) -> dict[str, float | None]:
    return {
        "requested": figures.asked or None,
        "mean": figures.used,
        "p95": figures.p95,
        "max": figures.peak,
        "efficiency": figures.efficiency,
        "observed_s": figures.seconds,
    }


def limits(found: Assessment, level: str, kind: str) -> dict[Name, float]:
    """The mean limit of each thing over its observed time: of a group, the sum over containers that have one."""
    figures = found.levels[level].get(kind, {})
    made: dict[Name, float] = {}
    for container, each in found.levels["container"].get(kind, {}).items():
        namespace, pod, inner = container
        limit = found.census.pods[namespace, pod].limits.get((inner, kind))
        if limit is not None:
            name = found.name(level, (namespace, pod, inner))
            made[name] = made.get(name, 0.0) + limit * each.seconds / figures[name].seconds
    return made


def cdf(found: Assessment, level: str, kind: str) -> dict[str, float]:
    """Share of things (0.05 … 0.95) → the efficiency that so many stay below."""
    known = efficiencies(found, level, kind)
    return {f"{share:g}": float(np.quantile(known, share)) for share in DECILES} if len(known) else {}


def efficiencies(found: Assessment, level: str, kind: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The efficiency of everything of a level that reserved something, sorted."""
    values = (each.efficiency for each in found.levels[level].get(kind, {}).values())
    return np.sort(np.array([value for value in values if value is not None], dtype=np.float64))
