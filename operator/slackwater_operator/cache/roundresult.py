"""The result of the last round, as the status writers read it."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What the last round knew and decided, for whoever tells about it."""

    snapshot: Snapshot
    round: Round
    holding: str = ""  # why nothing at all is released, if so
