"""One bar of all that a cluster has: used, requested beyond that (the slack), and free."""

from __future__ import annotations

from markupsafe import Markup

from slackwater_simulator.charts.amounts import amount, title
from slackwater_simulator.charts.svg import drawing, number

WIDTH, HEIGHT = 460.0, 34
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
