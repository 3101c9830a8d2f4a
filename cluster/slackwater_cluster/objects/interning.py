"""Equal parts of many records held once, within a bound on what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class SharedValues(Generic[T]):
    """One object for all equal values, as long as they are small and few enough to be worth it.

    Pods of one app say the same thousands of times. Nobody may make us remember more than `most` bytes, however often
    an object is changed: a value that is large is not shared, and what is full starts anew.
    """

    def __init__(self, make: Callable[[Any], T], most: int = 16 * 2**20, largest: int = 4096) -> None:
        self._make, self._most, self._largest = make, most, largest
        self._known: dict[Hashable, T] = {}
        self.size = 0  # bytes of text held, at most

    def one(self, value: Hashable) -> T:
        """What stands for this value."""
        found = self._known.get(value)
        return self._new(value) if found is None else found

    def _new(self, value: Hashable) -> T:
        made, size = self._make(value), _text_size(value)
        if size <= self._largest:
            if self.size + size > self._most:
                self._known, self.size = {}, 0
            self._known[value] = made
            self.size += size
        return made


def _text_size(value: object) -> int:
    """Bytes of the strings in a value of tuples and records, and some for each of them."""
    if isinstance(value, str):
        return len(value) + 64
    parts = msgspec.structs.astuple(value) if isinstance(value, msgspec.Struct) else value
    return 64 + sum(map(_text_size, parts)) if isinstance(parts, tuple) else 16
