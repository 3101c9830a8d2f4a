"""Whether a node's samples are recent enough to overcommit on.

Samples carry their own timestamps (the source's clock), which give the time between samples; whether they still come
is judged by our monotonic clock. Stale = no new timestamp for `patience` periods, where
period = max(heartbeat, median of the last gaps between timestamps): a source that scrapes every 30 s is not stale
because we ask every 5 s. A gap longer than any source leaves between two scrapes is an outage, and tells nothing.

Each kind is judged by itself: where memory cannot be read, only its room falls back to reservations, and new timestamps
that bring no number of it do not keep it fresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.podmatrix import grown
from slackwater.validation import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HEARTBEAT = 5.0  # seconds between two rounds of samples
PATIENCE = 3.0  # periods without a new timestamp until a node is stale
LONGEST = 300.0  # seconds between two scrapes: Prometheus forgets a series that was not seen for as long
GAPS = 7  # how many gaps are remembered; odd, so that the median is one of them


class Staleness:
    """Timestamps, a row per node, and arrivals, by kind. `measured` tells for each kind whether it ever is."""

    def __init__(
        self,
        heartbeat: float = HEARTBEAT,
        patience: float = PATIENCE,
        *,
        learns: bool = True,
        measured: Sequence[bool] = (True,),
    ) -> None:
        self.heartbeat = positive("heartbeat", heartbeat)
        self._learns = learns
        self.patience = positive("patience", patience)
        self._rows = 0
        # Columns: stamp of the newest sample, period, then the gaps. −inf: never.
        self._table: Floats = np.zeros((64, 2 + GAPS))
        # Our clock when a number of that kind came. Kinds that are never measured never grow stale.
        self._never: Floats = np.where(measured, -np.inf, np.inf)
        self._arrivals: Floats = np.zeros((64, len(measured)))
        # The last answer, and from when until when it holds: rows turn stale by the clock, asked about often.
        self._answer: NDArray[np.bool_] = np.zeros((0, len(measured)), np.bool_)
        self._since, self._until = np.inf, -np.inf

    @property
    def stamps(self) -> Floats:
        """The newest sample's own timestamp per row, −inf before the first."""
        return self._table[: self._rows, 0]

    @property
    def arrivals(self) -> Floats:
        """Our clock when a number of each kind came last, per row."""
        return self._arrivals[: self._rows]

    @property
    def periods(self) -> Floats:
        """max(heartbeat, median gap) per row."""
        return self._table[: self._rows, 1]

    def add_row(self) -> None:
        """Enter a node that has no sample yet."""
        self._forget()
        self._rows += 1
        self._table = grown(self._table, 0, self._rows)
        self._table[self._rows - 1] = [-np.inf, self.heartbeat, *[np.nan] * GAPS]
        self._arrivals = grown(self._arrivals, 0, self._rows)
        self._arrivals[self._rows - 1] = self._never

    def drop_row(self, row: int) -> None:
        """Forget a node; later rows move up by one."""
        self._forget()
        for array in (self._table, self._arrivals):
            array[row : self._rows - 1] = array[row + 1 : self._rows].copy()
        self._rows -= 1

    def record(
        self, rows: NDArray[np.intp], stamps: Floats, now: float, came: NDArray[np.bool_] | None = None
    ) -> Floats:
        """Note samples; return the seconds since each row's last one: 0 for a first, NaN for one that is not newer.

        `came` says which kinds they have a number of, row × kind; all by default.
        """
        self._forget()
        last = self.stamps[rows]
        if rows.size == self._rows and (stamps > last).all() and np.isfinite(last).all() and np.isfinite(stamps).all():
            gaps = stamps - last  # the common case: every node has a new sample, and not its first
            self._learn(rows, gaps)
            self._table[rows, 0] = stamps
            self._arrive(rows, now, came)
            return gaps
        newer = np.isfinite(stamps) & (stamps > last)
        first = newer & np.isneginf(last)
        gaps = np.where(newer & ~first, stamps - np.where(np.isfinite(last), last, 0.0), np.nan)
        self._learn(rows[newer & ~first], gaps[newer & ~first])
        self._table[rows[newer], 0] = stamps[newer]
        self._arrive(rows[newer], now, None if came is None else came[newer])
        return np.where(first, 0.0, gaps)

    def record_all(self, now: float) -> Floats:
        """The same for a shell that samples every row at `now`. One number where all have waited equally long."""
        gaps = now - self.stamps
        least, most = gaps.min(initial=np.inf), gaps.max(initial=-np.inf)
        if not 0 < least <= most < np.inf:
            return self.record(np.arange(self._rows), np.full(self._rows, now), now)
        self._forget()
        self._learn(slice(self._rows), gaps)
        self._table[: self._rows, 0] = now
        self._arrive(slice(self._rows), now, None)
        return gaps[:1] if least == most else gaps

    def stale(self, now: float) -> NDArray[np.bool_]:
        """Of which kinds rows have had no new sample for too long, row × kind. A node never sampled is stale."""
        if not self._since <= now < self._until:
            left = self.patience * self.periods[:, None] - (now - self.arrivals)
            self._answer = left < 0
            self._answer.setflags(write=False)
            self._since, self._until = now, now + left[~self._answer].min(initial=np.inf)
        return self._answer

    def _arrive(self, rows: NDArray[np.intp] | slice, now: float, came: NDArray[np.bool_] | None) -> None:
        self._arrivals[rows] = np.maximum(
            self._never, now if came is None else np.where(came, now, self._arrivals[rows])
        )

    def _forget(self) -> None:
        self._since, self._until = np.inf, -np.inf

    def _learn(self, rows: NDArray[np.intp] | slice, gaps: Floats) -> None:
        if not self._learns:
            return
        if gaps.max(initial=0.0) > LONGEST:
            scraped = gaps <= LONGEST
            rows, gaps = np.arange(self._rows)[rows][scraped], gaps[scraped]
        if not gaps.size:
            return
        kept = np.concatenate([gaps[:, None], self._table[rows, 2:-1]], axis=1)
        self._table[rows, 2:] = kept
        # Where no gap is longer than the heartbeat, no median is: sorting them is the dearest part of a sample.
        punctual = np.fmax.reduce(kept, axis=None) <= self.heartbeat
        self._table[rows, 1] = self.heartbeat if punctual else np.maximum(self.heartbeat, _medians(kept))


def _medians(gaps: Floats) -> Floats:
    """Median of the known gaps of each row (the lower of two middle ones); sorting puts the unknown last."""
    count = np.isfinite(gaps).sum(axis=1)
    middle = np.maximum(count - 1, 0) // 2
    medians: Floats = np.sort(gaps, axis=1)[np.arange(len(gaps)), middle]
    return medians
