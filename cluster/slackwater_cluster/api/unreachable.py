"""What is said of an address where nobody answers, in words."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


def cannot_be_reached(problem: Exception) -> str:
    """The reason of the operating system, without its number."""
    return f"it cannot be reached ({_NUMBER.sub('', str(problem))})"
