"""A cluster in memory whose API server fails on purpose: programs die between writes, answers get lost, watches lag."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from slackwater.errors import Unavailable
from slackwater.resources import total
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import PodRecord
from slackwater_lab.faults import requests
from slackwater_lab.faults.rules import STATUS, Deliveries, Fault, FaultPlan, Watch
from slackwater_operator.clients.extenderclient import Placement, PlacementWish
from support.fakes.cluster import Operator, World


class Killed(BaseException):
    """The program is dead: nothing of it runs on."""


@dataclass
class FaultyWorld(World):
    """A world with one fault at the write of a given number, and a watch that is not prompt."""

    fault: Fault | None = None
    steer: int = 100  # nodes up to which nobody nominates
    at: int = 0  # the number of the write, from 1
    kind: str = ""  # of the writes that are counted, by `requests`; all of them where none is named
    watch: Watch = Watch.PROMPT
    seed: int = 0
    kills: int = 0
    dead: bool = False
    _steps: int = 0
    _plan: FaultPlan = field(default_factory=FaultPlan)
    _events: Deliveries[tuple[PodRecord, bool]] = field(default_factory=Deliveries)  # pods, and whether they are gone

    def __post_init__(self) -> None:
        self._plan = FaultPlan(self.fault, self.at, self.kind)
        self._events = Deliveries(self.watch, Random(self.seed))

    @property
    def attempts(self) -> int:
        """Writes that were counted so far."""
        return self._plan.counts[self.kind]

    # -- writes -----------------------------------------------------------------------------------------------------

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """As the API server would, but for the one fault."""
        self._alive()
        fault = self._plan.strikes(requests.kind(method, path, {}) if self.kind else "")
        if fault in STATUS:
            return Answer(STATUS[fault], b"{}")
        if fault is Fault.SILENT:
            raise Unavailable("no answer")
        answer = await super().write(method, path, body, content_type=content_type)
        if fault is None:
            return answer
        if fault is Fault.LOST:
            raise Unavailable("half an answer")
        self.dead = True
        raise Killed

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Placement, unless the one who asks is dead."""
        self._alive()
        return await super().place(wishes, cold=cold, alpha=alpha)

    async def unreserve(self, uids: Sequence[str]) -> None:
        """The same."""
        self._alive()
        await super().unreserve(uids)

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    # -- the watch --------------------------------------------------------------------------------------------------

    def put(self, *records: PodRecord) -> None:
        """Pods as they are now; the cache hears of it as the watch tells it."""
        self.pods.update({record.uid: record for record in records})
        self._tell(records, gone=False)

    def delete(self, *records: PodRecord) -> None:
        """Pods vanish."""
        for record in records:
            self.pods.pop(record.uid, None)
        self._tell(records, gone=True)

    def deliver(self) -> None:
        """A step passes: what is due is told; every tenth step everything is listed anew."""
        self._steps += 1
        for record, gone in self._events.due(self._steps):
            self._hand_over(record, gone=gone)
        if self._steps % 10 == 0:
            self._list()

    def _list(self) -> None:
        """What a reflector does after a list: everything that is there, and that others are not."""
        self._events.rest()
        known = {pod.uid: pod for pod in self.cache.index.pods()}
        self.cache.drop_pods([pod for uid, pod in known.items() if uid not in self.pods], self.now)
        self.cache.set_pods(list(self.pods.values()), self.now)

    def _tell(self, records: Sequence[PodRecord], *, gone: bool) -> None:
        for record in records:
            for each in self._events.take(self._steps, record.uid, (record, gone)):
                self._hand_over(each[0], gone=each[1])

    def _hand_over(self, record: PodRecord, *, gone: bool) -> None:
        if gone:
            self.cache.drop_pods([record], self.now)
        else:
            self.cache.set_pods([record], self.now)

    # -- a whole life -----------------------------------------------------------------------------------------------

    def play(self, arrive: Callable[[World, int], None], seconds: float = 4.0, most: int = 400, least: int = 6) -> int:
        """Let work arrive, in the first steps, and run to its end; an operator that dies is started again.

        Returns the steps.
        """
        operator = self._started()
        for step in range(most):
            arrive(self, step)
            operator = self._step(operator)
            self.schedule()
            self.check()
            self.deliver()
            self.end_pods(seconds)
            if step >= least and all(pod.done for pod in self.pods.values()):
                return step
        left = {
            pod.name: (pod.gates, pod.nominated, pod.parked, pod.node) for pod in self.pods.values() if not pod.done
        }
        raise AssertionError(f"stranded: {left}")

    def end_pods(self, seconds: float) -> None:
        """What has run for so long is over."""
        self.finish(*(p.uid for p in self.pods.values() if p.node and not p.done and self.now - p.started >= seconds))

    def check(self) -> None:
        """No room is given twice: what is bound to or nominated to a node fits it, by what was declared."""
        for name, node in self.nodes.items():
            here = [p for p in self.pods.values() if not p.done and name in (p.node, "" if p.node else p.nominated)]
            asked = total(pod.declared for pod in here)
            assert asked.fits(node.allocatable), f"{name}: {[pod.name for pod in here]} ask for {asked}"

    def _step(self, operator: Operator) -> Operator:
        operator.run = _quietly
        try:
            operator.step()
        except BaseException as problem:
            if not self.dead or not _killed(problem):
                raise
        if not self.dead:
            return operator
        self.dead, self.kills = False, self.kills + 1
        self.now += 1.0
        return self._started()

    def _started(self) -> Operator:
        """A new leader: it lists everything and clears what a dead one left."""
        self._events.rest()
        operator = self.restart(steer_nodes=self.steer)
        operator.take_over()
        return operator


def _quietly(step: Coroutine[Any, Any, int]) -> int:
    """Run a step; tasks that die with their program tell nobody."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda *_: None)
        return runner.run(step)


def _killed(problem: BaseException) -> bool:
    return isinstance(problem, (Killed, asyncio.CancelledError)) or (
        isinstance(problem, BaseExceptionGroup) and all(map(_killed, problem.exceptions))
    )
