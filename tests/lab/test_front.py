"""One address before several servers: who gets a new connection, and who keeps an old one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from slackwater_lab.controlplane.front import Front
from support.lab.testnamespace import until


class Server:
    """Says its name; it is ready as long as it is told to be."""

    def __init__(self, name: str) -> None:
        self.name, self.ready = name, True
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """Its name, or whether it is ready."""
                well = server.ready or self.path != "/readyz"
                self.send_response(200 if well else 503)
                self.send_header("Content-Length", str(len(server.name)))
                self.end_headers()
                self.wfile.write(server.name.encode())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.http.server_address[1])

    def end(self) -> None:
        """It listens no more."""
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    """Two of them."""
    made = [Server("one"), Server("two")]
    yield made
    for each in made:
        each.end()


@pytest.fixture
def front(servers: list[Server]) -> Iterator[Front]:
    """The address before them."""
    with Front({each.name: each.port for each in servers}) as made:
        yield made


def _asked(front: Front, times: int = 12) -> set[str]:
    """Who answers new connections."""
    with httpx2.Client(base_url=front.url, timeout=5, headers={"Connection": "close"}) as client:
        return {client.get("/").text for _ in range(times)}


def test_new_connections_go_to_all_that_are_ready(front: Front) -> None:
    """One of two at random: in 24 connections both are met."""
    assert _asked(front, 24) == {"one", "two"}


def test_who_is_not_ready_gets_no_new_connection(front: Front, servers: list[Server]) -> None:
    """Until it is ready again."""
    servers[0].ready = False
    until("it is noticed", lambda: front.ready == ("two",), 10, 0.05)
    assert _asked(front) == {"two"}
    servers[0].ready = True
    until("it is noticed", lambda: front.ready == ("one", "two"), 10, 0.05)


def test_who_leaves_keeps_the_connections_it_has(front: Front) -> None:
    """As a pod that is being deleted: requests on kept connections are still its own."""
    with httpx2.Client(base_url=front.url, timeout=5) as kept:
        name = kept.get("/").text
        front.leave(name)
        assert kept.get("/").text == name
        assert _asked(front) == {"one", "two"} - {name}
        front.join(name)
        until("it is back", lambda: name in front.ready, 10, 0.05)


def test_without_a_ready_server_connections_are_refused(front: Front) -> None:
    """At once, so that a client tries again."""
    front.leave("one")
    front.leave("two")
    with pytest.raises(httpx2.HTTPError):
        httpx2.get(front.url, timeout=5)
