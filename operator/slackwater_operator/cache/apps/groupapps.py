"""Which apps the pods of each PodGroup are in.

A gang is released app by app. Where pods of one PodGroup are in several apps, none of them would ever be whole: such a
group is no gang of ours, and kube-scheduler alone holds it together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from slackwater_cluster.apps.membership import AppKey
from slackwater_cluster.apps.podgroups import GroupKey, group_key
from slackwater_cluster.objects.records import PodRecord


class GroupApps:
    """Apps by PodGroup, kept up to date as pods come and go. Pods without a group cost nothing."""

    def __init__(self) -> None:
        self._apps: dict[GroupKey, Counter[AppKey]] = {}
        self._of: dict[str, tuple[GroupKey, AppKey]] = {}  # by uid

    def join(self, pod: PodRecord, app: AppKey) -> Collection[AppKey]:
        """A pod is in an app; returns the apps of its group, if there are more of them now."""
        if not pod.group or pod.uid in self._of:
            return ()
        group = group_key(pod)
        self._of[pod.uid] = (group, app)
        apps = self._apps.setdefault(group, Counter())
        apps[app] += 1
        return apps.keys() if apps[app] == 1 else ()

    def leave(self, uid: str) -> Collection[AppKey]:
        """A pod is in its app no more; returns the apps that are left of its group, if there are fewer now."""
        if uid not in self._of:
            return ()
        group, app = self._of.pop(uid)
        apps = self._apps[group]
        apps[app] -= 1
        if apps[app]:
            return ()
        del apps[app]
        if not apps:
            del self._apps[group]
        return apps.keys()

    def several(self, pod: PodRecord) -> bool:
        """Whether the pods of a pod's group are in several apps."""
        return len(self._apps.get(group_key(pod), ())) > 1
