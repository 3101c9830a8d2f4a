"""Two pools of slots, one for small jobs and one for large ones, whose border δ follows demand (paper 004, DRESS).

A small job behind large ones waits for all of them. A share δ of the slots is kept for small jobs; what either side
does not need is lent to the other. Nobody is preempted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import median

from slackwater.resources import Resources, plain
from slackwater.validation import TOLERANCE, amount, clip, finite, fraction, positive

THETA = 0.1
DELTA = 0.1
_Fit = Callable[[float, float], bool]


class Category(StrEnum):
    """Which of the two pools a job belongs to (the paper's SD and LD); see `demand`."""

    SMALL = "small"
    LARGE = "large"


class Branch(StrEnum):
    """Which part of Algorithm 3 moved the border."""

    SMALL_SURPLUS = "sd_surplus"
    LARGE_SURPLUS = "ld_surplus"
    BOTH_SHORT = "both_short"
    KEPT = "kept"  # fewer than two slots cannot be shared out


@dataclass(frozen=True, slots=True)
class Supply:
    """What one pool can give: slots available now (A) and slots forecast to be released (F)."""

    available: float
    released: float = 0.0

    @property
    def total(self) -> float:
        """A + F. Eq 1 prints A into F as well and so counts it twice; here F is releases only."""
        return self.available + self.released


@dataclass(frozen=True, slots=True)
class Pools:
    """The two pools at one moment. `total` is the elastic Tot, in slots."""

    delta: float
    total: float
    small_occupied: float = 0.0
    large_occupied: float = 0.0

    def __post_init__(self) -> None:
        fraction("delta", self.delta)
        amount("Tot", self.total)
        amount("small_occupied", self.small_occupied)
        amount("large_occupied", self.large_occupied)

    def size(self, category: Category) -> float:
        """δ·Tot or (1 − δ)·Tot."""
        return self.total * (self.delta if category is Category.SMALL else 1 - self.delta)

    # A1 = max(0, δ·Tot − occ1);  A2 = max(0, (1 − δ)·Tot − occ2)
    def available(self, category: Category) -> float:
        """The pool's headroom."""
        occupied = self.small_occupied if category is Category.SMALL else self.large_occupied
        return max(0.0, self.size(category) - occupied)

    def largest(self, category: Category) -> float:
        """The most this pool can ever be: δ may go to the end of its range, one slot short of everything."""
        return self.total - 1 if self.total >= 2 else self.size(category)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The new border, and which branch moved it. `ascending`: launch by demand, smallest first, instead of FIFO."""

    delta: float
    branch: Branch

    @property
    def ascending(self) -> bool:
        """Only when both sides are short is the order of arrival given up."""
        return self.branch is Branch.BOTH_SHORT


@dataclass(frozen=True, slots=True)
class Launch:
    """Whether a job may start, and the numbers compared."""

    starts: bool
    required: float
    headroom: float
    free: float

    def sentence(self) -> str:
        """The reason with numbers, for people."""
        need = f"needs {plain(self.required)} slots"
        if self.starts:
            return f"{need}, its pool has {plain(self.headroom)} and {plain(self.free)} are free"
        if self.required > self.headroom + TOLERANCE:
            return f"{need}, its pool has {plain(self.headroom)} left"
        return f"{need}, only {plain(self.free)} are free on the nodes"


# LD if r > θ · Tot. The paper prints θ · A_c; with live A_c everything is large as soon as the cluster is busy.
@lru_cache(maxsize=4096)
def classify(demand: float, nominal: float, theta: float = THETA) -> Category:
    """The category of a job, on nominal Tot so that it never changes with measured room."""
    limit = fraction("theta", theta) * amount("Tot", nominal)
    return Category.LARGE if amount("demand", demand) > limit + TOLERANCE else Category.SMALL


@lru_cache(maxsize=4096)
def slots(request: Resources, slot: Resources) -> float:
    """How many slots a request takes: max over kinds of request / slot. Kinds a slot has none of are not pooled."""
    return max([request[kind] / size for kind, size in slot.items() if size > 0], default=0.0)


def slot_count(capacity: Resources, slot: Resources) -> float:
    """How many slots a capacity holds: the scarcest kind decides. No slot size, no slots."""
    return max(0.0, min((capacity[kind] / value for kind, value in slot.items() if value > 0), default=0.0))


def median_slot(tasks: Iterable[Resources]) -> Resources:
    """The size of one slot: the median declared task, kind by kind."""
    sizes = list(tasks)
    kinds = {kind for size in sizes for kind in size}
    return Resources({kind: median(size[kind] for size in sizes) for kind in kinds})


# Tot = slots that pods hold + slots that fit into what is left
def elastic(charged: float, free: Resources, slot: Resources) -> float:
    """Tot, in one unit: what pods hold counts by dominant share, so what is left must be added as slots too.

    The smallest ratio of summed amounts would leave room without slots wherever shapes differ.
    """
    return amount("slots held", charged) + slot_count(free, slot)


# slot'_k = C_k / N with N = min_k C_k / slot_k, so that max_k request_k / slot'_k = N · dominant share
def balanced_slot(capacity: Resources, slot: Resources) -> Resources:
    """A slot as an equal share of every pooled kind, as many of them as there are of the given slot.

    A task that wants much of a kind that is plentiful then takes slots by what it really keeps from others: its
    dominant share. A task of the given slot's size takes exactly one.
    """
    count = slot_count(capacity, slot)
    if count <= 0:
        return slot
    return Resources({kind: capacity[kind] / count for kind, value in slot.items() if value > 0})


# Paper 004, Algorithm 3
def adjust(
    delta: float,
    tot: float,
    small: Supply,
    large: Supply,
    small_demand: Sequence[float],
    large_demand: Sequence[float],
    *,
    printed: bool = False,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Adjustment:
    """Move the border to where the demand is. `printed` keeps the paper's arithmetic; see `_both_short`."""
    _check(delta, tot, small, large, small_demand, large_demand)
    if tot < 2:
        return Adjustment(delta, Branch.KEPT)
    missing = sum(small_demand) - small.total
    spare = large.total - sum(large_demand)
    if missing <= TOLERANCE:
        branch, moved = Branch.SMALL_SURPLUS, missing
    elif spare >= -TOLERANCE:
        # Lending more than is missing would only be lent back at the next event.
        branch, moved = Branch.LARGE_SURPLUS, spare if printed else min(spare, missing)
    else:
        branch = Branch.BOTH_SHORT
        moved = _both_short(small.total, large.total, small_demand, large_demand, printed=printed)
    wanted = clip(delta + moved / tot, *bounds)
    return Adjustment(clip(wanted, 1 / tot, 1 - 1 / tot), branch)


# Max-min fairness between the two pools: whoever needs less than half gets it, the other one the rest.
def even(small: float, large: float, tot: float) -> float:
    """The border when both sides need more than there is, so that neither can starve the other.

    Algorithm 3 moves the border only by what the large side has left over. That suits jobs that start whole; a large
    job whose pods follow one by one wants every slot that comes free and leaves nothing over for as long as it runs.
    """
    half = positive("Tot", tot) / 2
    if amount("small need", small) <= half:
        return small / tot
    return max(0.5, 1 - amount("large need", large) / tot)


def _both_short(
    small: float, large: float, small_demand: Sequence[float], large_demand: Sequence[float], *, printed: bool
) -> float:
    """Serve each side's jobs smallest first; what the large side has left over then helps further small jobs.

    Printed, an exact fit is not a fit and a job that borrows is charged in full. The printed loops are also nested by
    mistake, skip their last job and add the small side's releases to the large side: that is not kept.
    """
    fits = _strictly if printed else _fits
    waiting = sorted(small_demand)
    first, small = _serve(waiting, small, fits)
    _, large = _serve(sorted(large_demand), large, fits)
    moved = 0.0
    for demand in waiting[first:]:
        if not fits(demand, small + large):
            break
        need = max(0.0, demand - small)
        small, large = max(0.0, small - demand), large - need
        moved += demand if printed else need
    return moved


def _serve(demands: Sequence[float], supply: float, fits: _Fit) -> tuple[int, float]:
    """How many of the demands the supply serves in turn, and what is left of it."""
    for served, demand in enumerate(demands):
        if not fits(demand, supply):
            return served, supply
        supply -= demand
    return len(demands), supply


def required(demand: float, pools: Pools, category: Category, *, gang: bool = False) -> float:
    """The slots a job must get to start: r = min(demand, largest possible pool).

    So a job larger than any pool starts with what the pool can be. Only a declared gang is all or nothing; whether it
    can ever fit is asked against the queue's maximum elsewhere.
    """
    amount("demand", demand)
    return demand if gang else min(demand, pools.largest(category))


def launch(demand: float, category: Category, pools: Pools, free: float, *, gang: bool = False) -> Launch:
    """Start a job when r fits both its pool's headroom and what is physically free. No slots at all: nobody starts."""
    need = required(demand, pools, category, gang=gang)
    headroom = pools.available(category)
    starts = pools.total > 0 and _fits(need, headroom) and _fits(need, finite("free", free))
    return Launch(starts, need, headroom, free)


def _fits(demand: float, supply: float) -> bool:
    return demand <= supply + TOLERANCE


def _strictly(demand: float, supply: float) -> bool:
    return demand < supply - TOLERANCE


def _check(
    delta: float, tot: float, small: Supply, large: Supply, small_demand: Sequence[float], large_demand: Sequence[float]
) -> None:
    fraction("delta", delta)
    amount("Tot", tot)
    for name, value in (("A1", small.available), ("F1", small.released), ("A2", large.available)):
        amount(name, value)
    amount("F2", large.released)
    for name, demands in (("SD", small_demand), ("LD", large_demand)):
        for demand in demands:
            amount(name, demand)
