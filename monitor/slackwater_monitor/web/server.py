"""Gunicorn, set up in code: one process, because the memory of what was seen is in it."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from flask import Flask

from slackwater.errors import InvalidInput, SlackwaterError
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_cluster.servers.wsgi import OneProcess
from slackwater_cluster.settings import address, bare
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.prometheus import Measured
from slackwater_monitor.sources.source import Chooser, Source
from slackwater_monitor.web.app import dashboard


class Server(OneProcess):
    """The dashboard's server; `make` is called in the worker, after the fork."""

    def __init__(self, settings: Settings, make: Callable[[], Flask], *, quiet: bool = False) -> None:
        self._make, self._settings = make, settings
        options = {"worker_class": "gthread", "keepalive": 30, "timeout": 120}
        if quiet:
            options["loglevel"] = "warning"
        super().__init__(settings.host, settings.port, settings.threads, options)

    def load(self) -> Any:
        """Called in the worker."""
        return self._make()

    def run(self) -> None:
        """Serve until interrupted; where somebody else does already, say so instead of trying again."""
        check_address(self._settings)
        super().run()


def check_address(settings: Settings) -> None:
    """Refuse an address that cannot be listened on, before any work is done for it."""
    host, port = bare(settings.host), settings.port
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
            # As gunicorn does: connections of who served here before are no obstacle.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as problem:
        words = f"{address(host, port)} cannot be listened on ({problem.strerror})"
        if isinstance(problem, socket.gaierror) or problem.errno == errno.EADDRNOTAVAIL:
            raise InvalidInput("host", words, "give another --host: a name or address of this machine") from problem
        raise InvalidInput("port", words, "end what listens there, or give another --port") from problem


def serve(source: Chooser, settings: Settings) -> None:
    """Show any source until interrupted; `slackwater demo --serve` gives a simulation."""
    Server(settings, lambda: dashboard(source, settings), quiet=True).run()  # a terminal of a person, not a log


def serve_cluster(settings: Settings) -> None:
    """Show the cluster of the settings."""
    where = endpoint(settings.kubeconfig, settings.context)

    def make() -> Flask:
        api = ApiClient(where)
        known = Credentials(settings.extender_token_file, ca=settings.extender_ca)
        extender = ExtenderClient(api, settings.extender_url, namespace=settings.namespace, credentials=known)
        source = Live(api, extender, measured=measured(settings), system=settings.namespace)
        watch(source, settings.interval)
        return dashboard(source, settings)

    Server(settings, make).run()


def measured(settings: Settings, clock: Callable[[], float] = time.monotonic) -> Measured | None:
    """Few and small queries, so hardly paced; a slow Prometheus must not keep a page waiting."""
    if not settings.prometheus_url:
        return None
    known = Credentials(
        settings.prometheus_token_file,
        settings.prometheus_username,
        settings.prometheus_password_file,
        settings.prometheus_ca,
        settings.prometheus_insecure,
    )
    connection = QueryConnection(
        settings.prometheus_url,
        50.0,
        5.0,
        credentials=known,
        tenant=settings.prometheus_tenant,
        tries=1,
        matchers=settings.prometheus_matchers,
    )
    return Measured(Prometheus(connection), clock=clock)


def watch(source: Source, interval: float) -> threading.Event:
    """Look now and then, so that there is a past to show even if nobody had the page open. Set the event to stop."""
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            # The page tells the trouble to whoever looks; the next look may succeed.
            with suppress(SlackwaterError):
                source.snapshot()
            stop.wait(interval)

    threading.Thread(target=look, name="watch", daemon=True).start()
    return stop


def options(host: str, port: int, **more: Any) -> Settings:
    """Settings made in code, for the demo and for tests."""
    return Settings(host=host, port=port, **more)
