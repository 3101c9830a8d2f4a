"""Programs of other projects, built from the Go module proxy into the lab's cache.

Each is built as a main module, from a copy of its source, so that the replacements in its own go.mod hold. What had to
be changed for that is data: lines of go.mod, and at most a line of source.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import Report, cache, go, locked

QUIET = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=mod"}


@dataclass(frozen=True, slots=True)
class GoSource:
    """A program of another project: its module and version, its main package, and what is changed before building."""

    name: str
    module: str
    version: str
    package: str
    replaces: tuple[str, ...] = ()  # for `go mod edit -replace`
    copies: tuple[str, ...] = ()  # modules (with version) that are built from a copy below `_copies`, to be edited too
    edits: tuple[tuple[str, str, str], ...] = ()  # file, text, text instead

    @property
    def binary(self) -> Path:
        """Where the built program is, or will be."""
        return cache() / "bin" / f"{self.name}-{self.version}"


def path_of(source: GoSource) -> str:
    """The built program, or an error that says how to get it."""
    if not source.binary.exists():
        raise Unavailable(f"{source.name} {source.version} is not built; `python -m slackwater_lab league` builds it")
    return str(source.binary)


def folder(source: GoSource) -> Path:
    """The module as it was published: custom resources and manifests are read there."""
    return _published(f"{source.module}@{source.version}")


def _published(module: str) -> Path:
    with tempfile.TemporaryDirectory() as empty:  # inside another module its replacements would answer
        said = run([go(), "mod", "download", "-json", module], Path(empty))
    return Path(json.loads(said)["Dir"])


def _copy(published: Path, target: Path) -> None:
    """Modules are read-only, copies are not."""
    shutil.copytree(published, target, copy_function=shutil.copyfile)
    for each in (target, *target.rglob("*")):
        if each.is_dir():
            each.chmod(0o755)


def build(sources: Iterable[GoSource], report: Report) -> None:
    """Build what is missing, one after the other, as the least urgent thing on this machine."""
    wanted = [source for source in sources if not source.binary.exists()]
    if not wanted:
        return
    with locked(cache() / "building"):
        for source in wanted:
            if not source.binary.exists():  # asked again: another builder may have made it
                report(f"building {source.name} {source.version} (minutes, once per machine)")
                _build(source)


def _build(source: GoSource) -> None:
    copy = cache() / "src" / f"{source.name}-{source.version}"
    shutil.rmtree(copy, ignore_errors=True)
    _copy(folder(source), copy)
    replaces = list(source.replaces)
    for module in source.copies:
        name = module.partition("@")[0]
        _copy(_published(module), copy / "_copies" / Path(name).name)
        replaces.append(f"{name}=./_copies/{Path(name).name}")
    if replaces:
        run([go(), "mod", "edit", *(f"-replace={line}" for line in replaces)], copy)
    for name, old, new in source.edits:
        edit(copy / name, old, new)
    part = source.binary.with_name(f".{source.binary.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-p", "1", "-trimpath", "-ldflags", "-s -w"]
    try:
        run(["nice", "-n", "15", go(), "build", *flags, "-o", str(part), source.package], copy, QUIET)
    except Unavailable as error:
        raise Unavailable(f"{source.name} {source.version} did not build: {error}") from error
    part.rename(source.binary)
    shutil.rmtree(copy)


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that must be there exactly once."""
    text = file.read_text()
    if text.count(old) != 1:
        raise Unavailable(f"{file.name} has {text.count(old)} times {old!r}, and not once: another version?")
    file.write_text(text.replace(old, new))
