"""The stock kube-scheduler with its own gang scheduling, an alpha feature of 1.36 (GenericWorkload, GangScheduling).

A gang is a PodGroup of scheduling.k8s.io/v1alpha2 that its pods name in `schedulingGroup`. Everything else is as with
the stock scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater_lab.peers.peer import Peer, first

if TYPE_CHECKING:
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.play import Create
    from slackwater_lab.live.pods import Stage

VERSION = "scheduling.k8s.io/v1alpha2"


class NativeGang(Peer):
    """Gangs by Kubernetes itself."""

    name = "stock-gang"
    told = "the members of a gang, in a PodGroup"
    gates = ("GenericWorkload", "GangScheduling")

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """A gang's group with its first pod, and each pod as a member; other pods are plain."""
        alone = super().creates(ask, stage)
        if not ask.play.gang:
            return alone
        [(path, pod)] = alone
        member = {**pod, "spec": {**pod["spec"], "schedulingGroup": {"podGroupName": ask.play.id}}}
        spec = {"schedulingPolicy": {"gang": {"minCount": ask.play.tasks}}}
        group = {"apiVersion": VERSION, "kind": "PodGroup", "metadata": {"name": ask.play.id}, "spec": spec}
        groups = f"/apis/{VERSION}/namespaces/{stage.namespace}/podgroups"
        return [(groups, group), (path, member)] if first(ask) else [(path, member)]
