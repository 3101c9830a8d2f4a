"""Gunicorn's threaded worker with a short way for the scheduler's two verbs.

Between two requests a kept connection goes back to a poller and from there to a pool of threads: three threads need the
interpreter in turn for one answer, and each may have to wait for a watch or a sample that is at work. So a connection
that asks a verb keeps its thread: one wait, one read, one write. Whatever is not plainly such a request goes gunicorn's
own way, byte for byte.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped] # gunicorn has no types

if TYPE_CHECKING:
    from slackwater_extender.http.fastpath import FastPath

PIECE = 256 * 1024  # bytes read at once: 5,000 names and their pod in one go
LONGEST_HEAD = 8 * 1024
LOOK = 1.0  # seconds between two looks whether the worker is to end
BODY_SECONDS = 30.0  # a caller that takes longer to send what it announced is cut off

LINES = {b"POST /filter HTTP/1.1": "/filter", b"POST /prioritize HTTP/1.1": "/prioritize"}
# Headers that change nothing about how the request is read; with any other one gunicorn reads it.
PLAIN = {
    b"host": "HTTP_HOST",
    b"user-agent": "HTTP_USER_AGENT",
    b"accept": "HTTP_ACCEPT",
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"authorization": "HTTP_AUTHORIZATION",
    b"content-type": "CONTENT_TYPE",
    b"content-length": "CONTENT_LENGTH",
    b"connection": "HTTP_CONNECTION",
}


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The first part of a verb's request."""

    path: str
    headers: Mapping[str, str]
    size: int  # bytes up to and with the empty line
    length: int  # bytes of the body


def head(data: bytes) -> RequestHead | None:
    """The head of a plain request for a verb; None where it is anything else."""
    end = data.find(b"\r\n\r\n")
    line, *rest = data[: max(end, 0)].split(b"\r\n")
    path = LINES.get(line)
    if path is None:
        return None
    headers: dict[str, str] = {}
    for each in rest:
        name, _, value = each.partition(b":")
        known = PLAIN.get(name.lower())
        if known is None or known in headers:
            return None
        headers[known] = value.strip(b" \t").decode("latin-1")
    length = headers.get("CONTENT_LENGTH", "")
    if headers.get("HTTP_CONNECTION", "keep-alive").lower() != "keep-alive":
        return None
    return RequestHead(path, headers, end + 4, int(length)) if length.isascii() and length.isdigit() else None


def reply(status: str, body: bytes, *, last: bool = False) -> bytes:
    """A whole answer, to be written at once."""
    date = _date(int(time.time()))
    closing = "Connection: close\r\n" if last else ""
    lines = f"HTTP/1.1 {status}\r\nDate: {date}\r\n{closing}Content-Type: application/json\r\n"
    return f"{lines}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


class Gone(Exception):  # noqa: N818 - what happened, not an error of ours
    """The caller closed the connection, or stayed silent for too long."""


class RequestLine:
    """A blocking connection that wakes every second to see whether it should end."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._secure = isinstance(sock, ssl.SSLSocket)

    def __enter__(self) -> RequestLine:
        self._wait_at_most(LOOK)
        return self

    def __exit__(self, *_: object) -> None:
        self._wait_at_most(None)

    def _wait_at_most(self, seconds: float | None) -> None:
        """On a plain socket the kernel keeps the time: Python's own time-out would cost a second system call."""
        self.sock.settimeout(seconds if self._secure else None)
        if not self._secure:
            limit = struct.pack("ll", int(seconds or 0), 0)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)

    def some(self) -> bytes | None:
        """What came; None if nothing did for a second."""
        try:
            data = self.sock.recv(PIECE)
        except (TimeoutError, BlockingIOError):
            return None
        if not data:
            raise Gone
        return data

    def fill(self, body: memoryview) -> None:
        """Read until it is full, in one system call where that is possible."""
        flags, until = (0 if self._secure else socket.MSG_WAITALL), time.monotonic() + BODY_SECONDS
        while body:
            try:
                count = self.sock.recv_into(body, len(body), flags)
            except (TimeoutError, BlockingIOError):
                count = -1
            if count == 0 or time.monotonic() > until:
                raise Gone
            body = body[max(count, 0) :]


class Worker(ThreadWorker):  # type: ignore[misc] # its base has no types
    """Threads as gunicorn's, of which half at most stay with connections that ask verbs."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._places = threading.BoundedSemaphore(max(1, self.cfg.threads // 2))

    def load_wsgi(self) -> None:
        """Find the verbs behind the application."""
        super().load_wsgi()
        application: Any = self.wsgi  # a Flask application, whose front we put there ourselves
        self._front: FastPath = application.wsgi_app

    def handle(self, conn: Any) -> Any:
        """Answer what a connection asks; called in a thread of the pool."""
        fresh = not conn.initialized or conn.is_http2 or conn.parser.unreader.buf.getbuffer().nbytes
        if fresh or not self._places.acquire(blocking=False):
            return super().handle(conn)
        try:
            with RequestLine(conn.sock) as line:
                unread = self._stay(conn, line)
        except (Gone, OSError):
            return False
        finally:
            self._places.release()
        if not unread:
            return False
        conn.parser.unreader.unread(unread)
        return super().handle(conn)

    def _stay(self, conn: Any, line: RequestLine) -> bytes:
        """Answer verbs until the worker ends or the caller falls silent; bytes that are no verb's are given back."""
        data, until = b"", time.monotonic() + self.cfg.keepalive
        while True:
            found = head(data) if data else None
            if found is not None and found.length <= self._front.limit:
                data = self._answer(conn, line, found, data)
                until = time.monotonic() + self.cfg.keepalive
                if not self.alive:
                    return b""
            elif data and (b"\r\n\r\n" in data or len(data) > LONGEST_HEAD):
                return data
            if not data or b"\r\n\r\n" not in data:
                more = line.some()
                if more is None and (not self.alive or time.monotonic() > until):
                    return data
                data += more or b""

    def _answer(self, conn: Any, line: RequestLine, found: RequestHead, data: bytes) -> bytes:
        """Read the rest of one request, answer it, and return what came behind it."""
        end = found.size + found.length
        with self._front.turns.answering():
            body = data[found.size : end]
            if len(data) < end:
                whole = bytearray(found.length)
                whole[: len(body)] = body
                line.fill(memoryview(whole)[len(body) :])
                body = bytes(whole)
            environ = {**found.headers, "REMOTE_ADDR": conn.client[0], "gunicorn.socket": conn.sock}
            status, answer = self._front.answer(found.path, environ, body)
            line.sock.sendall(reply(status, answer, last=not self.alive))
        return data[end:]
