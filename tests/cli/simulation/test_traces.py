"""`slackwater traces` against a server on this machine."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.errors import InvalidInput, Unavailable, UnknownName
from slackwater_cli.main import app
from slackwater_simulator.workload.publictraces import TRACES, PublicTrace
from slackwater_simulator.workload.tracefetch import fetch

TEXT = b"job0\t0\t0\t100\t0\t0\n" * 500


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served at."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Nothing on the error stream."""


def trace(url: str, content: bytes = TEXT, **changes: str) -> PublicTrace:
    """A trace of that content at an address."""
    made = replace(TRACES["fb-2009"], url=url, file="small.tsv.gz", sha256=hashlib.sha256(content).hexdigest())
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_trace_is_fetched_checked_and_kept_compressed(site: tuple[Path, str], tmp_path: Path, packed: bool) -> None:
    """The checksum is of the content, whoever compressed it; progress ends at 1."""
    folder, url = site
    (folder / "t").write_bytes(gzip.compress(TEXT) if packed else TEXT)
    shares: list[float] = []
    path = fetch(trace(f"{url}/t"), tmp_path / "here", shares.append)
    assert gzip.decompress(path.read_bytes()) == TEXT
    assert shares[-1] == 1.0
    (folder / "t").unlink()
    assert fetch(trace(f"{url}/t"), tmp_path / "here") == path  # it is there and right: nobody is asked


def test_a_folder_of_an_archive_becomes_a_table(site: tuple[Path, str], tmp_path: Path) -> None:
    """One line for each file, in the order of their names; other folders are left out."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in (("r/day/b", "3\n4\n"), ("r/day/a", "1\n2\n"), ("r/other/c", "9\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    folder, url = site
    (folder / "t").write_bytes(made.getvalue())
    path = fetch(trace(f"{url}/t", b"1,2\n3,4\n", folder="day"), tmp_path)
    assert gzip.decompress(path.read_bytes()) == b"1,2\n3,4\n"


def test_another_content_is_refused_and_not_written(site: tuple[Path, str], tmp_path: Path) -> None:
    """Such as a page that says where the file went."""
    folder, url = site
    (folder / "t").write_bytes(b"<html>moved</html>")
    with pytest.raises(InvalidInput, match="is not the trace"):
        fetch(trace(f"{url}/t"), tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_what_cannot_be_reached_says_where_it_is_described(site: tuple[Path, str], tmp_path: Path) -> None:
    """A missing file, a server that is not there, and a trace without an address."""
    with pytest.raises(Unavailable, match="answers 404; see https://"):
        fetch(trace(f"{site[1]}/absent"), tmp_path)
    with pytest.raises(Unavailable, match="cannot be reached"):
        fetch(trace("http://127.0.0.1:1/t"), tmp_path)
    with pytest.raises(Unavailable, match="put it together from https://"):
        fetch(trace(""), tmp_path)


def test_the_list_has_size_licence_checksum_and_use() -> None:
    """For people in short, for programs in full."""
    shown = CliRunner().invoke(app, ["traces"], catch_exceptions=False).stdout
    assert "fb-2009" in shown
    rows = json.loads(CliRunner().invoke(app, ["traces", "-o", "json"], catch_exceptions=False).stdout)
    assert len(rows) == len(TRACES)
    assert all(len(row["sha256"]) == 64 and row["licence"] and row["page"] and row["use"] for row in rows)


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    """Before anything is asked for."""
    with pytest.raises(UnknownName, match="fb-2009"):
        CliRunner().invoke(app, ["traces", "fetch", "nonesuch"], catch_exceptions=False)


def test_a_fetched_trace_is_named_with_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is there already."""
    monkeypatch.setattr("slackwater_simulator.workload.publictraces.TRACES", {"fb-2009": trace("")})
    (tmp_path / "small.tsv.gz").write_bytes(gzip.compress(TEXT))
    shown = (
        CliRunner().invoke(app, ["traces", "fetch", "fb-2009", "--to", str(tmp_path)], catch_exceptions=False).stdout
    )
    assert "checksum is right" in shown
    assert "try: slackwater simulate" in shown


def test_the_list_may_be_asked_for_by_its_name() -> None:
    """`slackwater traces list` is what people type after `docker image list`; nothing of a licence is cut off."""
    alone, named = (CliRunner().invoke(app, words) for words in (["traces"], ["traces", "list"]))
    assert (alone.exit_code, named.exit_code) == (0, 0)
    assert alone.stdout == named.stdout
    assert "…" not in alone.stdout
