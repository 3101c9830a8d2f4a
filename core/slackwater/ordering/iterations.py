"""How near an iterative job is to its end (paper 001, HaSTE-A).

An iterative job holds nodes through many rounds with a barrier after each. Late rounds are pulled forward, so that
the last barrier does not stand alone at the end of the workload.
"""

from __future__ import annotations

from slackwater.validation import amount, fraction


def alignment(*, iterative: bool, stage: float = 0.0, stages: float | None = None) -> float:
    """A = s/m for iterative jobs (current stage, total stages), 0 for others.

    An unknown total is s + 1: one more round than the one that runs.
    """
    if not iterative:
        return 0.0
    current = amount("alignment.stage", stage)
    last = current + 1 if stages is None else amount("alignment.stages", stages)
    return min(1.0, current / last) if last > 0 else 0.0


def factor(share: float) -> float:
    """alpha_A = 1 − q for 0 < q ≤ ½, else 0, where q is the share of iterative jobs.

    The paper's value is lost; few iterative jobs gain most from being pulled forward, a majority of them nothing.
    """
    q = fraction("alignment.share", share)
    return 1.0 - q if 0 < q <= 0.5 else 0.0
