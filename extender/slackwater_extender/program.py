"""The running extender: the parts, the threads that feed them, and how both end."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

import structlog
from flask import Flask

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.prometheus.vector import VectorClient
from slackwater_extender.cache.watch import Watcher, refusal
from slackwater_extender.components import Components, assemble
from slackwater_extender.http.app import create
from slackwater_extender.processmemory import ProcessMemory
from slackwater_extender.sampler.learnedstore import LearnedStore
from slackwater_extender.settings import Settings

log = structlog.get_logger(__name__)

TICK = 1.0  # seconds between two looks at lapsed placements and refused pods
FATAL = 3  # gunicorn's master ends too when its worker ends with this code


@dataclass
class Program:
    """One extender process."""

    settings: Settings
    _stop: threading.Event = field(default_factory=threading.Event)
    _memory: ProcessMemory = field(default_factory=ProcessMemory)

    def __post_init__(self) -> None:
        prometheus = self.settings.prometheus
        self._client = VectorClient(prometheus) if prometheus.url is not None else None
        self.parts: Components = assemble(
            self.settings,
            ask=self._client.query if self._client else None,
            review=lambda token: self.watcher.review(token, self.settings.callers.audiences),
            troubles=lambda: self.watcher.troubles(),  # noqa: PLW0108 - the watcher is made a line later
        )
        where = endpoint(self.settings.kubeconfig, self.settings.context)
        keep = self.settings.learned
        self._learned = LearnedStore(self.parts.cache, lambda: ApiClient(where), keep.config_map, keep.interval)
        self.watcher = Watcher(where, self.parts.cache, self.parts.waiting, self.die)

    def start(self) -> Flask:
        """Start the threads and return the application."""
        self._memory.begin()
        self.watcher.start()
        self.parts.sampling.after = self.parts.review
        self.parts.sampling.start()
        self._learned.start()
        threading.Thread(target=self._tick, name="tick", daemon=True).start()
        return create(self.parts)

    def stop(self) -> None:
        """End the threads."""
        self._stop.set()
        self.parts.sampling.stop()
        self._learned.stop()
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
        while not self._stop.wait(TICK):
            try:
                self.parts.tick()
            except Exception:
                log.exception("tick failed")
            self._memory.tick(listed=self.parts.readiness().ready)
