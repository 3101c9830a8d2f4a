"""A package index on this machine: takes what twine uploads, and offers it by name as the index of Python does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask, Response, request, send_from_directory
from werkzeug.serving import make_server


def application(folder: Path) -> Flask:
    """Uploads, the list of a project's files, and the files, which lie in the folder."""
    app = Flask("packageindex")

    @app.post("/legacy/")
    def take() -> str:
        sent = request.files["content"]
        sent.save(folder / Path(str(sent.filename)).name)
        return ""

    @app.get("/simple/<project>/")
    def offer(project: str) -> str | tuple[str, int]:
        found = sorted(path.name for path in folder.glob(f"{project}-*"))
        if not found:
            return "", 404
        return "".join(f'<a href="/files/{name}">{name}</a>\n' for name in found)

    @app.get("/files/<name>")
    def give(name: str) -> Response:
        return send_from_directory(folder, name)

    return app


@contextmanager
def packageindex(folder: Path) -> Iterator[str]:
    """Its address."""
    server = make_server("127.0.0.1", 0, application(folder.resolve()), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
