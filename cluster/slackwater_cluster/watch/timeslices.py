"""Long work in short pieces, so that whoever waits for a lock or an event loop never waits long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, at most `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
