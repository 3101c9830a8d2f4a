"""Gunicorn, set up in code: one process, because what our servers know is in its memory; threads in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped] # gunicorn has no types
from gunicorn.glogging import Logger  # type: ignore[import-untyped] # gunicorn has no types

from slackwater_cluster.settings import address


class GunicornLogs(Logger):  # type: ignore[misc] # its base has no types
    """Gunicorn's own lines, sent the way of all others."""

    def setup(self, cfg: Any) -> None:
        """Let the root logger write."""
        del cfg
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class OneProcess(BaseApplication):  # type: ignore[misc] # its base has no types
    """A server of one worker. A subclass's `load` is called in it, after the fork, and gives the application."""

    def __init__(self, host: str, port: int, threads: int, options: Mapping[str, Any]) -> None:
        self._options: dict[str, Any] = {
            "bind": address(host, port),
            "workers": 1,
            "threads": threads,
            "accesslog": None,
            # One process with one configuration: there is nothing to control from outside.
            "control_socket_disable": True,
            **options,
        }
        super().__init__()

    def load_config(self) -> None:
        """Turn our options into gunicorn's."""
        for name, value in self._options.items():
            self.cfg.set(name, value)
