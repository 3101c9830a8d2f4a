"""Writes rounds as JSON lines: what the gate saw and what it decided, to be decided again elsewhere (`--record`)."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import orjson
import structlog

from slackwater.cycle.audit.recording import record
from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import Snapshot

log = structlog.get_logger(__name__)


class Recorder:
    """A file that grows by one line for each round that decided something else than the one before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._last: Any = None
        self.lines = 0

    def note(self, snapshot: Snapshot, decided: Round) -> None:
        """Write one round. One that decides nothing, as the one before did, says nothing new."""
        line = record(snapshot, decided)
        if line["decision"] == self._last and not line["decision"]["releases"]:
            return
        self._last = line["decision"]
        try:
            self._open().write(orjson.dumps(line) + b"\n")
            self.lines += 1
        except OSError as problem:  # a full disk must not hold up a release
            log.error("not recorded", path=str(self._path), problem=str(problem))  # noqa: TRY400 - its words say it all

    def close(self) -> None:
        """Write what is left."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is None:
            zipped = self._path.suffix == ".gz"
            self._file = cast("BinaryIO", gzip.GzipFile(self._path, "ab")) if zipped else self._path.open("ab")
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
