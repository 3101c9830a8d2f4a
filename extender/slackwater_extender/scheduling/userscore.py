"""A score of somebody else, asked in mode observe: which node it would have chosen is remembered beside ours.

It is a function `score(table, ask)` that gives one number per node of the table, the highest being the best. Of its
numbers only those of nodes that serve the pod count. Nothing that it does changes a decision: what it raises is written
into the log, once for each kind of trouble.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from slackwater.errors import InvalidInput
from slackwater_extender.scheduling.evaluate import ManyNodes, NodeFits

if TYPE_CHECKING:
    from slackwater.nodetable import NodeColumns, PodAsk

log = structlog.get_logger(__name__)
Function = Callable[["NodeColumns", "PodAsk"], Any]


@dataclass
class UserScore:
    """One function, and the kinds of trouble that were told already."""

    name: str
    function: Function
    _told: set[str] = field(default_factory=set)

    def leader(self, findings: NodeFits, ask: PodAsk) -> str:
        """The node that it likes best of those that serve the pod; "" where there is none, or it failed."""
        if not isinstance(findings, ManyNodes) or not findings.fitting:  # one node alone is best by itself
            return next((each.name for each in findings.best()), "")
        table = findings.table
        try:
            points = np.asarray(self.function(table, ask), dtype=np.float64)
            if points.shape != (len(table),) or np.isnan(points).any():
                raise ValueError(f"gave {points.shape} for {len(table)} nodes, or NaN")  # noqa: TRY301 - told as any other
        except Exception as problem:  # noqa: BLE001 - whatever a stranger's code raises must not reach the scheduler
            self._tell(repr(problem))
            return ""
        return findings.everyone[int(findings.rows[np.where(findings.fit.fits, points, -np.inf).argmax()])]

    def _tell(self, problem: str) -> None:
        if problem not in self._told and len(self._told) < 100:
            self._told.add(problem)
            log.warning("own score failed", score=self.name, trouble=problem)


def load(name: str) -> UserScore | None:
    """The function given as `module:function`; None where none is given."""
    if not name:
        return None
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise InvalidInput(
            "decisions.score",
            f"{name!r} cannot be loaded: {problem}",
            "write module:function of a module that Python finds",
        ) from problem
    if not callable(found):
        raise InvalidInput("decisions.score", f"{name!r} is no function", "write module:function")
    return UserScore(name, found)
