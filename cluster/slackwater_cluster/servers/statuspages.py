"""What a program says of itself, health and metrics, in a few threads of its own: its loop answers nobody.

Whoever reaches such a port needs no credentials. So callers that are slow or many get few threads, each for a few
seconds, and the oldest of the address that has most of them makes room (`slowclients`).
"""

from __future__ import annotations

import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from slackwater_cluster.servers.slowclients import ConnectionLimits

PLACES = 16  # connections at once
SECONDS = 10.0  # for a whole request and its answer


class _Handler(WSGIRequestHandler):
    """Says nothing about who asked."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Nothing."""


class StatusServer(ThreadingMixIn, WSGIServer):
    """A WSGI application on a port of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, application: Any) -> None:
        self._limits = ConnectionLimits(PLACES, SECONDS, SECONDS)
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = family
        super().__init__((str(address[0]), port), _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        """Without the look-up of a name for its address, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "", self.server_address[1]
        self.setup_environ()

    def start(self) -> None:
        """Answer from now on, until the process ends."""
        threading.Thread(target=self.serve_forever, name=f"status {self.server_port}", daemon=True).start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One connection, in its thread."""
        with self._limits.hold(request, str(client_address[0])):
            super().process_request_thread(request, client_address)

    def service_actions(self) -> None:
        """Called twice a second."""
        self._limits.expire()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was cut off, or went: nobody need be told."""
