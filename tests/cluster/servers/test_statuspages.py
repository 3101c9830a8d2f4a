"""Health and metrics are answered however many callers hang, and cost few threads."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any

import pytest

from slackwater_cluster.servers.statuspages import PLACES, StatusServer

CALLERS = 300


def page(environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Says that all is well."""
    del environ
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"well"]


@pytest.fixture
def server() -> Iterator[StatusServer]:
    """On a free port."""
    made = StatusServer("127.0.0.1", 0, page)
    made.start()
    yield made
    made.shutdown()
    made.server_close()


def asked(port: int, source: str = "127.0.0.1") -> bytes:
    """What a probe reads."""
    link = HTTPConnection("127.0.0.1", port, timeout=5, source_address=(source, 0))
    link.request("GET", "/healthz")
    return link.getresponse().read()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
def test_callers_that_never_ask_cost_few_threads_and_silence_nobody(server: StatusServer, sent: bytes) -> None:
    """Each had a thread of its own, for ever: so many that a pod may have no more. A probe comes from elsewhere."""
    before, port = threading.active_count(), server.server_port
    with ExitStack() as stack:
        for _ in range(CALLERS):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)))
            sock.sendall(sent)
        began = time.monotonic()
        assert asked(port) == b"well"
        assert time.monotonic() - began < 3
        assert threading.active_count() - before <= 2 * PLACES


def test_who_takes_too_long_is_cut_off(server: StatusServer) -> None:
    """Also where there are places left."""
    server._limits._head = 0.2
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as sock:
        assert sock.recv(1) == b""


def test_it_listens_on_an_address_of_ipv6() -> None:
    """As the other programs do."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 on this machine")
    made = StatusServer("::1", 0, page)
    made.server_close()
