"""What a claim is learned under and what it charges: the names its use is kept by, and its weights on a node."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from slackwater.ledger.types import Amounts, PodClaim
from slackwater.resources import Kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_EARLIER = re.compile(rf"(?P<app>.*) \((?P<amounts>{_NUMBER}(?:,|(?:, {_NUMBER})+))\)(?P<role>| as driver| driver)")


def kindred(claim: PodClaim, kinds: Kinds) -> str:
    """Under what name a pod's use is learned: its app's tasks, or drivers, of the same size. Stages differ in size."""
    if not claim.app:
        return ""
    name = _sized(claim.app, claim.charged, kinds)
    return f"{name} as driver" if claim.driver else name


def whole_app(claim: PodClaim) -> str:
    """Under what name it is kept that pods of an app were ended for their memory: without the stage of `app/stage`."""
    return claim.app.rpartition("/")[0] or claim.app


def successors(claim: PodClaim, kinds: Kinds) -> str:
    """Under what name it is kept that a pod was ended for its memory. A driver's end says nothing of tasks its size."""
    if claim.driver and claim.app:
        return f"{_sized(claim.app, claim.charged, kinds)} driver"
    return kindred(claim, kinds)


def renamed(name: str, kinds: Kinds) -> str:
    """The name of today for one that an earlier version wrote: the amounts of all kinds, in the order they came in."""
    found = _EARLIER.fullmatch(name)
    amounts = tuple(map(float, found["amounts"].rstrip(",").split(", "))) if found else ()
    # Kinds that came after it was written stand at the end.
    if not found or len(amounts) > len(kinds):
        return name
    return _sized(found["app"], amounts, kinds[: len(amounts)]) + found["role"]


# What a pod does not ask for is left out, so that a name stays the same whatever kinds nodes bring, in whatever order.
@lru_cache(maxsize=8192)
def _sized(app: str, charged: Amounts, kinds: Kinds) -> str:
    named = sorted(zip(kinds, charged, strict=True))
    return " ".join([app, *(f"{kind}={amount}" for kind, amount in named if amount)])


def cost(claim: PodClaim) -> tuple[Amounts, Amounts, bool, bool]:
    """Everything of a claim that its charge depends on."""
    return claim.charged, claim.native, claim.driver, claim.managed


def weights(claim: PodClaim, use: Floats | None = None) -> tuple[Floats, Floats]:
    """What a pod adds to its node: its request in the estimate, and charge, native and declared beside it.

    A driver is not estimated but charged max(use, D). What a pod of others declares counts in the sum of all alone.
    """
    request, beside = _weighed(*cost(claim))
    if use is not None and claim.driver:
        beside = beside.copy()
        beside[0] = np.maximum(beside[0], use)
    return request, beside


@lru_cache(maxsize=8192)
def _weighed(charged: Amounts, native: Amounts, driver: bool, managed: bool) -> tuple[Floats, Floats]:
    """The same before any use is known; shared by all pods of one size, so read-only."""
    declared = np.array(charged)
    nothing = np.zeros_like(declared)
    request, charge = (nothing, declared) if driver else (declared, nothing)
    beside = np.array([charge, np.array(native), declared if managed else nothing, declared])
    request.setflags(write=False)
    beside.setflags(write=False)
    return request, beside
