"""Which files of tests a run need not even read: all of their tests carry a marker that it leaves out."""

from __future__ import annotations

import re

OF_ALL = re.compile(r"^pytestmark = \[?pytest\.mark\.(\w+)\b", re.MULTILINE)
PLAIN = re.compile(r"(?:not )?\w+")


def leaves_out(markers: str, text: str) -> bool:
    """Whether `-m` with these markers, joined by nothing but `and`, leaves out all tests of a file with this text."""
    asked = markers.split(" and ")
    found = OF_ALL.search(text)
    return found is not None and f"not {found[1]}" in asked and all(PLAIN.fullmatch(each) for each in asked)
