"""Merge patches that make a status what it should be.

A merge patch keeps every key that it does not name, in maps inside maps too. So what must go is named with None;
otherwise a status keeps numbers that are no longer true, differs for ever, and is written again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def replacing(before: Any, now: Any) -> Any:
    """The patch that turns `before` into `now`."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return now
    gone = dict.fromkeys((key for key in before if key not in now), None)
    return {**gone, **{key: replacing(before.get(key), value) for key, value in now.items()}}
