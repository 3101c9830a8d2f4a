"""How the estimator of paper 000 is set: its damping, the heartbeat to which that belongs, and what is reported."""

from __future__ import annotations

from enum import StrEnum

ALPHA = 0.125  # the paper's damping per heartbeat
TAU0 = 1.0  # seconds; the heartbeat to which that damping belongs


class Mode(StrEnum):
    """How the state becomes the reported estimate."""

    PRINTED = "printed"  # E as the paper prints it
    # min(E, max(Σ min(running requests, caps) + use that no request covers, U)): never worse than reservation
    CAPPED = "capped"
