"""Gunicorn, set up in code: one process (the ledger is in memory), threads, long keep-alive."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped] # gunicorn has no types
from gunicorn.glogging import Logger  # type: ignore[import-untyped] # gunicorn has no types

from slackwater_extender.http.worker import Worker
from slackwater_extender.program import Program
from slackwater_extender.settings import Settings

CONNECTIONS = 512  # open at once; beyond that idle ones are closed for new ones


class Logs(Logger):  # type: ignore[misc] # its base has no types
    """Gunicorn's own lines, sent the way of all others."""

    def setup(self, cfg: Any) -> None:
        """Let the root logger write."""
        del cfg
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class Server(BaseApplication):  # type: ignore[misc] # its base has no types
    """One worker with threads; the program starts in the worker, after the fork."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._program: Program | None = None
        super().__init__()

    def load_config(self) -> None:
        """Turn our settings into gunicorn's."""
        server = self._settings.server
        options: dict[str, Any] = {
            "bind": f"{server.host}:{server.port}",
            "workers": 1,
            "worker_class": Worker,
            "threads": server.threads,
            "keepalive": server.keepalive,
            "graceful_timeout": server.graceful,
            "timeout": 60,
            "worker_connections": CONNECTIONS,
            "accesslog": None,
            "errorlog": "-",
            "logger_class": Logs,
            # One process with one configuration: there is nothing to control from outside.
            "control_socket_disable": True,
            "worker_exit": self._exited(),
            **self._tls(),
        }
        for name, value in options.items():
            self.cfg.set(name, value)

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
