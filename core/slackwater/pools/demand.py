"""What an app wants at once, the most it has wanted so far, and the category that follows from it (paper 004).

On YARN a job tells its demand when it is submitted. On a cluster its pods come one by one, and the first of 150 looks
like a small job. So the most that an app has wanted so far decides, counted on the nodes there are now:

    category    large if max over time of r > θ · Tot, else small; unknown r counts as large

An app becomes large as its pods arrive, and does not become small as they end. What it wanted is kept as sizes and
counts of pods, not as a number of slots: where nodes come or go, the same pods are counted anew.
"""

from __future__ import annotations

from slackwater.pools.pools import THETA, Category, classify, slots
from slackwater.resources import Resources

# Pods wanted at once: what one declares, and how many of them.
Wanted = tuple[tuple[Resources, int], ...]


def demand(wanted: Wanted, slot: Resources) -> float:
    """Slots that these pods take."""
    return sum(slots(request, slot) * count for request, count in wanted)


def more(known: Wanted, wanted: Wanted, slot: Resources) -> Wanted:
    """Whichever of the two takes more slots; what was known before, where they are equal."""
    return wanted if demand(wanted, slot) > demand(known, slot) else known


def category(most: Wanted | None, slot: Resources, nominal: float, theta: float = THETA) -> Category:
    """The category of an app by the most it has wanted so far; None: nobody knows yet, so it counts as large."""
    return Category.LARGE if most is None else classify(demand(most, slot), nominal, theta)
