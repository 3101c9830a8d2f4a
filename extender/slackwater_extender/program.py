"""The running extender: the parts, the threads that feed them, and how both end."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import structlog
from flask import Flask

from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.prometheus.vector import VectorClient
from slackwater_extender.cache.watch import Watcher, refusal
from slackwater_extender.components import Components, assemble
from slackwater_extender.http.app import create
from slackwater_extender.settings import Settings

log = structlog.get_logger(__name__)

TICK = 1.0  # seconds between two looks at lapsed placements and refused pods
# A thread that computes gives way after this many seconds: a /filter that waits for it must not wait long.
SWITCH = 0.0002
PATIENCE = 120  # ticks after which garbage is collected though the cluster is not listed yet
GIVE_BACK = 30  # ticks between two returns of unused memory to the system
M_ARENA_MAX = -8  # glibc's number for that option
FATAL = 3  # gunicorn's master ends too when its worker ends with this code


@dataclass
class Program:
    """One extender process."""

    settings: Settings
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        prometheus = self.settings.prometheus
        self._client = VectorClient(prometheus) if prometheus.url is not None else None
        self.parts: Components = assemble(
            self.settings,
            ask=self._client.query if self._client else None,
            review=lambda token: self.watcher.review(token, self.settings.callers.audiences),
            troubles=lambda: self.watcher.troubles(),  # noqa: PLW0108 - the watcher is made a line later
        )
        self.watcher = Watcher(
            endpoint(self.settings.kubeconfig, self.settings.context), self.parts.books, self.parts.waiting, self.die
        )

    def start(self) -> Flask:
        """Start the threads and return the application."""
        sys.setswitchinterval(SWITCH)
        gc.disable()  # what is listed at start stays; looking through it again and again would cost seconds
        few_arenas()
        self.watcher.start()
        self.parts.heartbeat.after = self.parts.review
        self.parts.heartbeat.start()
        threading.Thread(target=self._tick, name="tick", daemon=True).start()
        return create(self.parts)

    def stop(self) -> None:
        """End the threads."""
        self._stop.set()
        self.parts.heartbeat.stop()
        self.watcher.stop()
        if self._client is not None:
            self._client.close()

    def die(self, problem: BaseException) -> None:
        """A view that is no longer kept is worse than none: end the process, loudly, and be started again."""
        if self._stop.is_set():
            return
        log.critical("the watch of the cluster ended", problem=refusal(problem), exc_info=problem)
        os._exit(FATAL)

    def _tick(self) -> None:
        frozen = False
        for beat in count():
            if self._stop.wait(TICK):
                return
            try:
                self.parts.tick()
            except Exception:
                log.exception("tick failed")
            if not frozen and (self.parts.readiness().ready or beat >= PATIENCE):
                # What was listed lives long: keep it out of every further garbage collection.
                gc.freeze()
                gc.enable()
                frozen = True
            if beat % GIVE_BACK == 0:
                give_back()


def few_arenas() -> None:
    """Let all threads share two heaps: one for each thread would keep pieces of every long answer."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(M_ARENA_MAX, 2)


def give_back() -> None:
    """Return to the system what long lists and answers needed for a moment; only glibc knows how."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
