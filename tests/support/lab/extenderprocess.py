"""The extender as a process of its own, beside an API server in a thread."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from slackwater.errors import Unavailable
from slackwater_lab.processes.stealtime import Stopwatch
from support.builders import objects
from support.fakes.apiserver import ApiServer

OPERATOR = "system:serviceaccount:slackwater-system:slackwater-operator"


@contextmanager
def serving(server: ApiServer) -> Iterator[str]:
    """An API server in a thread."""
    started, stopped = threading.Event(), threading.Event()

    async def run() -> None:
        async with server.running():
            started.set()
            while not stopped.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    started.wait(10)
    yield server.url
    stopped.set()
    thread.join(10)


@contextmanager
def extender(url: str, folder: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program on a free port."""
    config = folder / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: '{url}'}}}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "slackwater_extender.main",
        "--kubeconfig",
        str(config),
        "--server.port",
        str(port),
    ]
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen([*command, *flags], stderr=log)
    try:
        yield child, port
    finally:
        child.kill()
        child.wait(10)


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for something to come true."""
    watch = Stopwatch()
    while True:
        try:
            if condition():
                return
        except (httpx2.HTTPError, Unavailable):
            pass
        assert watch.seconds < seconds, "waited in vain"
        time.sleep(0.1)


def cluster() -> ApiServer:
    """A namespace, a policy and a node."""
    server = ApiServer()
    server.put("/api/v1/namespaces", objects.namespace("batch"))
    server.put("/api/v1/nodes", objects.node("n1"))
    path = "/apis/slackwater.io/v1alpha1/slackpolicies"
    server.put(path, {"metadata": {"name": "default", "uid": "p"}, "spec": {"mode": "enforce"}})
    server.accounts["good-token"] = OPERATOR
    return server
