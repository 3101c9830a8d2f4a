"""Gates of pods in a PodGroup that kube-scheduler queues as one: none of them stays shut while others are on their way.

From 1.37 on one pod behind a scheduling gate keeps kube-scheduler from looking at any pod of its PodGroup. So as soon
as some of a group are released, those of it that still wait leave the gate too, parked: our filter refuses them until
they are released, and the scheduler binds the others without them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.apps.podgroups import group_key
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.release.releasewriter import ReleaseWriter
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)


@dataclass
class GroupGates:
    """Opens the gates of those that wait beside others of their group."""

    writes: ReleaseWriter

    async def run(self) -> None:
        """Look once at every group of which a pod is on its way; where there is none, nothing is looked at."""
        when = datetime.fromtimestamp(wall(self.writes.clock), UTC).isoformat(timespec="seconds")
        await asyncio.gather(*(self._park(pod, when) for pod in self._left_behind()))

    def _left_behind(self) -> list[PodRecord]:
        cache = self.writes.cache
        released = (cache.index.pod(uid) for uid, _ in cache.in_flight.all())
        going = {group_key(pod) for pod in released if pod is not None and cache.pod_groups.queued_whole(pod)}
        if not going:
            return []
        near = [pod for pod in cache.index.pods() if pod.group and group_key(pod) in going]
        return [pod for pod in near if pod.gated and cache.state_of(pod) is PodState.HELD]

    async def _park(self, pod: PodRecord, when: str) -> None:
        """Open one gate; one that could not be opened is tried again."""
        try:
            written = await self.writes.writer.park_at_gate(pod, when)
        except Unavailable as problem:
            log.warning("not parked", pod=pod.key, trouble=str(problem))
            self.writes.metrics.errors.labels("park").inc()
            return
        if not written.done:
            log.warning("the API server refuses to park a pod at its gate", pod=pod.key, message=written.message)
