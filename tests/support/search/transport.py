"""The extender's own web application without a network: one for all worlds, over whichever extender is asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlencode

import orjson
from flask import Flask

from slackwater.errors import Unavailable
from slackwater_extender.components import Components
from slackwater_extender.http.app import create


class _Asked:
    """Stands for the parts of the extender that is asked now: making an application anew costs more than a world."""

    parts: Components

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parts, name)


_asked = _Asked()


@cache
def _application() -> Flask:
    return create(cast("Components", _asked))


def ask(parts: Components, path: str) -> dict[str, Any]:
    """One question without a body."""
    return cast("dict[str, Any]", orjson.loads(send(parts, "GET", path, b"", {})))


def send(parts: Components, method: str, path: str, data: bytes, params: Mapping[str, str]) -> bytes:
    """One request of the operator; anything but 200 is what the operator's client makes of it."""
    _asked.parts = parts
    status: list[str] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": urlencode(params),
        "SCRIPT_NAME": "",
        "SERVER_NAME": "extender",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(data)),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(data),
    }
    pieces = _application().wsgi_app(environ, lambda said, *_: status.append(said))  # type: ignore[arg-type]  # its write function is not used
    answer = b"".join(pieces)
    if not status[0].startswith("200"):
        raise Unavailable(f"extender: {status[0]} {answer[:200].decode(errors='replace')}")
    return answer
