"""Rounds that a live operator recorded, decided again by the gate that the simulator runs."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slackwater.cycle.audit.recording import decision, differences, recorded
from slackwater.cycle.cycle import decide
from slackwater.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Replayed:
    """One round: when it was, how much it decided, and where the two decisions differ."""

    now: float
    releases: int
    held: int
    differences: tuple[str, ...]


def replay(path: Path) -> Iterator[Replayed]:
    """Decide every recorded round again; what differs is named."""
    for number, text in enumerate(_lines(path), start=1):
        try:
            line = json.loads(text)
        except ValueError as problem:
            raise InvalidInput(f"{path}:{number}", str(problem), "give a file written by --record") from problem
        snapshot, then = recorded(line)
        now = decision(decide(snapshot))
        held = sum(len(group.held) for app in snapshot.apps for group in app.groups)
        yield Replayed(snapshot.now, len(now["releases"]), held, differences(then, now))


def _lines(path: Path) -> Iterable[bytes]:
    if not path.is_file():
        raise InvalidInput("recording", f"there is no file {path}", "give a file written by --record")
    zipped = {".gz": gzip, ".xz": lzma}.get(path.suffix)
    try:
        with path.open("rb") if zipped is None else zipped.open(path) as book:
            yield from book
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        raise InvalidInput(str(path), f"it cannot be read ({problem})", "give a file written by --record") from problem
