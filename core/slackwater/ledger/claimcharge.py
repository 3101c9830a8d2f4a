"""What a claim is learned under and what it charges: the names its use is kept by, and its weights on a node."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from slackwater.ledger.types import Amounts, PodClaim
from slackwater.resources import Kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def usage_key(claim: PodClaim, kinds: Kinds) -> str:
    """Under what name a pod's use is learned: its app's tasks, or drivers, of the same size. Stages differ in size."""
    if not claim.app:
        return ""
    name = sized(claim.app, claim.charged, kinds)
    return f"{name} as driver" if claim.driver else name


def app_key(claim: PodClaim) -> str:
    """Under what name it is kept that pods of an app were ended for their memory: without the stage of `app/stage`."""
    return claim.app.rpartition("/")[0] or claim.app


def oom_key(claim: PodClaim, kinds: Kinds) -> str:
    """Under what name it is kept that a pod was ended for its memory. A driver's end says nothing of tasks its size."""
    if claim.driver and claim.app:
        return f"{sized(claim.app, claim.charged, kinds)} driver"
    return usage_key(claim, kinds)


# What a pod does not ask for is left out, so that a name stays the same whatever kinds nodes bring, in whatever order.
@lru_cache(maxsize=8192)
def sized(app: str, charged: Amounts, kinds: Kinds) -> str:
    """An app's name and the size of its pods."""
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
