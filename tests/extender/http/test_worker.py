"""The short way for verbs: one thread stays with the connection, and what is no plain verb goes gunicorn's own way."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from slackwater_extender.cache.lock import PriorityLock
from slackwater_extender.http.keptconnection import RequestHead, head, reply
from support.builders import objects
from support.lab.extenderprocess import cluster, extender, serving, until

QUESTION = orjson.dumps({"Pod": objects.pod("p"), "Nodes": None, "NodeNames": ["n1"]})


def request(body: bytes = QUESTION, *more: str, path: str = "/filter") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\n\r\n{", ("filter", 7), id="a verb"),
        pytest.param(b"POST /prioritize HTTP/1.1\r\ncontent-LENGTH:  7 \r\n\r\n", ("prioritize", 7), id="any case"),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\n", None, id="not whole yet"),
        pytest.param(b"GET /filter HTTP/1.1\r\nContent-Length: 7\r\n\r\n", None, id="other method"),
        pytest.param(b"POST /v1/place HTTP/1.1\r\nContent-Length: 7\r\n\r\n", None, id="other path"),
        pytest.param(b"POST /filter HTTP/1.1\r\n\r\n", None, id="no length"),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: -7\r\n\r\n", None, id="bad length"),
        pytest.param(
            b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\n", None, id="two lengths"
        ),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length : 7\r\n\r\n", None, id="space before the colon"),
        pytest.param(
            b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n", None, id="chunked"
        ),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\nExpect: 100-continue\r\n\r\n", None, id="expects"),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\nConnection: close\r\n\r\n", None, id="closes"),
        pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: 7\r\nX-Forwarded-For: y\r\n\r\n", None, id="forwarded"),
    ],
)
def test_only_plain_verbs_take_the_short_way(data: bytes, found: tuple[str, int] | None) -> None:
    """Whatever may change how a request is read is left to gunicorn."""
    made = head(data)
    assert (made and (made.verb, made.length)) == found
    assert not isinstance(made, RequestHead) or made.size == data.index(b"\r\n\r\n") + 4


def test_a_reply_is_whole() -> None:
    """Status, date, type and length in one piece; the last one says so."""
    said = reply(200, b"{}", last=True)
    assert said.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert b"Connection: close\r\n" in said
    assert said.endswith(b"Content-Length: 2\r\n\r\n{}")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder: Path = tmp_path_factory.mktemp("worker")
    with serving(cluster()) as url, extender(url, folder, "--server.body-limit", "100000") as (_, port):
        with httpx2.Client() as http:
            until(lambda: http.get(f"http://127.0.0.1:{port}/readyz").status_code == 200)
        yield port


class Wire:
    """A raw connection that has asked a verb already, so that a thread stays with it."""

    def __init__(self, port: int, *more: str) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.sock.makefile("rb")
        for _ in range(2):
            self.sock.sendall(request(QUESTION, *more))
            assert self.answer()[0] == 200

    def close(self) -> None:
        """Hang up."""
        self.sock.close()

    def answer(self) -> tuple[int, Any]:
        """One whole reply."""
        status, length = int(self.file.readline().split()[1]), 0
        while line := self.file.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return status, orjson.loads(self.file.read(length))


@pytest.fixture
def wire(port: int) -> Iterator[Wire]:
    made = Wire(port)
    yield made
    made.close()


def test_requests_one_behind_the_other(wire: Wire) -> None:
    """Two in one piece get two answers, in their order."""
    wire.sock.sendall(request() + request(path="/prioritize"))
    assert wire.answer()[1]["NodeNames"] == ["n1"]
    assert wire.answer()[1] == [{"Host": "n1", "Score": 10}]


def test_a_request_in_many_pieces(wire: Wire) -> None:
    """Head and body may come as slowly as they like."""
    whole = request()
    for first in range(0, len(whole), len(whole) // 7):
        wire.sock.sendall(whole[first : first + len(whole) // 7])
        time.sleep(0.02)
    assert wire.answer()[0] == 200


def test_silence_keeps_the_connection(wire: Wire) -> None:
    """A second without a request is no reason to close."""
    time.sleep(1.5)
    wire.sock.sendall(request())
    assert wire.answer()[0] == 200


def test_other_requests_on_the_same_connection(wire: Wire) -> None:
    """A verb, something else, a chunked verb and a verb again."""
    wire.sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert wire.answer()[0] == 200
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(QUESTION), QUESTION)
    wire.sock.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    assert wire.answer()[1]["NodeNames"] == ["n1"]
    wire.sock.sendall(request())
    assert wire.answer()[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [pytest.param(b"{", 400, id="broken"), pytest.param(b" " * 100_001, 413, id="too long")],
)
def test_bad_bodies_are_told(wire: Wire, body: bytes, status: int) -> None:
    """The same answers as on the long way."""
    wire.sock.sendall(request(body))
    assert wire.answer()[0] == status


def test_a_connection_whose_body_was_not_read_is_closed(tmp_path: Path) -> None:
    """Nobody can say who asks while the API server is away: 503, and the rest of the body is no next request."""
    token, large = "Authorization: Bearer good-token", QUESTION + b" " * 50_000
    options = ("--no-callers.loopback", "--callers.remember", "1")
    with ExitStack() as server, ExitStack() as stack:
        _, port = stack.enter_context(extender(server.enter_context(serving(cluster())), tmp_path, *options))
        with httpx2.Client() as http:
            until(lambda: http.get(f"http://127.0.0.1:{port}/readyz").status_code == 200)
        wire = stack.enter_context(closing(Wire(port, token)))
        server.close()
        time.sleep(1.5)
        whole = request(large, token)
        wire.sock.sendall(whole[:4096])
        assert wire.answer()[0] == 503
        with suppress(ConnectionError):
            wire.sock.sendall(whole[4096:])
            assert wire.file.read() == b""


def test_more_connections_than_places(port: int) -> None:
    """Each of many kept connections is served, though threads stay with half as many as there are threads."""
    wires = [Wire(port) for _ in range(20)]
    for each in wires:
        each.sock.sendall(request())
    assert [each.answer()[0] for each in wires] == [200] * 20
    for each in wires:
        each.sock.close()


def test_a_kept_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """SIGTERM ends the process within seconds though a scheduler's connection is open."""
    with serving(cluster()) as url, extender(url, tmp_path) as (child, port), httpx2.Client() as http:
        until(lambda: http.get(f"http://127.0.0.1:{port}/readyz").status_code == 200)
        Wire(port)
        began = time.monotonic()
        child.terminate()
        assert child.wait(20) == 0
        assert time.monotonic() - began < 8


def test_background_work_lets_requests_go_first() -> None:
    """It starts only when the request is answered, but is not starved by one that never ends."""
    order = list[str]()

    def work() -> None:
        with turns.background():
            order.append("work")

    turns = PriorityLock(most=60_000)

    with turns.answering():
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.005)
        order.append("answer")
    thread.join(5)
    assert order == ["answer", "work"]
    turns = PriorityLock(most=3)
    with turns.answering():
        work()
    assert order == ["answer", "work", "work"]
