"""Opening trace files, plain or gzipped, and saying exactly where one is broken."""

from __future__ import annotations

import gc
import gzip
import json
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.publictraces import TRACES

GZIP_MAGIC = b"\x1f\x8b"
# What Python raises where gzipped data is cut or changed.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
ADDRESS = re.compile(r"[a-z][a-z0-9]+:/")  # a path has lost one of its slashes
# What may be a generator, too.
GENERATED, GENERATORS = ("workload", "series"), ", or gen:NAME for a generator"
# How many broken places are quoted in the notes of a workload; the rest is only counted.
QUOTED = 5
SKIPPED = "skipped "  # how such a note begins


@dataclass(slots=True)
class Faults:
    """Decides what a broken line means: an error that names it, or one more skip."""

    path: Path
    skip: bool = False
    unit: str = "line"
    skipped: int = 0
    quoted: list[str] = field(default_factory=list)

    def bad(self, line: int, problem: str, expected: str) -> None:
        """Refuse the line, or count it when skipping was asked for."""
        error = InvalidInput(f"{self.path.name}, {self.unit} {line}", problem, f"expected {expected}")
        if not self.skip:
            raise error
        self.skipped += 1
        if len(self.quoted) < QUOTED:
            self.quoted.append(f"{SKIPPED}{error}")


def load_bytes(path: Path, what: str = "workload") -> bytes:
    """The whole content of a file, unzipped if it was gzipped (told by its first bytes, not by its name).

    `what` is what the command calls it.
    """
    with _unzipped(path, what) as file:
        return file.read().removeprefix(BOM_UTF8)


def load_head(path: Path, most: int, what: str = "workload") -> bytes:
    """The first `most` bytes of the content of a file, which tell its format; a pipe would be without them then."""
    if path.is_fifo():
        raise InvalidInput(what, f"{str(path)!r} can be read only once", "write it into a file first")
    with _unzipped(path, what) as file:
        return file.read(most)


@contextmanager
def _unzipped(path: Path, what: str) -> Iterator[IO[bytes]]:
    """The file open for reading; what goes wrong with it, also while it is read, is told in a sentence."""
    try:
        with path.open("rb") as file:
            zipped = file.peek(2).startswith(GZIP_MAGIC)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
    except DAMAGED as error:
        raise InvalidInput(path.name, f"the gzip data is damaged ({error})", "fetch the file again") from error
    except OSError as error:
        raise InvalidInput(what, *_unread(path, error, what)) from error


def _unread(path: Path, error: OSError, what: str) -> tuple[str, str]:
    """What is wrong with a path, and what to do."""
    if ADDRESS.match(str(path)):
        return f"{str(path)!r} is an address, and no file", "download it first (curl -LO ADDRESS)"
    problem = f"{str(path)!r} cannot be read ({error.strerror or error})"
    public = next((trace.name for trace in TRACES.values() if trace.file == path.name), None)
    if public is not None and isinstance(error, FileNotFoundError):
        return problem, f"this public trace comes by: slackwater traces fetch {public}"
    return problem, f"give the path of a trace file{GENERATORS if what in GENERATED else ''}"


def load_text(path: Path, what: str = "workload") -> str:
    """The content as text, without a byte order mark, which spreadsheets put first.

    Bytes that are not UTF-8 become replacement marks, so that the line check can name them.
    """
    return load_bytes(path, what).decode("utf-8-sig", errors="replace")


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the cycle collector while millions of small objects are made that have no cycles: half the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Every line that is not blank, with its number from 1."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r")


def concatenated(text: str, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSON objects one after another (Rumen, SLS), or in one list, each with its first line.

    After a broken object the next one is found by its brace at the margin of the first.
    """
    decoder = json.JSONDecoder()
    margin = _margin(text)
    listed = text.lstrip().startswith("[")
    at, line = 0, 1
    while (start := _next_value(text, at, listed)) is not None:
        line += text.count("\n", at, start)
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            faults.bad(error.lineno, f"{error.msg} at column {error.colno}", "a complete JSON object")
            end = _resume(text, start, margin)
        except (ValueError, RecursionError) as error:  # an integer of thousands of digits, brackets without end
            faults.bad(line, f"an object that cannot be read ({error})", "a complete JSON object")
            end = _resume(text, start, margin)
        else:
            if isinstance(value, dict):
                yield line, value
            else:
                faults.bad(line, f"a JSON {type(value).__name__}", "JSON objects one after another")
        line += text.count("\n", start, end)
        at = end
    if listed and not text.rstrip().endswith("]"):
        faults.bad(line, "a list without its end", "a closing bracket; fetch the file again")


def _next_value(text: str, at: int, listed: bool) -> int | None:
    match = re.compile(r"[^\s,\[\]]" if listed else r"[^\s,]").search(text, at)
    return match.start() if match else None


def _margin(text: str) -> int:
    brace = text.find("{")
    return brace - (text.rfind("\n", 0, brace) + 1) if brace >= 0 else 0


def _resume(text: str, start: int, margin: int) -> int:
    """Where the object after a broken one begins: a line whose brace stands no deeper than the first of the file."""
    match = re.compile(rf"\n[ \t]{{0,{margin}}}(?=\{{)").search(text, start + 1)
    return match.end() if match else len(text)
