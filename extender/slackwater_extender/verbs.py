"""The two questions of kube-scheduler: which of these nodes may the pod use, and how much each one is liked.

    filter      1. not ours: everything passes   2. refused as a whole (parked, guard)   3. examined node by node
                4. the best is entered in the ledger at once (eq. 2), before the scheduler has decided anything
    prioritize  the same examination; the placement follows the node that leads now

There is no reserve hook and prioritize never learns who won, so the placement is provisional: the watch confirms or
moves it, else it lapses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slackwater_cluster import trimming
from slackwater_cluster.customresources import Mode
from slackwater_cluster.records import PodRecord
from slackwater_extender import wire
from slackwater_extender.books import Books
from slackwater_extender.decisions import Decision, Result, Ring
from slackwater_extender.judging import NOT_STARTED, Case, Findings, case, examine, named
from slackwater_extender.waiting import Waiting

# What must have been listed once before the extender may refuse or place anything.
NEEDED = frozenset({"pods", "nodes", "namespaces", "SlackPolicy"})


@dataclass(frozen=True, slots=True)
class Verbs:
    """Filter and prioritize over one set of books."""

    books: Books
    ring: Ring
    waiting: Waiting

    def filter(self, question: wire.Question) -> tuple[bytes, Decision]:
        """Say which of the nodes the pod may use."""
        pod = trimming.pod(question.pod)
        with self.books.lock:
            if self._too_early(pod):
                return wire.failed(NOT_STARTED), self._note("filter", case(self.books, pod), Result.ERROR, NOT_STARTED)
            return self._filter(question, case(self.books, pod))

    def prioritize(self, question: wire.Question) -> tuple[bytes, Decision]:
        """Say how much each node is liked, from 0 to 10."""
        pod = trimming.pod(question.pod)
        with self.books.lock:
            found = case(self.books, pod)
            if not found.ours or self._too_early(pod):
                return wire.flat(question), self._note("prioritize", found, Result.UNTOUCHED, asked=len(question.names))
            return self._prioritize(question, found)

    def _too_early(self, pod: PodRecord) -> bool:
        return pod.scheduler in self.books.settings.schedulers and not self.books.synced >= NEEDED

    def _filter(self, question: wire.Question, found: Case) -> tuple[bytes, Decision]:
        names = question.names
        if not found.ours:
            everything = wire.filtered(question, names, {}, {})
            return everything, self._note("filter", found, Result.UNTOUCHED, asked=len(names))
        if found.refusal is not None and found.mode is Mode.ENFORCE:
            nowhere = dict.fromkeys(names, found.refusal.value)
            return wire.filtered(question, [], {}, nowhere), self._refused(found, nowhere)
        findings = examine(self.books, found, names)
        if found.mode is not Mode.ENFORCE:
            decision = self._noted("filter", found, findings, Result.OBSERVED)
            if found.mode is Mode.SCORE:
                self._place(found, decision.node)
            return wire.filtered(question, names, {}, {}), decision
        return self._answer(question, found, findings)

    def _answer(self, question: wire.Question, found: Case, findings: Findings) -> tuple[bytes, Decision]:
        rows = findings.best(found.policy.score.shortlist).tolist()
        failed, unresolvable = findings.refused()
        decision = self._noted("filter", found, findings, Result.PLACED if rows else Result.REFUSED, rows[:1])
        if rows:
            self._place(found, decision.node)
        else:
            self.books.unplace(found.pod.uid)
            self.waiting.add(found.pod, decision.reason)
        return wire.filtered(question, [findings.name(row) for row in rows], failed, unresolvable), decision

    def _prioritize(self, question: wire.Question, found: Case) -> tuple[bytes, Decision]:
        findings = examine(self.books, found, question.names)
        observed = found.mode is Mode.OBSERVE
        result = Result.OBSERVED if observed else Result.PLACED if findings.fitting else Result.REFUSED
        decision = self._noted("prioritize", found, findings, result)
        if observed:
            return wire.flat(question), decision
        self._place(found, decision.node)
        points = np.zeros(len(findings.names), np.int16)
        points[findings.known] = findings.points
        return wire.prioritised(findings.names, points.tolist()), decision

    def _place(self, found: Case, node: str) -> None:
        if node and not found.pod.node:
            self.books.place(found.pod, node, found.role, found.app)
            self.waiting.drop(found.pod.uid)

    def _refused(self, found: Case, nodes: Mapping[str, str]) -> Decision:
        reason = found.refusal.value if found.refusal else ""
        return self._note("filter", found, Result.REFUSED, reason, asked=len(nodes), counts={reason: len(nodes)})

    def _noted(
        self, verb: str, found: Case, findings: Findings, result: Result, best: list[int] | None = None
    ) -> Decision:
        """Remember a decision with its numbers."""
        counts = findings.counts()
        leaders = findings.best().tolist() if best is None else best
        room = named(findings.table.kinds, findings.table.room[leaders[0]].tolist()) if leaders else {}
        reason = "" if leaders else next(iter(counts), "")
        return self._note(
            verb,
            found,
            result,
            reason,
            asked=len(findings.names),
            node=findings.name(leaders[0]) if leaders else "",
            fitting=findings.fitting,
            counts=counts,
            room=room,
        )

    def _note(
        self,
        verb: str,
        found: Case,
        result: Result,
        reason: str = "",
        *,
        asked: int = 0,
        node: str = "",
        fitting: int = 0,
        counts: Mapping[str, int] | None = None,
        room: Mapping[str, float] | None = None,
    ) -> Decision:
        pod = found.pod
        decision = Decision(
            id=self.ring.next_id(),
            at=self.books.wall(),
            verb=verb,
            namespace=pod.namespace,
            pod=pod.name,
            uid=pod.uid,
            mode=found.mode.value if found.ours else "",
            result=result,
            node=node,
            reason=reason,
            asked=asked,
            fitting=fitting,
            counts=counts or {},
            declared=dict(pod.declared),
            room=room or {},
        )
        if result is not Result.UNTOUCHED:  # pods of others would only push ours out of the ring
            self.ring.add(decision)
        return decision
