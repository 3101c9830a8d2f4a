"""Many node names at once, from the bytes of their JSON array to rows of the ledger's table.

A list of 5,000 strings and a look into a dict for each of them is a millisecond, more than all of the decision. Node
names are plain ASCII between quotes, so all of them are hashed and looked up together: 64 bits each, eight bytes at a
time, then one look into a table that is small enough to stay in the processor's cache. The few that share a place there
are searched for among the sorted hashes, and what is not found then is looked up one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Hashes = NDArray[np.uint64]

LEAST = 400  # bytes; shorter lists are as quickly read one by one
QUOTE, SPACE = 34, 32
GO, PYTHON = 3, 4  # bytes from one name's end to the next one's begin: `","` as Go writes it, `", "` as Python does
PLACES = 16  # bits
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FOLD, _PLACE = np.uint64(29), np.uint64(64 - PLACES)
_KEEP = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)  # the first bytes of eight


class NodeNameList(Sequence[str]):
    """The names in a JSON array of plain strings, decoded only where one is asked for."""

    __slots__ = ("begins", "ends", "text")

    def __init__(self, text: bytes, begins: Rows, ends: Rows) -> None:
        self.text, self.begins, self.ends = text, begins, ends

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            pairs = zip(self.begins[at].tolist(), self.ends[at].tolist(), strict=True)
            return [self.text[begin:end].decode() for begin, end in pairs]
        return self.text[self.begins[at] : self.ends[at]].decode()

    def __len__(self) -> int:
        return len(self.begins)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and f'"{name}"'.encode() in self.text


def lot(text: bytes) -> NodeNameList | None:
    """The names, if the array is long and holds nothing but plain strings; else None: read it as any JSON."""
    framed = text.startswith(b'["') and text.endswith(b'"]')
    if len(text) < LEAST or not framed or not text.isascii() or b"\\" in text:
        return None
    quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == QUOTE)
    begins, ends = quotes[::2] + 1, quotes[1::2]
    gaps = begins[1:] - ends[:-1]
    if len(begins) != len(ends) or not ((gaps == GO).all() or _spaced(text, ends, gaps)):
        return None
    return NodeNameList(text, begins, ends)


def _spaced(text: bytes, ends: Rows, gaps: Rows) -> bool:
    found = np.frombuffer(text, np.uint8)[ends[:-1] + 2]
    return bool((gaps == PYTHON).all() and (found == SPACE).all())


def hashes(text: bytes, begins: Rows, ends: Rows) -> Hashes:
    """64 bits of each piece of the text."""
    padded = text + bytes(8)
    words: Hashes = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
    sizes = ends - begins
    made: Hashes = sizes.astype(np.uint64)
    longest = int(sizes.max(initial=0))
    alike = longest == sizes.min(initial=longest)  # names of one length are common, and spare half of the work
    for first in range(0, longest, 8):
        word = words[begins + first] if alike else words[np.minimum(begins + first, len(text))]
        word &= _KEEP[min(longest - first, 8)] if alike else _KEEP.take(np.clip(sizes - first, 0, 8))
        made ^= word
        made *= _FACTOR
        made ^= made >> _FOLD
    return made


class RowFinder:
    """Rows by name, for one set of nodes at a time."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._hashes: Hashes = np.zeros(0, np.uint64)
        self._sorted, self._order = self._hashes, np.zeros(0, np.intp)
        self._places = np.zeros(0, np.int32)

    def rows(self, asked: NodeNameList, names: tuple[str, ...], index: Mapping[str, int]) -> Rows:
        """The row of each name asked for, −1 where it is not known. `names` are those of all rows."""
        if names is not self._names:
            self._learn(names)
        if not names:
            return np.full(len(asked), -1, np.intp)
        wanted = hashes(asked.text, asked.begins, asked.ends)
        rows = self._places.take((wanted >> _PLACE).astype(np.intp)).astype(np.intp)
        missed = np.flatnonzero(self._hashes.take(rows) != wanted)
        if missed.size:
            near = np.searchsorted(self._sorted, wanted[missed])
            rows[missed] = self._order.take(near, mode="clip")
            for at in missed[self._hashes[rows[missed]] != wanted[missed]].tolist():
                rows[at] = index.get(asked[at], -1)
        return rows

    def _learn(self, names: tuple[str, ...]) -> None:
        text = "".join(names).encode()
        ends = np.cumsum([len(name.encode()) for name in names], dtype=np.intp)
        self._hashes = hashes(text, np.concatenate([[0], ends[:-1]]).astype(np.intp), ends)
        self._order = np.argsort(self._hashes)
        self._sorted = self._hashes[self._order]
        self._places = np.zeros(1 << PLACES, np.int32)  # a place nobody has leads to row 0, whose hash then differs
        self._places[(self._hashes >> _PLACE).astype(np.intp)] = np.arange(len(names))
        self._names = names
