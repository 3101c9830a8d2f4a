"""The parts of Slackwater as options of a simulated policy."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.estimation.peaks import MARGIN
from slackwater.ledger.types import LedgerConfig
from slackwater.pools.pools import DELTA, THETA
from slackwater.resources import CPU, MEMORY, Kinds


@dataclass(frozen=True, slots=True)
class Parts:
    """Each part can be switched off to see what it is worth."""

    overcommit: bool = True  # 000: place by measured room, up to the ceiling
    known: bool = True  # 000: believe what an app's pods have used rather than what the next ones ask for
    admission: bool = True  # 002: keep room for a task beside every driver
    pools: bool = True  # 004: small and large jobs apart
    order: bool = True  # 001: HaSTE's preference; without it first come, first served
    ceiling_cpu: float = 2.0
    ceiling_memory: float = 1.5
    alpha: float = 0.125
    memory_tau0: float = 30.0  # seconds; on a live cluster tasks come to their memory slowly
    heartbeat: float = 5.0  # seconds between samples
    allowance: float = 0.875
    risk: float = 0.0  # the probability that a promise beyond reservations is exceeded; 0: the constants decide
    risk_horizon: float = 600.0  # seconds for which a promise is to hold
    theta: float = THETA
    delta: float = DELTA
    delta_minimum: float = 0.0  # share of the slots that stays with small jobs even while none of them waits
    window: int = 200
    forecasts: bool = False  # say of each app that waits when it will start, and keep what came of it
    reasons: bool = False  # keep why each app is held, for the pages of a play

    def ceiling(self, kind: str) -> float:
        """How far a kind may be overcommitted."""
        if not self.overcommit:
            return 1.0
        return {CPU: self.ceiling_cpu, MEMORY: self.ceiling_memory}.get(kind, 1.0)

    def terms(self, kinds: Kinds) -> LedgerConfig:
        """How the ledger charges. α = 0 in capped mode is the reservation."""
        alpha = self.alpha if self.overcommit else 0.0
        return LedgerConfig(
            kinds=kinds,
            alpha=alpha,
            tau0={MEMORY: self.memory_tau0},
            allowance=self.allowance,
            margin=MARGIN if self.known else None,
            heartbeat=self.heartbeat,
            risk=self.risk or None,
            horizon=self.risk_horizon,
            steady=True,
        )
