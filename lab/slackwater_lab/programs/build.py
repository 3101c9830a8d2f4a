"""Builds the programs once per machine and version; every clone of the project shares the result."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes.command import run
from slackwater_lab.programs import versions
from slackwater_lab.programs.programs import MODULES, Program, program

Report = Callable[[str], None]


def cache() -> Path:
    """Where built programs are kept: outside the project, so that a fresh clone need not build again."""
    return Path(os.environ.get("SLACKWATER_LAB_CACHE") or Path.home() / ".cache" / "slackwater-lab")


def binary(item: Program) -> Path:
    """The file a program is built to, whether or not it is there."""
    return cache() / "bin" / f"{item.name}-{item.version}"


def missing(names: Iterable[str]) -> list[Program]:
    """Those of the named programs that have still to be built."""
    return [item for item in map(program, names) if not binary(item).exists()]


def built(name: str) -> str:
    """The path of a built program, or an error that says how to get it."""
    path = binary(program(name))
    if not path.exists():
        raise Unavailable(f"{name} is not built; run: python -m slackwater_lab build {name}")
    return str(path)


def installed(name: str, package: str) -> str:
    """The path of a program that the distribution provides, or an error that names its package."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if path is None:
        raise Unavailable(f"{name} is not installed; it comes with the Debian package {package}")
    return path


def build(names: Iterable[str], report: Report) -> None:
    """Build what is missing, one program after the other; two builders wait for each other."""
    if not missing(names := list(names)):
        return
    (cache() / "bin").mkdir(parents=True, exist_ok=True)
    with locked(cache() / "building"):
        for item in missing(names):  # asked again: the other builder may have made some
            report(f"building {item.name} {item.version} (minutes, once per machine)")
            _build(item)


def _build(item: Program) -> None:
    target = binary(item)
    part = target.with_name(f".{target.name}.part")
    command = ["nice", "-n", "5", go(), "build", "-p", str(os.cpu_count() or 2), "-trimpath", "-buildvcs=false"]
    command += ["-ldflags", item.linker_flags(), "-o", str(part)]
    try:
        if item.other_version:
            folder = versions.module(cache() / "modules" / item.version, item.version, go())
            run([*command, "-mod=mod", item.package], folder, {"CGO_ENABLED": "0"})
        else:
            run([*command, item.package], MODULES / item.folder, {"CGO_ENABLED": "0"})
    except Unavailable as error:
        raise Unavailable(f"{item.name} {item.version} did not build: {error}") from error
    part.rename(target)  # a build that is cut off never leaves a half-written program behind


def go() -> str:
    """The path of Go, or an error that says which one is needed."""
    path = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/go/bin")
    if path is None:
        raise Unavailable("Go is not installed; the lab builds its programs with Go 1.26 or newer")
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file so that only one lab of this machine does the thing at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
