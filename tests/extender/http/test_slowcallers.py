"""Callers without credentials that are slow, many or both: others are answered all the same."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import psutil
import pytest

from slackwater_extender.auth import LongPolls
from support.lab.extenderprocess import cluster, extender, serving, until

THREADS = 16


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Port and process of an extender that believes nobody by address."""
    folder: Path = tmp_path_factory.mktemp("slow")
    with serving(cluster()) as url, extender(url, folder, "--no-callers.loopback") as (child, port):
        until(lambda: alive(port))
        yield port, child.pid


def alive(port: int) -> bool:
    """Whether /healthz answers within three seconds."""
    with httpx2.Client(timeout=3) as http:
        return http.get(f"http://127.0.0.1:{port}/healthz").status_code == 200


def connect(port: int, data: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=20)
    sock.sendall(data)
    return sock


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"GET /healthz HTT", id="half a request line"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTT", id="half a second request"),
        pytest.param(b"POST /v1/place HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", id="half a body"),
    ],
)
def test_requests_that_stop_midway_silence_nobody(server: tuple[int, int], start: bytes) -> None:
    """More of them than there are threads, and /healthz answers at once."""
    port, _ = server
    with ExitStack() as stack:
        for _ in range(3 * THREADS):
            stack.enter_context(connect(port, start))
        time.sleep(0.5)
        assert all(alive(port) for _ in range(3))


def test_waiting_for_news_needs_a_caller_that_proves_itself(server: tuple[int, int]) -> None:
    """A stranger's long poll is refused at once; without a wait anybody may look."""
    port, _ = server
    with httpx2.Client(timeout=3) as http:
        assert http.get(f"http://127.0.0.1:{port}/v1/wakeups?wait=10&after=9").status_code == 401
        assert http.get(f"http://127.0.0.1:{port}/v1/wakeups").status_code == 200


def test_many_long_polls_of_one_caller_do_not_hold_all_threads(server: tuple[int, int]) -> None:
    """Two of them wait; the others are told what there is now."""
    port, _ = server

    line = b"GET /v1/wakeups?wait=8&after=999 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good-token\r\n\r\n"
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port, line)) for _ in range(THREADS)]
        assert alive(port)
        time.sleep(4)
        told, _, _ = select.select(socks, [], [], 0)
        assert len(told) == THREADS - 2
        assert all(sock.recv(64).startswith(b"HTTP/1.1 200") for sock in told)


@pytest.mark.parametrize("path", ["/filter", "/v1/place"])
def test_the_body_of_a_stranger_is_not_read(server: tuple[int, int], path: str) -> None:
    """It is refused by the head of its request; what it goes on to send is not kept."""
    port, pid = server
    before = memory(pid)
    with ExitStack() as stack:
        head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), 100 * 2**20)
        socks = [stack.enter_context(connect(port, head)) for _ in range(4)]
        for sock in socks:
            assert sock.recv(64).startswith(b"HTTP/1.1 401")
            send(sock, 40 * 2**20)
        assert memory(pid) - before < 20 * 2**20
        assert alive(port)


def send(sock: socket.socket, size: int) -> None:
    """As much as the other side takes."""
    try:
        for _ in range(size // 2**16):
            sock.sendall(b"x" * 2**16)
    except OSError:
        return


def memory(pid: int) -> int:
    """Bytes of the worker process."""
    return max(each.memory_info().rss for each in psutil.Process(pid).children(recursive=True))


def test_long_polls_are_bounded_for_each_caller_and_for_all() -> None:
    """Two each, three in all; whoever is done makes room."""
    polls = LongPolls(most=3)
    with ExitStack() as stack:
        may = [stack.enter_context(polls.hold(caller)) for caller in ("a", "a", "a", "b", "b")]
        assert may == [True, True, False, True, False]
    with polls.hold("a") as again:
        assert again
