"""`/healthz`: whether the program's loop turns, told by a thread that asks nothing of that loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Protocol

LOOK = 1.0  # seconds between two looks
# Seconds after which a loop that has not looked is stuck. First lists of large clusters take seconds at a time.
STUCK = 60.0


class Healthy(Protocol):
    """A program that knows how it is."""

    @property
    def healthy(self) -> bool:
        """Asked in the program's own loop."""
        ...


class HealthPage:
    """A WSGI application; `follow` keeps it up to date, in the loop that it speaks of."""

    def __init__(self, program: Healthy, clock: Callable[[], float] = monotonic) -> None:
        self._program, self._clock = program, clock
        self._said, self._at = True, clock()

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK)

    def look(self) -> None:
        """Note how the program is."""
        self._said, self._at = self._program.healthy, self._clock()

    @property
    def well(self) -> bool:
        """What is said now."""
        return self._said and self._clock() - self._at < STUCK

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        if environ.get("PATH_INFO") != "/healthz":
            status, said = "404 Not Found", {"error": "there is /healthz"}
        elif self.well:
            status, said = "200 OK", {"loop": "turning"}
        else:
            status, said = "503 Service Unavailable", {"loop": "stuck"}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(said).encode()]
