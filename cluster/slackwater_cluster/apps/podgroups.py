"""Kubernetes' own gangs: PodGroups of the Workload API, which pods name in their schedulingGroup.

A PodGroup with a gang policy says how many of its pods start together (`minCount`). kube-scheduler lets no pod in
before its PodGroup exists and so many pods name it; whoever holds pods back has to know the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slackwater_cluster.apps.size import MOST_TASKS
from slackwater_cluster.objects.records import PodGroupRecord, PodRecord

GroupKey = tuple[str, str]  # namespace and name
# Versions of the API that come with a kube-scheduler whose queue holds a PodGroup as one, gated while one pod of it is.
QUEUED_WHOLE = frozenset({"v1beta1"})


class PodGroups:
    """Every PodGroup, by the version of the API that told of it: while a cluster is upgraded two may.

    `served` says whether the API server serves PodGroups that we may read. Where it does not, a group that a pod names
    is a name and nothing more. `parted` says whether the pods of a pod's group are in several apps: such a group is no
    gang of any of them.
    """

    def __init__(
        self, served: Callable[[], bool] = lambda: False, parted: Callable[[PodRecord], bool] = lambda _: False
    ) -> None:
        self.served = served
        self._parted = parted
        self._least: dict[str, dict[GroupKey, int]] = {}

    def set(self, version: str, records: Iterable[PodGroupRecord]) -> frozenset[GroupKey]:
        """PodGroups are new or changed; returns those of which something is told that was not known."""
        known = self._least.setdefault(version, {})
        told = {_key(each): min(max(each.least, 0), MOST_TASKS) for each in records}
        changed = frozenset(key for key, least in told.items() if known.get(key) != least)
        known.update(told)
        return changed

    def drop(self, version: str, records: Iterable[PodGroupRecord]) -> frozenset[GroupKey]:
        """PodGroups are gone; returns them."""
        known = self._least.get(version, {})
        return frozenset(key for each in records if known.pop(key := _key(each), None) is not None)

    def least(self, pod: PodRecord) -> int:
        """How many pods of its group start together with a pod at the least; 0: it is in no gang."""
        return 0 if not pod.group or self._parted(pod) else self._of(pod) or 0

    def missing(self, pod: PodRecord) -> bool:
        """Whether a pod names a group that does not exist yet."""
        return bool(pod.group) and self._of(pod) is None and self.served()

    def queued_whole(self, pod: PodRecord) -> bool:
        """Whether kube-scheduler looks at a pod only once nobody of its group is behind a gate."""
        return bool(pod.group) and any(group_key(pod) in self._least.get(version, ()) for version in QUEUED_WHOLE)

    def _of(self, pod: PodRecord) -> int | None:
        key = group_key(pod)
        return next((found for each in self._least.values() if (found := each.get(key)) is not None), None)


def group_key(pod: PodRecord) -> GroupKey:
    """The PodGroup that a pod names."""
    return (pod.namespace, pod.group)


def _key(group: PodGroupRecord) -> GroupKey:
    return (group.namespace, group.name)
