"""A kept connection on which the scheduler asks: its plain requests read, and answers written, in one piece each.

Only what is plainly a request for a verb is read here; with anything unusual in it gunicorn reads it.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

PIECE = 256 * 1024  # bytes read at once: 5,000 names and their pod in one go
LONGEST_HEAD = 8 * 1024
LOOK = 1.0  # seconds between two looks whether the worker is to end
BODY_SECONDS = 30.0  # a caller that takes longer to send what it announced is cut off

LINES = {b"POST /filter HTTP/1.1": "filter", b"POST /prioritize HTTP/1.1": "prioritize"}
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

    verb: str
    headers: Mapping[str, str]
    size: int  # bytes up to and with the empty line
    length: int  # bytes of the body


def head(data: bytes) -> RequestHead | None:
    """The head of a plain request for a verb; None where it is anything else."""
    end = data.find(b"\r\n\r\n")
    line, *rest = data[: max(end, 0)].split(b"\r\n")
    verb = LINES.get(line)
    if verb is None:
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
    return RequestHead(verb, headers, end + 4, int(length)) if length.isascii() and length.isdigit() else None


def reply(status: int, body: bytes, *, last: bool = False) -> bytes:
    """A whole answer, to be written at once."""
    date = _date(int(time.time()))
    closing = "Connection: close\r\n" if last else ""
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nDate: {date}\r\n{closing}Content-Type: application/json\r\n"
    )
    return f"{lines}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


class CallerGone(Exception):  # noqa: N818 - what happened, not an error of ours
    """The caller closed the connection, or stayed silent for too long."""


class KeptSocket:
    """A blocking connection that wakes every second to see whether it should end."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._secure = isinstance(sock, ssl.SSLSocket)

    def __enter__(self) -> KeptSocket:
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
            raise CallerGone
        return data

    def filled(self, begun: bytes, length: int) -> bytes:
        """The whole of a body of which some came with its head."""
        whole = bytearray(length)
        whole[: len(begun)] = begun
        self._fill(memoryview(whole)[len(begun) :])
        return bytes(whole)

    def _fill(self, body: memoryview) -> None:
        """Read until it is full, in one system call where that is possible."""
        flags, until = (0 if self._secure else socket.MSG_WAITALL), time.monotonic() + BODY_SECONDS
        while body:
            try:
                count = self.sock.recv_into(body, len(body), flags)
            except (TimeoutError, BlockingIOError):
                count = -1
            if count == 0 or time.monotonic() > until:
                raise CallerGone
            body = body[max(count, 0) :]
