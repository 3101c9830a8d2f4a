"""How much more a node takes in the paper's simulator (paper 000, section V), for one kind of resource: AR − E.

AR is the allowance, E the estimate. Negative room means no placement, never an error.
"""

from __future__ import annotations

from slackwater.resources import least
from slackwater.validation import amount, finite


def sim_room(allowance: float, estimate: float) -> float:
    """AR − E."""
    return amount("allowance", allowance) - finite("estimate", estimate)


def accepts(request: float, room: float) -> bool:
    """Whether a request fits into the room. Nothing asked for always fits, even on a node that is over-full."""
    return finite("room", room) >= least(amount("request", request))
