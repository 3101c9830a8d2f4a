"""Opens and closes the gate of each SlackPolicy in its status, where admission reads it for every new task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import structlog

from slackwater.cycle.podline.opengate import REST, may_open
from slackwater.errors import Unavailable
from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.api.paths import custom_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources import AdmissionQueueSpec, Mode, kind_named
from slackwater_cluster.customresources.admissionqueue import CapacitySource, QueueState
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.clients.podwriter import WATCH_DELAY
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.metrics import Metrics

log = structlog.get_logger(__name__)

KIND = "SlackPolicy"
FIELD = "openGate"


@dataclass
class GateKeeper:
    """Looks at each round, and writes where a gate should turn. `clock` gives Unix seconds."""

    session: Session
    cache: OperatorCache
    metrics: Metrics
    clock: Callable[[], float]
    lines: WriteLines = field(default_factory=WriteLines, kw_only=True)  # one for each policy
    nodes: int  # clusters of fewer nodes keep their gates closed
    _is_open: bool = False
    _closed: float = field(default=float("-inf"), init=False)  # when somebody last had to wait
    _written: dict[str, tuple[bool, float]] = field(default_factory=dict, init=False)  # by policy: what, and when

    async def look(self, result: RoundResult | None, *, answered: bool) -> None:
        """After each round: `answered` says whether the extender told the rooms that it was decided on."""
        self._is_open = result is not None and answered and self._may_open(result)
        for name in self.cache.governing.policies:
            if self._known(name) is not self._wanted(name) and not self.lines.busy(name):
                self.lines.add(name, partial(self._turn, name))
        await self.lines.settle()

    def _may_open(self, result: RoundResult) -> bool:
        table = result.snapshot.nodes
        if table is None or len(table) < self.nodes:
            return False
        released = {each.uid for each in result.round.releases}
        if not may_open(result.snapshot, released, is_open=self._is_open):
            self._closed = self.clock()
        return self.clock() - self._closed >= REST

    def _admits(self, policy: str) -> bool:
        """Whether a policy wants no more of a release than that it happens: no learned requests, no narrow queue."""
        governing = self.cache.governing
        spec = governing.policies[policy]
        followers = [name for name in governing.managed_namespaces() if governing.policy_name(name) == policy]
        queues = {governing.queue_of(name) for name in followers}
        plain = all(name and is_plain(governing.queue(name)) for name in queues)
        return spec.mode is Mode.ENFORCE and not spec.reclaim.enabled and bool(queues) and plain

    def _wanted(self, policy: str) -> bool:
        return self._is_open and self._admits(policy)

    async def _turn(self, name: str) -> None:
        """Turn a gate as it should be by now: rounds may have ended, and policies gone, while others were turned."""
        if name not in self.cache.governing.policies or self._known(name) is (wanted := self._wanted(name)):
            return
        path = custom_path(kind_named(KIND).plural, name, subresource="status")
        try:
            answer = await self.session.write("PATCH", path, {"status": {FIELD: wanted}}, content_type=MERGE)
        except Unavailable as problem:
            log.warning("gate not turned", policy=name, trouble=str(problem))
            return
        if answer.ok:
            self._written[name] = (wanted, self.clock())
            self.metrics.open_gate.labels(name).set(wanted)
            log.info("gate turned", policy=name, open=wanted)
        elif answer.status != 404:
            log.warning("gate not turned", policy=name, trouble=answer.message())

    def _known(self, name: str) -> bool:
        """Whether a gate is open: as just written, else as the watch shows it."""
        written, at = self._written.get(name, (False, float("-inf")))
        return written if self.clock() - at < WATCH_DELAY else self.cache.governing.gate_open(name)


def is_plain(queue: AdmissionQueueSpec) -> bool:
    """Whether a queue's tasks may go to any node, without end, as soon as there is room."""
    capacity = queue.capacity
    return (
        queue.state is QueueState.OPEN
        and not queue.node_selector
        and not capacity.maximum
        and capacity.source is not CapacitySource.STATED
    )
