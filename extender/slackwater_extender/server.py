"""Gunicorn, set up in code: one process (the ledger is in memory), threads, long keep-alive."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from slackwater_cluster.servers.wsgi import GunicornLogs, OneProcess
from slackwater_extender.http.worker import Worker
from slackwater_extender.program import Program
from slackwater_extender.settings import Settings

CONNECTIONS = 512  # open at once; beyond that idle ones are closed for new ones


class Server(OneProcess):
    """The extender's server; the program starts in the worker, after the fork."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._program: Program | None = None
        server = settings.server
        options: dict[str, Any] = {
            "worker_class": Worker,
            "keepalive": server.keepalive,
            "graceful_timeout": server.graceful,
            "timeout": 60,
            "worker_connections": CONNECTIONS,
            "errorlog": "-",
            "logger_class": GunicornLogs,
            "worker_exit": self._exited(),
            **self._tls(),
        }
        super().__init__(server.host, server.port, server.threads, options)

    def load(self) -> Any:
        """Called in the worker."""
        self._program = Program(self._settings)
        return self._program.start()

    def _exited(self) -> Callable[[Any, Any], None]:
        def worker_exit(server: Any, worker: Any) -> None:
            del server, worker
            if self._program is not None:
                self._program.stop()

        return worker_exit

    def _tls(self) -> dict[str, Any]:
        tls = self._settings.tls
        if tls.certificate is None:
            return {}
        options: dict[str, Any] = {"certfile": str(tls.certificate), "keyfile": str(tls.key)}
        if tls.client_ca is not None:
            # Optional at the handshake: the operator may come with a token instead, probes with nothing.
            options |= {"ca_certs": str(tls.client_ca), "cert_reqs": ssl.CERT_OPTIONAL}
        return options
