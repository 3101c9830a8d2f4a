"""Rows on disk, in buckets by app: exact percentiles need all values of a group at once, but never all groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.assessment.windows import Ints, Rows

# 15 million windows (5,000 pods for a week) make buckets of 1 million: 24 MB each.
BUCKETS = 16
ROW = np.dtype(
    [("container", "i4"), ("window", "i4"), ("use", "f4"), ("peak", "f4"), ("seconds", "f4"), ("asked", "f4")]
)


class Spool:
    """Rows of one kind. `bucket` gives the bucket of each container."""

    def __init__(self, folder: Path, kind: str, bucket: Ints) -> None:
        self._paths = [folder / f"{kind}-{number}.rows" for number in range(BUCKETS)]
        self._files: list[IO[bytes]] = [path.open("wb") for path in self._paths]
        self._bucket = bucket

    def add(self, rows: Rows) -> None:
        """Append rows to their buckets."""
        packed = np.empty(len(rows), ROW)
        for name in ROW.names or ():
            packed[name] = getattr(rows, name)
        belongs = self._bucket[rows.container]
        for number, file in enumerate(self._files):
            file.write(packed[belongs == number].tobytes())

    def close(self) -> None:
        """Nothing more comes."""
        for file in self._files:
            file.close()

    def buckets(self) -> Iterator[Rows]:
        """The buckets that hold anything, one after the other."""
        for path in self._paths:
            packed: NDArray[np.void] = np.fromfile(path, ROW)
            if len(packed):
                yield Rows(
                    packed["container"].astype(np.int64),
                    packed["window"].astype(np.int64),
                    *(packed[name].astype(np.float64) for name in ("use", "peak", "seconds", "asked")),
                )
