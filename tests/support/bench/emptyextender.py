"""The do-nothing extender that ours is measured against: Flask, orjson, the same gunicorn; every node passes."""

from __future__ import annotations

import sys
from typing import Any

import orjson
from flask import Flask, Response, request
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped] # gunicorn has no types

app = Flask(__name__)


@app.post("/filter")
def pass_all() -> Response:
    """Every node may be used."""
    args = orjson.loads(request.get_data(cache=False))
    body = {
        "Nodes": None,
        "NodeNames": args["NodeNames"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    return Response(orjson.dumps(body), mimetype="application/json")


@app.post("/prioritize")
def like_all() -> Response:
    """Every node is liked equally."""
    args = orjson.loads(request.get_data(cache=False))
    return Response(
        orjson.dumps([{"Host": name, "Score": 0} for name in args["NodeNames"]]), mimetype="application/json"
    )


class Server(BaseApplication):  # type: ignore[misc] # its base has no types
    """The same server settings as the extender's."""

    def load_config(self) -> None:
        """One worker, threads, long keep-alive."""
        options: dict[str, Any] = {
            "bind": f"127.0.0.1:{sys.argv[1]}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": 16,
            "keepalive": 120,
            "loglevel": "error",
            "control_socket_disable": True,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """The application."""
        return app


if __name__ == "__main__":
    Server().run()
