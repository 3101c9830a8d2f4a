"""What cores and memory cost, so that what is reserved and idle can be told in money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.errors import UnknownName
from slackwater.validation import amount

HOURS = 730.0  # of a month
GIBI = 1024.0**3


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for an hour of a core and of a GiB, and where they come from."""

    core: float
    gib: float
    source: str = "given"

    def __post_init__(self) -> None:
        amount("--cpu-price", self.core)
        amount("--gib-price", self.gib)

    def month(self, cores: float, memory: float) -> float:
        """So many cores and bytes for a month."""
        return HOURS * (cores * self.core + memory / GIBI * self.gib)


# Pay-as-you-go list prices of the services that sell cores and memory apart, on the date named. Yours differ: region,
# reservations, spot. They are a scale to begin with, and --cpu-price and --gib-price override them.
LIST_PRICES: Mapping[str, Prices] = {
    "aws": Prices(0.04048, 0.004445, "AWS Fargate, Linux x86, us-east-1, list price of January 2025"),
    "gcp": Prices(0.0445, 0.0049225, "GKE Autopilot, general purpose, us-central1, list price of January 2025"),
    "azure": Prices(0.0405, 0.00445, "Azure Container Instances, Linux, East US, list price of January 2025"),
}


def chosen(name: str | None, core: float | None, gib: float | None) -> Prices | None:
    """A provider's list prices, with what was given in their place; None where nothing was given."""
    if name is None and core is None and gib is None:
        return None
    if name is not None and name not in LIST_PRICES:
        raise UnknownName("--prices", name, LIST_PRICES)
    base = LIST_PRICES[name] if name else Prices(0.0, 0.0)
    own = "" if core is None and gib is None else ("; --cpu-price and --gib-price as given" if name else "")
    return Prices(base.core if core is None else core, base.gib if gib is None else gib, base.source + own)
