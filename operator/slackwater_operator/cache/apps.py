"""Which pods form which app, kept up to date as pods come, change and go.

Ten thousand pods change all the time; an app is put together again only when one of its own pods changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from slackwater_cluster.apps.duplicates import separated
from slackwater_cluster.apps.resolver import Member, Resolver
from slackwater_cluster.watch.records import OwnerRef, PodRecord
from slackwater_operator.cache.owners import OwnerMemory

# An app is known by its namespace and its id there.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod and what it is to its app."""

    record: PodRecord
    member: Member

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.record.uid


@dataclass
class AppIndex:
    """All managed pods, recognised."""

    resolver: Resolver
    counts: Callable[[PodRecord], bool]  # whether a pod is part of an app of ours
    kinship: OwnerMemory = field(default_factory=OwnerMemory)
    dirty: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._apps: dict[Key, dict[str, None]] = {}
        self._asking: dict[str, set[str]] = {}  # uid of an owner nobody looked at → pods that wait for it
        self._unknown: dict[str, tuple[OwnerRef, str]] = {}  # with the namespace it is in

    def __len__(self) -> int:
        return len(self._members)

    def set(self, pod: PodRecord) -> None:
        """Take in a pod that is new or changed."""
        if not self.counts(pod):
            self.drop(pod)
            return
        before = self.kinship.pods.get(pod.uid)
        parent = self.kinship.set(pod)
        if before is None or pod.uid not in self._members or _changed(before, pod):
            self._recognise(pod)
        else:
            self.dirty.add((pod.namespace, self._members[pod.uid].app))
        if parent is not None and parent.uid in self._members:
            self._recognise(parent)
        if before is None:
            self._answer(pod.uid)

    def drop(self, pod: PodRecord) -> None:
        """Forget a pod."""
        self.kinship.drop(pod)
        self._leave(pod.namespace, pod.uid)
        self._members.pop(pod.uid, None)

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """An owner was looked up: recognise anew who waited for it."""
        self.kinship.learn(owner, parents)
        self._answer(owner.uid)

    def use(self, resolver: Resolver) -> None:
        """Recognise everybody anew, by other rules."""
        self.resolver = resolver
        for pod in list(self.kinship.pods.values()):
            self._recognise(pod)

    def review(self, pods: Iterable[PodRecord]) -> None:
        """Look again at pods whose namespace became managed, or is so no longer."""
        for pod in pods:
            self.set(pod)

    def unknown(self) -> list[tuple[OwnerRef, str]]:
        """Owners to look up, and their namespace."""
        return list(self._unknown.values())

    def member(self, uid: str) -> Member | None:
        """What a pod is to its app."""
        return self._members.get(uid)

    def pod(self, uid: str) -> PodRecord | None:
        """A managed pod."""
        return self.kinship.pods.get(uid)

    def members(self, key: Key) -> Iterable[str]:
        """The uids of an app's pods."""
        return self._apps.get(key, {}).keys()

    def keys(self) -> Iterable[Key]:
        """All apps."""
        return self._apps.keys()

    def app(self, key: Key) -> dict[str, list[Pod]]:
        """The pods of an app, by final app id: one id, unless two drivers share it."""
        known = [(self.kinship.pods[uid], self._members[uid]) for uid in self._apps.get(key, ())]
        final = separated(known)
        result: dict[str, list[Pod]] = {}
        for record, _ in known:
            member = final[record.uid]
            result.setdefault(member.app, []).append(Pod(record, member))
        return result

    def _recognise(self, pod: PodRecord) -> None:
        member = self.resolver.resolve(pod, self.kinship)
        self._leave(pod.namespace, pod.uid)
        self._members[pod.uid] = member
        key = (pod.namespace, member.app)
        self._apps.setdefault(key, {})[pod.uid] = None
        self.dirty.add(key)
        if member.unknown is not None:
            self._asking.setdefault(member.unknown.uid, set()).add(pod.uid)
            self._unknown[member.unknown.uid] = (member.unknown, pod.namespace)

    def _leave(self, namespace: str, uid: str) -> None:
        known = self._members.get(uid)
        if known is None:
            return
        key = (namespace, known.app)
        self.dirty.add(key)
        members = self._apps.get(key, {})
        members.pop(uid, None)
        if not members:
            self._apps.pop(key, None)

    def _answer(self, owner: str) -> None:
        self._unknown.pop(owner, None)
        for uid in self._asking.pop(owner, set()):
            pod = self.kinship.pods.get(uid)
            if pod is not None:
                self._recognise(pod)


def _changed(before: PodRecord, now: PodRecord) -> bool:
    """Whether anything that recognition reads is different."""
    return (before.labels, before.annotations, before.owners, before.group) != (
        now.labels,
        now.annotations,
        now.owners,
        now.group,
    )
