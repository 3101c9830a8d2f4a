"""What the ledger has learned, kept in a ConfigMap: read at the start, written now and then and at the end.

The ConfigMap belongs to the chart, and the extender may read and change this one and no other. It is written once per
interval where something changed. Nothing is written before it was read, so that an API server that is away at the start
costs nothing that was learned; and nothing is read before policies and nodes are listed, which say what can be used of
it. What cannot be read is told and learned anew.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.paths import api_path
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.sampler.learnedcodec import MOST_APPS, decode, encode

log = structlog.get_logger(__name__)

KEY = "learned.json.gz"
LISTED = frozenset({"SlackPolicy", "nodes"})  # the risk that is stated, and the kinds that are counted
LOOK = 0.05  # seconds between two looks whether they are
LAST = 5.0  # seconds that the end of the process waits for the last writing


@dataclass
class LearnedStore:
    """One ConfigMap and the ledger behind one cache."""

    cache: ClusterCache
    connect: Callable[[], ApiClient]
    name: str
    interval: float
    _read: bool = False
    _written: bytes = b""
    _trouble: str = ""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Read what was learned, and keep it from now on; without a name nothing is kept."""
        if not self.name:
            return
        self._thread = threading.Thread(target=self._run, name="learned", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write once more, and end."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(LAST)

    def _run(self) -> None:
        with self.connect() as api:
            while not (self._listed or self._stop.wait(LOOK)):
                pass
            self.turn(api)
            while not self._stop.wait(self.interval):
                self.turn(api)
            self.turn(api)

    def turn(self, api: ApiClient) -> None:
        """Read, if that has not succeeded yet; else write what is new. Whatever goes wrong, the next turn may work."""
        if not self._listed:
            return
        try:
            if self._read:
                self._write(api)
            else:
                self._remember(api.get(self._path))
                self._read = True
        except Unavailable as problem:
            self._told(str(problem))
        except Exception:
            log.exception("what was learned is not kept")
        else:
            self._told("")

    @property
    def _listed(self) -> bool:
        return self.cache.synced >= LISTED

    @property
    def _path(self) -> str:
        return api_path("configmaps", self.name, namespace=self.cache.settings.own_namespace)

    def _remember(self, found: Any) -> None:
        text = (found.get("binaryData") or {}).get(KEY) if isinstance(found, dict) else None
        if not text:
            return
        try:
            self._written = base64.b64decode(text, validate=True)
            learned = decode(self._written)
        except (InvalidInput, binascii.Error, TypeError, ValueError) as problem:
            log.warning("what was learned before cannot be read", config_map=self.name, problem=str(problem))
            return
        with self.cache.lock.background():
            self.cache.ledger.remember(learned)
        log.info("what was learned before is known again", apps=len(learned.apps), risks=list(learned.risks))

    def _write(self, api: ApiClient) -> None:
        with self.cache.lock.background():
            learned = self.cache.ledger.learned(MOST_APPS)
        made = encode(learned) if learned else b""
        if made and made != self._written:
            api.patch(self._path, {"binaryData": {KEY: base64.b64encode(made).decode()}})
            self._written = made

    def _told(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("what was learned is not kept", config_map=self.name, problem=trouble)
        self._trouble = trouble
