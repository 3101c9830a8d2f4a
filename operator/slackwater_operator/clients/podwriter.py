"""The few writes to pods, each safe to repeat: nominate, lift the gate, park, un-park, clear, tell a reason.

Every patch names the pod's uid, so that a pod made anew under the same name is never touched by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from slackwater.errors import Unavailable
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.contenttypes import MERGE, STRATEGIC
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.gate import lifted
from slackwater_cluster.pods.requests import native
from slackwater_operator.learning.usage import resized

GONE = (404, 409)  # it does not exist, or another pod has its name
TOO_MANY = 429  # a disruption budget's answer to an eviction
WATCH_DELAY = 1.0  # seconds within which a write has reached every watch, ours and the extender's
BUDGETS = "PodDisruptionBudget"  # in the words of the 500 that a pod gets which two budgets select


class WriteOutcome(StrEnum):
    """What became of a write."""

    DONE = "done"
    GONE = "gone"  # the pod is not there any more
    REFUSED = "refused"  # the API server said no, and will again


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome and the server's words, where it refused."""

    outcome: WriteOutcome
    message: str = ""

    @property
    def done(self) -> bool:
        """Whether it is written."""
        return self.outcome is WriteOutcome.DONE


DONE = Written(WriteOutcome.DONE)


@dataclass(frozen=True, slots=True)
class PodWriter:
    """Writes to pods through one paced session. Unavailable is raised: the caller decides about later."""

    session: Session

    async def release(self, pod: PodRecord, node: str) -> Written:
        """Nominate and lift the gate back to back: a gated pod with a nomination already takes room from others."""
        if node:
            nominated = await self.nominate(pod, node)
            if not nominated.done:
                return nominated
        return await self.ungate(pod)

    async def nominate(self, pod: PodRecord, node: str) -> Written:
        """Write status.nominatedNodeName; an empty node clears it."""
        status = {"nominatedNodeName": node or None}
        return await self._patch(f"{path(pod)}/status", {"status": status}, pod)

    async def ungate(self, pod: PodRecord) -> Written:
        """Remove our gate and the reason it was held for, perhaps written a moment ago; gates of others stay."""
        return await self._patch(path(pod), lifted(pod.uid, (names.GATE,), {*pod.annotations, names.REASON}), pod)

    async def park(self, pod: PodRecord, when: str, node: str = "") -> Written:
        """Take a release back: the filter refuses the pod from now on. The nomination goes with it.

        `node` was named for it last: the watch may not have shown that yet.
        """
        marked = await self.annotate(pod, names.PARKED, when)
        return await self.nominate(pod, "") if marked.done and (pod.nominated or node) else marked

    async def unpark(self, pod: PodRecord, node: str) -> Written:
        """Release a parked pod again. The mark goes first: a nomination of a parked pod would be refused at once."""
        cleared = await self.annotate(pod, names.PARKED, None)
        return await self.nominate(pod, node) if cleared.done and node else cleared

    async def annotate(self, pod: PodRecord, key: str, value: str | None) -> Written:
        """Write one annotation, or remove it."""
        return await self._patch(path(pod), {"metadata": {"annotations": {key: value}}}, pod, MERGE)

    async def resize(self, pod: PodRecord, wanted: Resources) -> Written:
        """Set a gated pod's requests; its containers must be read first, because records do not keep them."""
        answer = await self.session.get(path(pod))
        if not answer.ok:
            return _written(answer)
        # In proportion to what it asks for now, not to what the watch showed: a second time then changes nothing.
        now = native(msgspec.json.decode(answer.body, type=wire.Pod))
        patch = resized(answer.json()["spec"]["containers"], now, wanted)
        return DONE if patch is None else await self._patch(f"{path(pod)}/resize", patch, pod)

    async def evict(self, pod: PodRecord) -> Written:
        """Ask for a pod's eviction; a disruption budget may refuse, for now."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        answer = await self.session.write("POST", f"{path(pod)}/eviction", body)
        kept = answer.status == TOO_MANY or (answer.status == 500 and BUDGETS in answer.message())
        return Written(WriteOutcome.REFUSED, answer.message()) if kept else _written(answer)

    async def _patch(self, where: str, body: dict[str, Any], pod: PodRecord, kind: str = STRATEGIC) -> Written:
        body["metadata"] = {**body.get("metadata", {}), "uid": pod.uid}
        return _written(await self.session.write("PATCH", where, body, content_type=kind))


def path(pod: PodRecord) -> str:
    """The pod's address."""
    return api_path("pods", pod.name, namespace=pod.namespace)


def _written(answer: Answer) -> Written:
    if answer.ok:
        return DONE
    # A uid that is not the stored pod's reads as an attempt to change it.
    successor = answer.status == 422 and "metadata.uid" in answer.message()
    if answer.status in GONE or successor:
        return Written(WriteOutcome.GONE, answer.message())
    if answer.status in (401, 403, 422, 400):
        return Written(WriteOutcome.REFUSED, answer.message())
    raise Unavailable(f"API server: {answer.message()}")
