"""Amounts as people write them: 1.25 cores, 3.5 GiB, 64 MiB, 12 %, 4 min."""

from __future__ import annotations

GIBI = 1024.0**3
TITLES = {"cpu": "CPU", "memory": "Memory"}
UNITS = {"cpu": (1.0, "cores"), "memory": (GIBI, "GiB")}
# Below so many of its units, an amount that stands alone is told in this smaller one.
SMALL = {"cpu": (0.01, 0.001, "millicores"), "memory": (0.1, 1024.0**2, "MiB")}
# Units of time: below so many seconds one of so many seconds is taken. Sentences and the axes of charts agree on it.
SPANS = ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (172800.0, 3600.0, "h"), (float("inf"), 86400.0, "days"))
LEAST = 0.001  # smaller numbers are only told to be smaller
NOISE = 1e-9


def title(kind: str) -> str:
    """A kind of resource as a heading."""
    return TITLES.get(kind, kind)


def rounded(value: float | None) -> str:
    """A number with three digits that count, and never an exponent; what is left over by rounding is 0."""
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return "–"
    size = abs(value)
    if NOISE < size < LEAST:
        return f"< {LEAST}" if value > 0 else f"> -{LEAST}"
    return f"{value:,.0f}" if size >= 100 else f"{value:.3g}" if size > NOISE else "0"


def amount(kind: str, value: float | None, *, unit: bool = False) -> str:
    """An amount of CPU or memory; with its unit where it stands alone, and there small ones in a smaller unit."""
    size, name = UNITS.get(kind, (1.0, ""))
    if not unit or not name or value is None:
        return rounded(None if value is None else value / size)
    border, part, small = SMALL[kind]
    if NOISE < abs(value) / size < border:
        size, name = part, small
    said = rounded(value / size)
    return f"{said} {name.removesuffix('s') if said == '1' else name}"


def percent(value: float | None) -> str:
    """A share as percent: two digits below ten."""
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return "–"
    return f"{100 * value:.1f} %" if abs(value) < 0.0995 and value else f"{100 * value:.0f} %"


def seconds(value: float | None) -> str:
    """A time span in the unit a person would use."""
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return "–"
    if abs(value) == float("inf"):
        return "–"
    size, name = unit_of(abs(value))
    return f"{rounded(value / size)} {name}"


def unit_of(span: float) -> tuple[float, str]:
    """Seconds per unit and the unit's name, for a time span, or an axis, of that length."""
    return next((size, name) for limit, size, name in SPANS if span < limit or limit == float("inf"))


def count(number: int, thing: str, things: str = "") -> str:
    """So many things, in the right number: 1 driver, 3 drivers; or 1 app waits, 3 apps wait, where both are given."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
