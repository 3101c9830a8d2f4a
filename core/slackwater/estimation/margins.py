"""How much of each kind is kept back when room beyond reservations is promised, kind by kind.

Two kinds of loss differ. Who runs out of CPU runs slower, everybody a little: CPU is compressible, so nothing of it is
kept back, and drivers are charged what they use. Who runs out of memory is killed: a share of every node is kept back,
and drivers are charged at least what they declared.

An estimator of risk takes the place of the fixed numbers by giving the ledger its own `Margin` for a kind
(`LedgerConfig.margins`). It is expected to answer for one kind of all nodes, to be deterministic, and to keep

    0 ≤ allowance ≤ 1      peak ≥ 0 or None

Both shares are for the same doubt, that pods come to use more than was seen of them, and it counts once (`left_of`):
pods of known apps that fill a node may all outgrow their peaks by the margin before the node is full.

It need not keep reservations safe: a pod that fits a node by declared requests alone has room there whatever the
margins say (`ledger.room`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from slackwater.resources import CPU, Kinds
from slackwater.validation import fraction

# Kinds of which a lack slows pods down and ends none.
COMPRESSIBLE = frozenset({CPU})


class Margin(NamedTuple):
    """What is kept back of one kind."""

    allowance: float = 1.0  # share of a node's allocatable that may be promised beyond reservations
    peak: float | None = None  # added to what an app's pods came to use, as a share; None: requests are believed
    by_use: bool = False  # drivers are charged what they use and `peak` of it, not at least what they declared


def fixed(
    kinds: Kinds,
    measured: Collection[str],
    allowance: float,
    peak: float | None,
    given: Mapping[str, Margin] | None = None,
) -> tuple[Margin, ...]:
    """The margin of each kind: what was given for it, else the same for all that are measured, but for CPU."""
    fraction("allowance", allowance)
    found = []
    for kind in kinds:
        loose = kind in COMPRESSIBLE or kind not in measured
        kept = 1.0 if loose else allowance
        usual = Margin(kept, left_of(peak, kept), kind in COMPRESSIBLE and kind in measured)
        margin = (given or {}).get(kind, usual)
        fraction(f"allowance of {kind}", margin.allowance)
        found.append(margin)
    return tuple(found)


# Σ peak × (1 + margin) ≤ node  ⇔  Σ peak × (1 + margin) × allowance ≤ allowance × node
def left_of(margin: float | None, allowance: float) -> float | None:
    """The part of a margin on peaks that a share kept back of every node does not cover; None stays None."""
    return None if margin is None else max(0.0, (1.0 + margin) * allowance - 1.0)
