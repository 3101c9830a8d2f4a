"""Fetches a public trace, checks that it is what it should be, and keeps it compressed."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from slackwater.errors import InvalidInput, Unavailable
from slackwater_simulator.workload.publictraces import PublicTrace

CHUNK = 1 << 16
TIMEOUT = 60.0  # seconds without a byte
MOST = 1 << 30  # bytes that are read of any answer
GZIP = b"\x1f\x8b"


def fetch(trace: PublicTrace, folder: Path, progress: Callable[[float], None] | None = None) -> Path:
    """The trace as a file of the folder; one that is there already and is right is not fetched again."""
    path = folder / trace.file
    if path.exists() and _digest(_unpacked(path.read_bytes())) == trace.sha256:
        return path
    if not trace.url:
        raise Unavailable(
            f"{trace.name} has no address of its own: put it together from {trace.page}, and call it {trace.file}"
        )
    content = _content(trace, _download(trace, progress))
    if (found := _digest(content)) != trace.sha256:
        raise InvalidInput(
            trace.name,
            f"what {trace.url} gave is not the trace (sha256 {found[:16]}…, not {trace.sha256[:16]}…)",
            f"see {trace.page}; nothing was written",
        )
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(gzip.compress(content, mtime=0))
    return part.replace(path)


def _download(trace: PublicTrace, progress: Callable[[float], None] | None) -> bytes:
    asked = Request(trace.url, headers={"User-Agent": "slackwater"})  # noqa: S310 - addresses of our own list
    read = io.BytesIO()
    try:
        with urlopen(asked, timeout=TIMEOUT) as answer:  # noqa: S310 - likewise
            whole = int(answer.headers.get("Content-Length") or trace.size)
            while (chunk := answer.read(CHUNK)) and read.tell() < MOST:
                read.write(chunk)
                if progress is not None:
                    progress(min(1.0, read.tell() / max(1, whole)))
    except HTTPError as problem:
        raise Unavailable(f"{trace.url} answers {problem.code}; see {trace.page}") from problem
    except (URLError, OSError) as problem:
        reason = getattr(problem, "reason", problem)
        raise Unavailable(f"{trace.url} cannot be reached ({reason}); is there a proxy? See {trace.page}") from problem
    if answer.headers.get("Content-Length") and read.tell() != whole:
        raise Unavailable(f"{trace.url} broke off after {read.tell():,} of {whole:,} bytes; fetch it again")
    return read.getvalue()


def _content(trace: PublicTrace, answer: bytes) -> bytes:
    if not trace.folder:
        return _unpacked(answer)
    try:
        return _table(answer, trace.folder)
    except tarfile.TarError as problem:
        raise InvalidInput(trace.name, f"{trace.url} gave no archive", f"see {trace.page}") from problem


def _table(archive: bytes, folder: str) -> bytes:
    """The files of a folder as lines of comma-separated numbers, in the order of their names."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        files = [each for each in opened if each.isfile() and f"/{folder}/" in f"/{each.name}"]
        texts = [opened.extractfile(each) for each in sorted(files, key=lambda each: each.name)]
        lines = [",".join(text.read().decode().split()) for text in texts if text is not None]
    return "".join(f"{line}\n" for line in lines).encode()


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data) if data.startswith(GZIP) else data
    except (OSError, EOFError, zlib.error):
        return b""  # a broken archive is no trace; the checksum says so


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
