"""How policies are called and coloured wherever people see them: the stock scheduler and Slackwater always alike."""

from __future__ import annotations

NAMES = {"kube": "Stock scheduler", "slackwater": "Slackwater"}
COLOURS = {"kube": "stock", "slackwater": "ours"}


def named(policy: str) -> str:
    """A policy as people call it."""
    return NAMES.get(policy, policy)


def policy_css(policy: str, index: int) -> str:
    """The colour class of a policy, which is the n-th of those shown."""
    return COLOURS.get(policy, f"p{index % 8}")
