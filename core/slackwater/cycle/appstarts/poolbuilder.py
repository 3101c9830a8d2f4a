"""The pool of a queue as one round sees it (004), built here for the operator and for the simulator alike.

slot      an equal share of every kind, as many of them as there are of the median task
nominal   slots of the capacity: classifies apps, so that measured room changes no category
Tot       slots that pods hold + slots that fit into what is left (decision 0006)
F1, F2    slots that tasks of either side give back within the horizon
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slackwater.cycle.snapshot import Pool
from slackwater.pools.appphases import AppPhases
from slackwater.pools.pools import Category, balanced_slot, elastic, slot_count
from slackwater.resources import Resources
from slackwater.validation import clip


class PoolTerms(NamedTuple):
    """What the owner of a pool wrote, and where its border is now."""

    name: str
    delta: float
    theta: float
    low: float = 0.0
    high: float = 1.0
    horizon: float = 1.0


class SlotScale(NamedTuple):
    """What apps are counted in."""

    slot: Resources
    nominal: float


class PoolMember(NamedTuple):
    """An app of the queue in slots: what its pods hold, and one of its tasks."""

    app: str
    category: Category
    held: float
    task: float
    runs: bool = True  # whether its tasks may give something back


def slot_scale(capacity: Resources, median: Resources) -> SlotScale:
    """How large a slot is, and how many there are by capacity."""
    return SlotScale(balanced_slot(capacity, median), slot_count(capacity, median))


def build_pool(
    terms: PoolTerms,
    scale: SlotScale,
    members: Sequence[PoolMember],
    phases: AppPhases,
    *,
    free: Resources,
    now: float,
    far: bool = True,
) -> Pool:
    """The pool at one moment. `far=False` leaves out later releases, where nobody asks when an app's turn comes."""
    sides = [(each.app, each.category, each.task) for each in members if each.runs]
    coming = phases.forecast(sides, now, terms.horizon, far=far)
    return Pool(
        terms.name,
        scale.slot,
        tot=elastic(sum(each.held for each in members), free, scale.slot),
        nominal=scale.nominal,
        delta=clip(terms.delta, terms.low, terms.high),
        theta=terms.theta,
        low=terms.low,
        high=terms.high,
        releases=coming.releases,
        outlook=coming.outlook,
    )
