"""A node for each of many pods by declared requests alone, for when nobody can say what is measured.

No overcommit: whatever is placed here fits as the stock scheduler counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from slackwater.resources import CPU, Resources


class DeclaredAsk(NamedTuple):
    """A pod that wants a node, and which nodes it may or may not get."""

    uid: str
    declared: Resources
    nodes: Sequence[str] | None = None  # only these
    avoid: Collection[str] = ()


def declared_sums(
    asks: Iterable[DeclaredAsk], free: Mapping[str, Resources], allowed: Callable[[str, str], bool]
) -> dict[str, str | None]:
    """Each pod in turn onto the node with the most cores left that holds its declared request; None: there is none.

    `free` is allocatable less the declared sums of every node; `allowed` says whether a node accepts a pod (uid, node).
    """
    left = dict(free)
    found: dict[str, str | None] = {}
    for ask in asks:
        named = left if ask.nodes is None else [node for node in ask.nodes if node in left]
        fitting = [
            node for node in named if node not in ask.avoid and ask.declared.fits(left[node]) and allowed(ask.uid, node)
        ]
        best = max(fitting, key=lambda node: (left[node][CPU], node), default=None)
        if best is not None:
            left[best] = left[best] - ask.declared
        found[ask.uid] = best
    return found
