"""Whether the extender may be asked: ready, degraded with a reason, or not yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater_extender.scheduling.verbs import NEEDED


@dataclass(frozen=True, slots=True)
class Readiness:
    """Ready or not, and everything a person should know about it."""

    ready: bool
    reasons: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """One word."""
        return ("degraded" if self.reasons else "ready") if self.ready else "starting"


def readiness(
    synced: frozenset[str],
    watch: Mapping[str, str],
    samples: str,
    *,
    sampled: bool,
    broken: Mapping[tuple[str, str], str],
) -> Readiness:
    """Ready after the first complete lists and the first samples, or with a clear reason why there are none.

    `samples` is what is wrong with the samples, if anything. Without samples room comes from reservations: nothing is
    overcommitted, so the extender may serve, and says so. `broken` are objects that cannot be read, by kind and name.
    """
    missing = tuple(f"{kind}: {watch.get(kind) or 'not listed yet'}" for kind in sorted(NEEDED - synced))
    if missing:
        return Readiness(ready=False, reasons=missing)
    if not sampled and not samples:
        return Readiness(ready=False, reasons=("samples: waiting for the first round",))
    troubles = [f"{kind}: {trouble}" for kind, trouble in sorted(watch.items())]
    if samples:
        troubles.append(
            f"samples: {samples}; where they are missing, room comes from reservations and nothing is overcommitted"
        )
    troubles += [f"{kind} {name}: {why}; the last good version stays in force" for (kind, name), why in broken.items()]
    return Readiness(ready=True, reasons=tuple(troubles))
