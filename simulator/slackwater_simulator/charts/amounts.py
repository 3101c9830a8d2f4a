"""Amounts as people write them: 1.25 cores, 3.5 GiB, 12 %, 4 min."""

from __future__ import annotations

GIBI = 1024.0**3
TITLES = {"cpu": "CPU", "memory": "Memory"}
UNITS = {"cpu": (1.0, "cores"), "memory": (GIBI, "GiB")}


def title(kind: str) -> str:
    """A kind of resource as a heading."""
    return TITLES.get(kind, kind)


def cores(value: float | None) -> str:
    """CPU cores with three digits that count."""
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def gibis(value: float | None) -> str:
    """Bytes as GiB."""
    return "–" if value is None else cores(value / GIBI)


def amount(kind: str, value: float | None, *, unit: bool = False) -> str:
    """An amount of CPU or memory; with its unit where it stands alone."""
    if kind == "memory":
        return gibis(value) + (" GiB" if unit and value is not None else "")
    said = cores(value)
    return said + ((" core" if said == "1" else " cores") if unit and kind == "cpu" and value is not None else "")


def percent(value: float | None) -> str:
    """A share as percent: two digits below ten."""
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return "–"
    return f"{100 * value:.1f} %" if abs(value) < 0.0995 and value else f"{100 * value:.0f} %"


def seconds(value: float | None) -> str:
    """A time span in the unit a person would use."""
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return "–"
    for limit, size, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h"), (float("inf"), 86400, "d")):
        if value < limit:
            return f"{value / size:.3g} {name}"
    return "–"


def count(number: int, thing: str) -> str:
    """So many things, in the right number: 1 driver, 3 drivers."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
