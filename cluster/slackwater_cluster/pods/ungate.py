"""Lifts our gate from many pods side by side, so that nobody waits for a pod whose gate cannot be lifted.

    not tried yet     oldest first; given up after `FIRST` seconds
    tried in vain     behind all who were not tried yet, each in its turn; given up after `AGAIN` seconds, and at most
                      half of the writes under way
    with no gate      of parked pods our mark is left: with those that were tried. Elsewhere anybody may write that mark

A write may take long: each admission webhook that is asked about it may take up to 30 s, and one whose backend is gone
does. The watchdog and the hook before uninstall lift gates so, each at its own rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nsmallest

from slackwater.errors import SlackwaterError
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.pods.gate import lifted
from slackwater_cluster.pods.unbound import UnboundPod, unbound

# Writes under way at most. Ten a second are begun also where each takes `FIRST` seconds.
WORKERS = 30
# Writes of a session that lifts gates: one place is left for something else.
IN_FLIGHT = WORKERS + 1
FIRST = 2.5  # seconds
AGAIN = 35.0  # seconds: more than a webhook may take
# Pods whose turns are known from one list, half a kilobyte each: in a large cluster a list takes longer than a period.
KEPT = 10_000
GONE = (404, 409)  # also: another pod has its name

Told = Callable[[UnboundPod, bool, str], None]  # whether the gate was lifted, and why not


@dataclass
class Ungater:
    """Knows whose turn it is, and which writes are under way."""

    session: Session
    _last: UnboundPod | None = None  # the pod that was tried last
    _youngest: UnboundPod | None = None  # of those that were tried
    _writes: dict[str, asyncio.Task[None]] = field(default_factory=dict)  # under way, by the pod's uid

    async def turns(
        self, *, seen: Callable[[UnboundPod], None] = lambda _: None, seconds: float | None = None
    ) -> list[UnboundPod]:
        """List the held pods in the order of their turns: those not tried yet, then the others.

        Never more than twice `KEPT` are held in memory, however many there are. `seen` is told of every unbound pod;
        `seconds` are for each page.
        """
        found = list[UnboundPod]()
        async for page in unbound(self.session, seconds=seconds):
            for pod in page:
                seen(pod)
            found += [pod for pod in page if pod.held and pod.uid not in self._writes]
            if len(found) > 2 * KEPT:
                found = nsmallest(KEPT, found, key=self._turn)
        return nsmallest(KEPT, found, key=self._turn)

    def tried(self, pod: UnboundPod) -> bool:
        """Whether it had its turn already, or has no gate: then it comes behind those that have one."""
        return not pod.gates or (self._youngest is not None and pod <= self._youngest)

    def ready(self, pod: UnboundPod) -> bool:
        """Whether the write of a pod may begin."""
        return len(self._writes) < self._most(pod)

    async def until_ready(self, pod: UnboundPod) -> None:
        """Wait until its write may begin."""
        await self._until_left(self._most(pod) - 1)

    def begin(self, pod: UnboundPod, told: Told) -> None:
        """Lift the gate of one pod; `told` hears how that ended."""
        write = asyncio.create_task(self._write(pod, AGAIN if self.tried(pod) else FIRST, told))
        self._writes[pod.uid] = write
        write.add_done_callback(lambda _: self._writes.pop(pod.uid))
        self._last = pod
        if pod.gates:
            self._youngest = max(pod, self._youngest or pod)

    async def finish(self) -> None:
        """Wait for all writes that are under way."""
        await self._until_left(0)

    async def stop(self) -> None:
        """Give up what is under way, and forget who was tried."""
        writes = list(self._writes.values())
        for write in writes:
            write.cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        self._last = self._youngest = None

    async def _until_left(self, most: int) -> None:
        while len(self._writes) > most:
            await asyncio.wait(self._writes.values(), return_when=asyncio.FIRST_COMPLETED)

    def _most(self, pod: UnboundPod) -> int:
        return WORKERS // 2 if self.tried(pod) else WORKERS

    def _turn(self, pod: UnboundPod) -> tuple[bool, bool, UnboundPod]:
        return self.tried(pod), self._last is not None and pod <= self._last, pod

    async def _write(self, pod: UnboundPod, seconds: float, told: Told) -> None:
        path, body = api_path("pods", pod.name, namespace=pod.namespace), lifted(pod.uid, pod.gates, pod.marks)
        try:
            answer = await self.session.write("PATCH", path, body, content_type=STRATEGIC, seconds=seconds)
        except SlackwaterError as problem:
            told(pod, False, str(problem))
        else:
            told(pod, answer.ok, "" if answer.ok or answer.status in GONE else answer.message())
