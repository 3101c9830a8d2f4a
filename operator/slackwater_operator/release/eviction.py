"""Gives up one task of a node whose memory nears its limit, where its queue says so: asks for eviction, tells, counts.

Whom and when is decided by `slackwater.ledger.victims`; here is what it may know of, and what is done with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from slackwater.admission.budget import in_words
from slackwater.errors import Unavailable
from slackwater.ledger.victims import NodeMemory, PressureWatch, RunningTask, near, observe, tried, victim
from slackwater.resources import MEMORY, Resources
from slackwater.roles import Role
from slackwater_cluster.customresources import Mode
from slackwater_cluster.customresources.admissionqueue import Relief
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.clients.extenderclient import Usage
from slackwater_operator.clients.podwriter import PodWriter, WriteOutcome
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.metrics import Metrics
from slackwater_operator.status.events import EventWriter, Happened, Happening
from slackwater_operator.steadyclock import latest

log = structlog.get_logger(__name__)

# Beside what a writer says of a write it got an answer to.
EVICTED, UNANSWERED = "evicted", "unanswered"


@dataclass
class PressureRelief:
    """Remembers who was asked to leave each node. `clock` gives Unix seconds, the samples' own time."""

    cache: OperatorCache
    writer: PodWriter
    announcer: EventWriter
    metrics: Metrics
    clock: Callable[[], float]
    lines: WriteLines = field(default_factory=WriteLines)  # one for each namespace
    _watches: dict[str, PressureWatch] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)  # node → uid

    def __post_init__(self) -> None:
        # An older sample may be from before an eviction by the leader before us.
        self._since = latest(self.clock)

    @property
    def wanted(self) -> bool:
        """Whether any queue asks for it: only then is the use of nodes worth a question at every look."""
        return any(queue.relief.evict_youngest_task for queue in self.cache.governing.queues.values())

    async def run(self, usage: Usage) -> None:
        """Look once at every node, and ask at most one task of each to leave."""
        for name, memory in self._watched(usage):
            watch = self._watches.get(name, PressureWatch(self._since))
            watch = observe(watch, latest(self.clock), leaving=self._leaving(name))
            chosen = victim(watch, memory, self._tasks(name, usage.pods))
            self._watches[name] = watch
            pod = self.cache.index.pod(chosen.uid) if chosen is not None else None
            if chosen is None or pod is None:
                continue
            if self.lines.add(pod.namespace, partial(self._give_up, name, memory, chosen)):
                self._asked[name] = chosen.uid  # nobody else is asked there until this is answered
        await self.lines.settle()
        await self.announcer.post()

    def _watched(self, usage: Usage) -> list[tuple[str, NodeMemory]]:
        """Nodes that are near by the strictest of all queues, or that somebody was asked to leave."""
        nodes = self.cache.node_requests.nodes
        for name in [name for name in self._watches if name not in nodes]:
            del self._watches[name]
            self._asked.pop(name, None)
        queues = self.cache.governing.queues.values()
        least = min((q.relief.memory_percent for q in queues if q.relief.evict_youngest_task), default=None)
        if least is None:
            return []
        memories = {
            name: NodeMemory(nodes[name].allocatable[MEMORY], each.used[MEMORY], each.measured, each.stale)
            for name, each in usage.nodes.items()
            if name in nodes
        }
        return [(name, memory) for name, memory in memories.items() if name in self._watches or near(memory, least)]

    def _leaving(self, node: str) -> bool:
        """Whether one of our pods there is being ended, by whomever."""
        here = self.cache.node_requests.on(node)
        pods = (self.cache.index.pod(uid) for uid in here)
        return self._asked.get(node) in here or any(pod is not None and pod.deleted for pod in pods)

    def _tasks(self, node: str, uses: Mapping[str, Resources]) -> Iterator[RunningTask]:
        for uid in self.cache.node_requests.on(node):
            pod = self.cache.index.pod(uid)
            if pod is None or uid not in uses or not self._may_leave(pod):
                continue
            yield RunningTask(
                uid,
                pod.started or pod.created,
                used=uses[uid][MEMORY],
                declared=pod.declared[MEMORY],
                controlled=any(owner.controller for owner in pod.owners),
                percent=self._terms(pod).memory_percent,
            )

    def _may_leave(self, pod: PodRecord) -> bool:
        """A task, known as such, of a queue that says so, where pods may be touched at all."""
        member = self.cache.index.member(pod.uid)
        return (
            member is not None
            and Pod(pod, member).role is Role.TASK
            and self.cache.state_of(pod) is PodState.BOUND
            and self.cache.governing.mode(pod.namespace) is Mode.ENFORCE
            and self._terms(pod).evict_youngest_task
        )

    def _terms(self, pod: PodRecord) -> Relief:
        return self.cache.governing.queue_for(pod.namespace).relief

    async def _give_up(self, node: str, memory: NodeMemory, task: RunningTask) -> None:
        """Ask for an eviction, tell and count. A node where the task may stay is looked at again."""
        pod = self.cache.index.pod(task.uid)
        if pod is None or not self._may_leave(pod):  # gone, or nobody's wish any more, while others were asked
            self._ask_others(node, task)
            return
        became, said = await self._evict(pod)
        words = f"{became}{said and f' ({said})'}: it {sentence(node, memory, task)}"
        log.warning("relief", pod=pod.key, node=node, result=became, why=words)
        self.metrics.task_evictions.labels(self.cache.governing.queue_of(pod.namespace), became).inc()
        self.announcer.add(pod.uid, Happened(Happening.OUTGROWN, pod, words))
        if became != EVICTED:
            self._ask_others(node, task)
        # A write without an answer may have been carried out.
        if node in self._watches:
            self._watches[node] = tried(self._watches[node], memory, leaves=became != WriteOutcome.REFUSED)

    def _ask_others(self, node: str, task: RunningTask) -> None:
        """A task does not leave. Another one of its node may have been asked meanwhile."""
        if self._asked.get(node) == task.uid:
            del self._asked[node]

    async def _evict(self, pod: PodRecord) -> tuple[str, str]:
        """What became of it, and what was said about it where that is not what was asked for."""
        try:
            written = await self.writer.evict(pod)
        except Unavailable as problem:
            return UNANSWERED, str(problem)
        except Exception as problem:  # or nobody else of its node would be asked as long as it is there
            log.exception("eviction", pod=pod.key)
            return UNANSWERED, str(problem)
        return (EVICTED, "") if written.done else (written.outcome.value, written.message)


def sentence(node: str, memory: NodeMemory, task: RunningTask) -> str:
    """Why this one, with the numbers."""
    used, declared = in_words(MEMORY, task.used), in_words(MEMORY, task.declared)
    taken, offered = in_words(MEMORY, memory.used), in_words(MEMORY, memory.allocatable)
    share = 100 * memory.used / memory.allocatable
    return (
        f"uses {used} of memory and declared {declared}; node {node} uses {taken} of {offered} ({share:.1f} %, its "
        f"queue's limit is {task.percent:g} %), and this is the youngest task there that outgrew what it declared"
    )
