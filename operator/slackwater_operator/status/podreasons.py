"""The reason class on each held pod, written once per class and only while nothing more important is written.

A gated pod shows no reason of its own. The class never holds a number: a number would change, and every change is a
write. Pods are skipped while releases are under way, so that a release costs its two writes and no third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import structlog

from slackwater.cycle.appverdicts import WaitReason
from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.refusals import Pauses, Vain
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.clients.writelines import WriteLines
from slackwater_operator.status.appstatus import AppStatus

log = structlog.get_logger(__name__)

# So many times in a row without an answer are no fault of single pods: the rest is left for the next time.
FAILURES = 3
# Not reasons to wait.
SILENT = (WaitReason.RELEASED.value, WaitReason.COMPLETE.value, WaitReason.GROWTH.value)


@dataclass
class ReasonWriter:
    """Writes reason classes."""

    writer: PodWriter
    bucket: TokenBucket
    clock: Callable[[], float]
    quiet: float  # seconds without a release before anything is written
    lines: WriteLines = field(default_factory=WriteLines)
    _pauses: Pauses = field(default_factory=Pauses)  # of pods whose reason could not be written
    _failures: Counter[str] = field(default_factory=Counter)  # in a row without an answer, by namespace
    _written: int = 0

    def __post_init__(self) -> None:
        self._again = self.bucket.half()

    async def write(self, cache: OperatorCache, accounts: Iterable[AppStatus], last_release: float) -> int:
        """Write what is different, as far as the rate allows; returns how many were written meanwhile."""
        self.lines.drop()
        if self.clock() - last_release < self.quiet:
            return 0
        before = self._written
        self._pauses.look(self.clock())
        self._failures = Counter()
        for pod, reason in self._in_turn(due(cache, accounts)):
            self.lines.add(pod.namespace, partial(self._write, cache, pod, reason))
        await self.lines.settle()
        return self._written - before

    async def _write(self, cache: OperatorCache, pod: PodRecord, reason: str) -> None:
        """Write one reason; a pod that was let go meanwhile is left alone."""
        now = cache.index.pod(pod.uid)
        if now is None or not now.gated or pod.uid in cache.in_flight:
            return
        if self._failures[pod.namespace] >= FAILURES or not self._may_write(pod):
            return
        try:
            told = await self.writer.annotate(pod, names.REASON, reason)
        except Unavailable as problem:
            self._failures[pod.namespace] += 1
            self._put_off(pod, str(problem))
            return
        self._failures[pod.namespace] = 0
        if told.done:
            self._written += 1
            self._pauses.forget(pod.uid)
        else:  # refused or gone: the fault of this pod alone
            self._put_off(pod, told.message or told.outcome.value)

    def _may_write(self, pod: PodRecord) -> bool:
        """Whether the rate allows it; pods that were refused before have at most half of it."""
        return (not self._pauses.times(pod.uid) or self._again.take()) and self.bucket.take()

    def _in_turn(self, found: Iterable[tuple[PodRecord, str]]) -> Iterator[tuple[PodRecord, str]]:
        """Pods that were refused before come after all others, so that they take nobody's turn."""
        again = []
        for pod, reason in found:
            if not self._pauses.times(pod.uid):
                yield pod, reason
            elif pod.uid not in self._pauses:
                again.append((pod, reason))
        yield from again

    def _put_off(self, pod: PodRecord, trouble: str) -> None:
        log.warning("reason not written", pod=pod.key, trouble=trouble)
        self._pauses.begin(pod.uid, self.clock(), Vain.UNTOLD)


def due(cache: OperatorCache, accounts: Iterable[AppStatus]) -> Iterable[tuple[PodRecord, str]]:
    """Held pods whose reason class is not the one written on them."""
    for said in accounts:
        each = cache.views.get(said.app)
        if each is None or said.reason in SILENT or not said.held:
            continue
        for group in each.groups:
            for uid in group.held:
                pod = cache.index.pod(uid)
                # A parked pod is not gated: an annotation on it would make the scheduler try it.
                if pod is not None and pod.gated and pod.annotations.get(names.REASON) != said.reason:
                    yield pod, said.reason
