"""Bars of what there is: used, requested beyond that (the slack) and free; of a cluster, or small in a table's row."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from slackwater_simulator.charts.amounts import amount, title
from slackwater_simulator.charts.svg import drawing, number

WIDTH, HEIGHT = 460.0, 34
NARROW, LOW = 160.0, 14.0
HATCH = (
    'width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="slack" width="8" height="8"/><path class="stripe" d="M0 0V8"/>'
)


def capacity_bar(kind: str, used: float, asked: float, size: float, *, allowed: float | None = None) -> Markup | str:
    """The bar grows where more is asked for than there is; a mark shows how far Slackwater fills."""
    most = max(size, asked, used)
    if not most > 0:
        return ""
    scale = WIDTH / most
    words = ", ".join(f"{amount(kind, value, unit=True)} {what}" for value, what in (
        (used, "used"), (max(asked - used, 0.0), "requested and not used"), (max(size - asked, 0.0), "not requested"),
    ))  # fmt: skip
    parts = [
        f'<defs><pattern id="hatch-{kind}" {HATCH}</pattern></defs>',
        f'<rect class="ground" width="{number(WIDTH)}" height="{HEIGHT}" rx="6"/>',
        f'<rect fill="url(#hatch-{kind})" width="{number(max(used, asked) * scale)}" height="{HEIGHT}" rx="6"/>',
        f'<rect class="block used" width="{number(used * scale)}" height="{HEIGHT}" rx="6"/>',
    ]
    for css, value in (("limit", size if asked > size else None), ("mark", allowed)):
        if value is not None:
            parts.append(f'<path class="{css}" d="M{number(value * scale)} -3V{HEIGHT + 3}"/>')
    return drawing(WIDTH, HEIGHT, f"{title(kind)}: {words}", "".join(parts))


def meter(words: str, parts: Sequence[tuple[str, float]], most: float, *, mark: float | None = None) -> Markup:
    """Parts by colour class, one after the other, on a ground that stands for `most`; the mark is drawn across."""
    scale = NARROW / most if most > 0 else 0.0
    drawn, reached = [f'<rect class="ground" width="{number(NARROW)}" height="{number(LOW)}" rx="3"/>'], 0.0
    for css, value in parts:
        wide = min(max(value, 0.0) * scale, NARROW - reached)
        if wide > 0.05:
            place = f'x="{number(reached)}" width="{number(wide)}" height="{number(LOW)}"'
            drawn.append(f'<rect class="block {css}" {place} rx="3"/>')
            reached += wide
    if mark is not None and mark * scale <= NARROW + 0.05:
        drawn.append(f'<path class="mark" d="M{number(min(mark * scale, NARROW - 1))} -1V{number(LOW + 1)}"/>')
    title = escape(words)
    box = f"0 0 {number(NARROW)} {number(LOW)}"
    return Markup(  # noqa: S704 - made of the elements above
        f'<svg class="meter" viewBox="{box}" preserveAspectRatio="none" role="img" aria-label="{title}">'
        f"<title>{title}</title>{''.join(drawn)}</svg>"
    )
