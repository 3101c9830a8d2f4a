"""Rounds of measurement for tests, told by name: what a ledger takes as arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import Sample


def measure(
    ledger: Ledger,
    now: float,
    nodes: Mapping[str, Sample],
    pods: Mapping[str, Sequence[float]] | None = None,
    seen: Collection[str] | None = None,
) -> None:
    """Use by node, and by pod where it is known. `seen`: pods that ran; those of `pods`, or all if none is told."""
    uses = np.array([list(use) for use in (pods or {}).values()], np.float64)
    beside = seen if seen is not None else () if pods is not None else [claim.uid for claim in ledger.claims()]
    kinds = len(ledger.nodes[0].allocatable) if ledger.nodes else 1
    ledger.sample_some(now, nodes, list(pods or {}), uses.reshape(-1, kinds).T, beside)
