"""Which pods form which app, kept up to date as pods come, change and go.

Which app a pod belongs to is answered by the index that all programs share; here pods are grouped by that answer. Ten
thousand pods change all the time; an app is put together again only when one of its own pods changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slackwater.roles import Role
from slackwater_cluster.apps.membership import AppKey, PodIndex
from slackwater_cluster.apps.resolver import Member, role_of
from slackwater_cluster.frameworks import FrameworkTable
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import OwnerKey, OwnerRef, PodRecord

Key = AppKey


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod and what it is to its app."""

    record: PodRecord
    member: Member

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.record.uid

    @property
    def role(self) -> Role:
        """The role for admission."""
        return role_of(self.record, self.member)


class AppIndex:
    """All managed pods by app. `dirty` are the apps of which a pod changed since somebody emptied it.

    Pods of managed namespaces that are not ours, such as a DaemonSet's, are known as owners of others only.
    """

    def __init__(self, governance: Governance, table: FrameworkTable | None = None) -> None:
        self.index = PodIndex(governance, table)
        self.dirty: set[Key] = set()
        self._governance = governance
        self._members: dict[str, Member] = {}
        self._apps: dict[Key, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def set(self, pod: PodRecord) -> None:
        """Take in a pod that is new or changed."""
        if not self._governance.managed(pod.namespace):
            self.drop(pod)
            return
        before = self.index.pods.get(pod.uid)
        if before is not None and before.namespace != pod.namespace:  # no API server gives a uid twice
            self.drop(before)
        others = self.index.set_pod(pod)
        if not self._governance.manages(pod):
            self._leave(pod.namespace, pod.uid)
        for each in (pod, *others):
            self._place(each)

    def drop(self, pod: PodRecord) -> None:
        """Forget a pod."""
        known = self.index.pods.get(pod.uid, pod)
        others = self.index.drop_pod(known)
        self._leave(known.namespace, pod.uid)
        for each in others:
            self._place(each)

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """An owner was looked up: recognise anew who waited for it."""
        for pod in self.index.learn(owner, parents):
            self._place(pod)

    def follow(self, table: FrameworkTable) -> None:
        """Recognise everybody anew, if the framework table or the role labels of policies are others."""
        if self.index.follow(table):
            self.review(list(self.index.pods.values()))

    def review(self, pods: Iterable[PodRecord]) -> None:
        """Look again at pods whose namespace became managed, is so no longer, or follows another policy."""
        for pod in pods:
            self.set(pod)
            for each in self.index.review(pod):
                self._place(each)

    @property
    def table(self) -> FrameworkTable:
        """The framework table that is followed."""
        return self.index.table

    def unknown(self) -> list[tuple[OwnerRef, str]]:
        """Owners to look up, and their namespace."""
        return self.index.unknown()

    def asking(self, owner: OwnerKey) -> list[PodRecord]:
        """The pods that wait for an owner to be looked up."""
        return self.index.asking(owner)

    def member(self, uid: str) -> Member | None:
        """What a pod is to its app."""
        return self._members.get(uid)

    def pod(self, uid: str) -> PodRecord | None:
        """A managed pod."""
        return self.index.pods.get(uid) if uid in self._members else None

    def pods(self) -> Iterable[PodRecord]:
        """All managed pods."""
        return [self.index.pods[uid] for uid in self._members]

    def members(self, key: Key) -> Iterable[str]:
        """The uids of an app's pods."""
        return self._apps.get(key, {}).keys()

    def keys(self) -> Iterable[Key]:
        """All apps."""
        return self._apps.keys()

    def app(self, key: Key) -> list[Pod]:
        """The pods of an app."""
        return [Pod(self.index.pods[uid], self._members[uid]) for uid in self._apps.get(key, ())]

    def _place(self, pod: PodRecord) -> None:
        """Put a pod into the app it belongs to now."""
        if pod.uid not in self.index.pods or not self._governance.manages(pod):
            return
        member = self.index.member(pod)
        known = self._members.get(pod.uid)
        if known is not None and known.app != member.app:
            self._leave(pod.namespace, pod.uid)
        self._members[pod.uid] = member
        key = (pod.namespace, member.app)
        self._apps.setdefault(key, {})[pod.uid] = None
        self.dirty.add(key)

    def _leave(self, namespace: str, uid: str) -> None:
        known = self._members.pop(uid, None)
        if known is None:
            return
        key = (namespace, known.app)
        self.dirty.add(key)
        members = self._apps.get(key, {})
        members.pop(uid, None)
        if not members:
            self._apps.pop(key, None)
