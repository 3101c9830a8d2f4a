"""A memory as large as what is asked for, not as all that ever was: answers nobody asks for again are forgotten."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentAnswers(Generic[K, V]):
    """Two generations. When the younger one is full, the older one is forgotten, but for what was asked for since."""

    def __init__(self) -> None:
        self._younger: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._younger) + len(self._older)

    def get(self, key: K) -> V | None:
        """The answer, if it is remembered; it is young again."""
        found = self._younger.get(key)
        if found is None and (found := self._older.pop(key, None)) is not None:
            self.put(key, found, self._size)
        return found

    def put(self, key: K, answer: V, size: int) -> None:
        """Remember an answer; `size` of them fill a generation."""
        self._size = size
        if len(self._younger) >= size:
            self._older, self._younger = self._younger, {}
        self._younger[key] = answer

    def clear(self) -> None:
        """Forget everything."""
        self._younger.clear()
        self._older.clear()
