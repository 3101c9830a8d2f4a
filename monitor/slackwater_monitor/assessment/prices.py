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


def about(dollars: float) -> str:
    """A sum as far as prices of this kind can tell it: two digits."""
    size = abs(dollars)
    told = f"${float(f'{size:.2g}'):,.0f}" if size >= 1 else f"${size:.2f}"
    return f"-{told}" if dollars < 0 and told != "$0.00" else told


# Examples to begin with, rounded: about what services that sell cores and memory apart asked in that month. They are
# not fetched and not kept up to date; a contract, a region or spot nodes make others of them.
EXAMPLE = "example: about the list price of {service} in January 2025; give yours by --cpu-price and --gib-price"
LIST_PRICES: Mapping[str, Prices] = {
    "aws": Prices(0.04, 0.0045, EXAMPLE.format(service="AWS Fargate, us-east-1")),
    "gcp": Prices(0.045, 0.005, EXAMPLE.format(service="GKE Autopilot, us-central1")),
    "azure": Prices(0.04, 0.0045, EXAMPLE.format(service="Azure Container Instances, East US")),
}


# A GiB costs about a ninth of a core on most price lists.
RATIO = 9.0
DERIVED = "given for {given}; for {other} not given, and taken as {rule}"


def chosen(name: str | None, core: float | None, gib: float | None) -> Prices | None:
    """A provider's example prices, with what was given in their place; None where nothing was given.

    Where one price is given and no list is named, the other follows from the usual ratio: nothing is free of charge.
    """
    if name is None and core is None and gib is None:
        return None
    if name is not None and name not in LIST_PRICES:
        raise UnknownName("--prices", name, LIST_PRICES)
    if core is not None and gib is not None:
        return Prices(core, gib)
    if name is not None:
        base = LIST_PRICES[name]
        return Prices(base.core if core is None else core, base.gib if gib is None else gib, base.source)
    if core is not None:
        return Prices(core, core / RATIO, DERIVED.format(given="a core", other="a GiB", rule="a ninth of that"))
    return Prices((gib or 0.0) * RATIO, gib or 0.0, DERIVED.format(given="a GiB", other="a core", rule="nine of that"))
