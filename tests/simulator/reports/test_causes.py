"""The causes of idle cores: each has a colour of its own on the page."""

from __future__ import annotations

import re
from itertools import combinations
from math import dist

import pytest

from slackwater_simulator.charts.page import STYLE
from slackwater_simulator.reports.causes import COLOURS

APART = 50.0  # of 441 between black and white, in red, green and blue: told apart in a bar of a few pixels


def resolved(css: str, scheme: int) -> tuple[int, int, int]:
    """Red, green and blue of a class; the first definition is of the light scheme, the second of the dark one."""
    variable = re.findall(rf"\.{css} {{ --c: var\(--(\w+)\); }}", STYLE)[0]
    red, green, blue = re.findall(rf"--{variable}: #(..)(..)(..);", STYLE)[scheme]
    return int(red, 16), int(green, 16), int(blue, 16)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_no_two_causes_look_the_same(scheme: int) -> None:
    """Not by the names of their colours only: what is drawn differs."""
    drawn = {cause: resolved(css, scheme) for cause, css in COLOURS.items()}
    near = {(one, other) for one, other in combinations(drawn, 2) if dist(drawn[one], drawn[other]) < APART}
    assert near == set()
