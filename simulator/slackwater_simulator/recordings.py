"""Rounds that a live operator recorded, decided again by the gate that the simulator runs."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from slackwater.cycle.audit.recording import decision, differences, recorded
from slackwater.cycle.cycle import decide
from slackwater.errors import InvalidInput
from slackwater.validation import fault
from slackwater_simulator.workload.readers import source

REMEDY = "give a file that the operator wrote with --record"
ZIPPED: Mapping[bytes, Callable[[IO[bytes]], Iterable[bytes]]] = {
    source.GZIP_MAGIC: gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
}
DAMAGED = (*source.DAMAGED, lzma.LZMAError)


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
        except (ValueError, RecursionError) as problem:
            raise InvalidInput(f"{path}, line {number}", f"it is no JSON ({fault(problem)})", REMEDY) from problem
        try:
            snapshot, then = recorded(line)
        except InvalidInput as problem:
            raise InvalidInput(f"{path}, line {number}", problem.problem, REMEDY) from problem
        now = decision(decide(snapshot))
        held = sum(len(group.held) for app in snapshot.apps for group in app.groups)
        yield Replayed(snapshot.now, len(now["releases"]), held, differences(then, now))


def _lines(path: Path) -> Iterable[bytes]:
    """Told by the first bytes, not by the name, whether they are compressed."""
    try:
        with path.open("rb") as file:
            begin = file.peek(max(map(len, ZIPPED)))
            unzip = next((each for magic, each in ZIPPED.items() if begin.startswith(magic)), None)
            yield from unzip(file) if unzip is not None else file
    except DAMAGED as problem:
        damage = f"the compressed data is damaged ({problem})"
        raise InvalidInput(str(path), damage, "fetch the file again") from problem
    except OSError as problem:
        unread = f"{str(path)!r} cannot be read ({problem.strerror or problem})"
        raise InvalidInput("recording", unread, REMEDY) from problem
