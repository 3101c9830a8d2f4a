"""The two questions of kube-scheduler: which of these nodes may the pod use, and how much each one is liked.

    filter      1. not ours: everything passes   2. refused as a whole (parked, guard)   3. examined node by node
                   (one that a batch has placed: on its node alone, while that serves)
                4. the best is entered in the ledger at once (eq. 2), before the scheduler has decided anything
    prioritize  the same examination; the placement follows the node that leads now

There is no reserve hook and prioritize never learns who won, so it is a reservation: the watch confirms or
moves it, else it lapses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Unpack

from slackwater_cluster.customresources import Mode
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from slackwater_extender.cache import conversion
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.refusedpods import Unschedulable
from slackwater_extender.scheduling import wire
from slackwater_extender.scheduling.decisionlog import Decision, DecisionLog, Numbers, Result
from slackwater_extender.scheduling.evaluate import NOT_STARTED, Candidate, NodeFits, PodContext, case, examine, named
from slackwater_extender.scheduling.nodenames import RowFinder
from slackwater_extender.scheduling.userscore import UserScore

# What must have been listed once before the extender may refuse or place anything.
NEEDED = frozenset({"pods", "nodes", "namespaces", "SlackPolicy", "frameworks"})
SEEN = 1024  # pods remembered between filter and prioritize


@dataclass(slots=True)
class Verbs:
    """Filter and prioritize over one cache."""

    cache: ClusterCache
    decisions: DecisionLog
    waiting: Unschedulable
    own: UserScore | None = None
    # Pods asked about lately, by a digest of what was sent of them: prioritize follows filter.
    _seen: dict[bytes, PodRecord] = field(default_factory=dict)
    _pieces: wire.Priorities = field(default_factory=wire.Priorities)
    _finder: RowFinder = field(default_factory=RowFinder)

    def filter(self, question: wire.Question) -> tuple[bytes, Decision]:
        """Say which of the nodes the pod may use."""
        pod = self._record(question)
        with self.cache.lock:
            if self._too_early(pod):
                told = self._note("filter", case(self.cache, pod), Result.ERROR, reason=NOT_STARTED)
                return wire.failed(NOT_STARTED), told
            return self._filter(question, case(self.cache, pod))

    def prioritize(self, question: wire.Question) -> tuple[bytes, Decision]:
        """Say how much each node is liked, from 0 to 10."""
        pod = self._record(question)
        with self.cache.lock:
            found = case(self.cache, pod)
            if not found.ours or self._too_early(pod):
                return wire.flat(question), self._note("prioritize", found, Result.UNTOUCHED, asked=len(question.names))
            return self._prioritize(question, found)

    def _record(self, question: wire.Question) -> PodRecord:
        """The pod asked about, or what we know of it, if that is as new: the scheduler may not have seen it parked yet.

        One that was sent just before need not be read again.
        """
        held = self.cache.index.pods.get(question.meta.uid)
        if held is not None and as_new(held.version, question.meta.resource_version):
            return held
        sent = blake2b(question.raw, digest_size=16).digest()  # bodies may be of any size
        pod = self._seen.get(sent)
        if pod is None:
            if len(self._seen) >= SEEN:
                self._seen.clear()
            pod = self._seen[sent] = trim.pod(question.pod)
        return pod

    def _too_early(self, pod: PodRecord) -> bool:
        return pod.scheduler in self.cache.settings.schedulers and not self.cache.synced >= NEEDED

    def _filter(self, question: wire.Question, found: PodContext) -> tuple[bytes, Decision]:
        names = question.names
        if not found.ours:
            everything = wire.filtered(question, names, {}, {})
            return everything, self._note("filter", found, Result.UNTOUCHED, asked=len(names))
        if found.refusal is not None and found.mode is Mode.ENFORCE:
            nowhere = dict.fromkeys(names, found.refusal.value)
            return wire.filtered(question, [], {}, nowhere), self._refused(found, nowhere)
        if (alone := self._assigned(found, names)) is not None:
            return self._answer(question, found, alone)
        findings = examine(self.cache, found, names, self._finder)
        if found.mode is not Mode.ENFORCE:
            decision = self._noted("filter", found, findings, Result.OBSERVED)
            if found.mode is Mode.SCORE:
                self._place(found, decision.node)
            return wire.filtered(question, names, {}, {}), decision
        return self._answer(question, found, findings)

    def _assigned(self, found: PodContext, names: Sequence[str]) -> NodeFits | None:
        """The node that a batch placed the pod on, if it is asked about and still serves: the pod goes there alone.

        So a release need not nominate. A node that is hidden from us or serves no longer is given up for others.
        """
        node = self.cache.assigned_node(found.pod.uid)
        if not node or found.mode is not Mode.ENFORCE:
            return None
        if node in names and (alone := examine(self.cache, found, [node])).fitting:
            return alone
        self.cache.assigned.discard(found.pod.uid)
        return None

    def _answer(self, question: wire.Question, found: PodContext, findings: NodeFits) -> tuple[bytes, Decision]:
        best = findings.best(found.policy.score.shortlist)
        failed, unresolvable = findings.refused()
        decision = self._noted("filter", found, findings, Result.PLACED if best else Result.REFUSED, best[:1])
        if best:
            self._place(found, decision.node)
        else:
            self.cache.give_up_node(found.pod.uid)
            if self.cache.waits(found.pod.uid):
                self.waiting.add(found.pod, decision.reason)
        return wire.filtered(question, [each.name for each in best], failed, unresolvable), decision

    def _prioritize(self, question: wire.Question, found: PodContext) -> tuple[bytes, Decision]:
        findings = examine(self.cache, found, question.names, self._finder)
        observed = found.mode is Mode.OBSERVE
        result = Result.OBSERVED if observed else Result.PLACED if findings.fitting else Result.REFUSED
        decision = self._noted("prioritize", found, findings, result)
        if observed:
            return wire.flat(question), decision
        self._place(found, decision.node)
        return self._pieces.written(findings.scores()), decision

    def _place(self, found: PodContext, node: str) -> None:
        if node and not found.pod.node and self.cache.waits(found.pod.uid):
            self.cache.reserve(found.pod, node, found.role, found.app)
            self.waiting.drop(found.pod.uid)

    def _refused(self, found: PodContext, nodes: Mapping[str, str]) -> Decision:
        reason = found.refusal.value if found.refusal else ""
        counts = {reason: len(nodes)}
        return self._note("filter", found, Result.REFUSED, reason=reason, asked=len(nodes), counts=counts)

    def _noted(
        self, verb: str, found: PodContext, findings: NodeFits, result: Result, best: list[Candidate] | None = None
    ) -> Decision:
        """Remember a decision with its numbers."""
        counts = findings.counts()
        leaders = findings.best() if best is None else best
        return self._note(
            verb,
            found,
            result,
            reason="" if leaders else next(iter(counts), ""),
            asked=findings.asked,
            node=leaders[0].name if leaders else "",
            fitting=findings.fitting,
            counts=counts,
            room=named(self.cache.kinds, leaders[0].room) if leaders else {},
            own=self._own(found, findings),
        )

    def _own(self, found: PodContext, findings: NodeFits) -> str:
        """What a score of somebody else would have chosen, where nothing is decided."""
        if self.own is None or found.mode is not Mode.OBSERVE:
            return ""
        return self.own.leader(findings, conversion.ask(found.pod, self.cache.kinds, driver=found.driver))

    def _note(self, verb: str, found: PodContext, result: Result, **numbers: Unpack[Numbers]) -> Decision:
        return self.decisions.note(verb, found.pod, found.mode.value if found.ours else "", result, **numbers)


def as_new(version: str, other: str) -> bool:
    """Whether one resourceVersion of an object is another one, or came later: API servers write growing numbers."""
    if not version or not other:
        return False
    numbers = (version + other).isascii() and (version + other).isdigit()
    return version == other or (numbers and (len(version), version) > (len(other), other))
