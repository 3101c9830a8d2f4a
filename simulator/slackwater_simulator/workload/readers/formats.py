"""Which reader a file needs, told by its content: nobody has to name the format."""

from __future__ import annotations

import importlib
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.check import distinct
from slackwater_simulator.workload.readers.source import load_head, load_text
from slackwater_simulator.workload.workload import Workload

# Enough to see the first object's fields in nearly every file.
SNIFF = 65536
KNOWN = "a SWIM, SWF, Rumen, SLS or SYNTH trace, or one of our own (JSON Lines or Parquet)"
# Fields that only one of the JSON formats has; the first match wins.
MARKS: Mapping[str, str] = {
    '"slackwater-trace"': "jsonl",
    '"job.tasks"': "sls",
    '"job_classes"': "sls",
    '"mapTasks"': "rumen",
}


# Our own trace, by the ending of its name. JSON Lines needs nothing but the base; Parquet is smaller and read faster.
OURS: Mapping[str, str] = {".jsonl.gz": "jsonl", ".jsonl": "jsonl", ".parquet": "parquet"}


class Writer(Protocol):
    """What the modules of our own formats offer beside reading."""

    def write(self, workload: Workload, path: Path) -> None:
        """Write the whole workload."""
        ...


class Reader(Protocol):
    """What every reader module offers."""

    def read(self, path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:
        """Read the whole file."""
        ...


def open_workload(path: str | Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:
    """Read a workload in whatever known format it is. `seed` feeds the models for what the trace lacks."""
    path = Path(path)
    return distinct(reader(detect(path)).read(path, seed=seed, skip_bad=skip_bad))


def reader(name: str) -> Reader:
    """The reader of that name, imported only now: Parquet needs a library that JSON Lines does not."""
    return cast("Reader", _module(name))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"slackwater_simulator.workload.readers.{name}")


def stem(path: Path) -> str:
    """The name of a trace without its ending."""
    return path.name.removesuffix(_ending(path) or path.suffix)


def writer(path: Path) -> Writer:
    """What writes a workload in our own format, told by the ending of the name."""
    found = _ending(path)
    if found is None:
        raise InvalidInput("FILE", f"{path.name} ends in none of {', '.join(OURS)}", "write for example week.jsonl.gz")
    return cast("Writer", _module(OURS[found]))


def _ending(path: Path) -> str | None:
    return next((each for each in OURS if path.name.endswith(each)), None)


def detect(path: Path) -> str:
    """The name of the reader for a file."""
    head = load_head(path, SNIFF)
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.removeprefix(BOM_UTF8).decode("utf-8", errors="replace").lstrip()
    if text.startswith(("{", "[")):
        # A job's settings may stand before everything that tells the format.
        name = _json_format(text) or (_json_format(load_text(path)) if len(head) == SNIFF else None)
    else:
        name = _line_format(text)
    if name is None:
        raise InvalidInput(path.name, _looks_like(text), f"give {KNOWN}")
    return name


def _json_format(text: str) -> str | None:
    return next((name for mark, name in MARKS.items() if mark in text), None)


def _line_format(text: str) -> str | None:
    """SWIM has 6 tab-separated fields; SWF has 18 numbers after comments that begin with a semicolon."""
    if text.startswith(";"):
        return "swf"
    for line in text.splitlines()[:20]:
        if len(line.split("\t")) == 6:
            return "swim"
        if len(line.split()) == 18:
            return "swf"
    return None


def _looks_like(text: str) -> str:
    if not text:
        return "the file is empty"
    if '"rack"' in text or '"children"' in text:
        return "this describes machines, not jobs"
    return f"it begins with {text[:40]!r}, which no known format does"
