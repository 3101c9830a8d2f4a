"""Which app each pod belongs to, its role and its stage: one answer for operator, extender, monitor and command line.

    pod → Resolver (labels, framework table, owners) → duplicates told apart → Member

Kept up to date as pods come, change and go. What is held per pod is its record and nothing else: pods that look alike
share one Member, because an extender holds 150,000 of them.

Duplicates: drivers that nobody owns and that carry the same app label. The label alone cannot tell them apart, so the
first one keeps the id, each later one becomes an app of its own, and tasks follow the driver that owns them. A driver
that ended or is being deleted is no duplicate: its successor takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from slackwater_cluster import names
from slackwater_cluster.apps.appids import bounded
from slackwater_cluster.apps.namesakes import Namesakes
from slackwater_cluster.apps.owners import KnownOwners
from slackwater_cluster.apps.recent import RecentAnswers
from slackwater_cluster.apps.resolver import NAMED, Member, Resolver, Rule
from slackwater_cluster.frameworks import FrameworkTable, RoleRule, builtin
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import OwnerKey, OwnerRef, PodRecord

# Distinct looks of pods whose answer is remembered at least; in a larger cluster as many as there are pods.
REMEMBERED = 1_000

Look = tuple[object, ...]
AppKey = tuple[str, str]  # namespace, and the id within it


def app_id(namespace: str, app: str) -> str:
    """The app's name in the whole cluster."""
    return f"{namespace}/{app}"


def keys_read(table: FrameworkTable, rules: Iterable[RoleRule] = ()) -> frozenset[str]:
    """Every label and annotation that recognition may read."""
    keys = {names.ROLE, names.PARENTS, names.ADMITTED_ROLE, *NAMED}
    for row in table.frameworks:
        keys.update(row.app, row.title, row.stage, {row.coordinator})
        keys.update(term.key for term in (*row.when, *row.drivers, *row.tasks))
    keys.update(term.key for rule in rules for term in rule.terms)
    return frozenset(keys - {""})


class PodIndex(KnownOwners):
    """Pods, recognised. Those that governance does not manage are only known as owners."""

    def __init__(self, governance: Governance, table: FrameworkTable | None = None) -> None:
        super().__init__()
        self._governance = governance
        self.table = table or builtin()
        self._rules = governance.role_rules()
        self._resolvers: dict[str, Resolver] = {}  # by policy
        self._keys = keys_read(self.table)
        self._remembered = RecentAnswers[Look, Member]()
        self._latest: tuple[PodRecord | None, Member | None] = (None, None)  # a pod just taken in is asked about next
        self._owner_looks: dict[str, object] = {}  # what recognition reads of pods that own pods, by uid
        self._asking: dict[OwnerKey, dict[str, None]] = {}  # an owner nobody looked at → uids of pods that wait for it
        self._unknown: dict[OwnerKey, tuple[OwnerRef, str]] = {}  # that owner, and the namespace it is in
        self._waiting: dict[str, OwnerKey] = {}  # uid of a pod → the owner it waits for
        self._drivers: dict[str, AppKey] = {}  # living drivers that nobody owns, by uid
        self._namesakes: dict[AppKey, Namesakes] = {}  # the same by app
        self._later: set[str] = set()  # those of them that are not the first with their id

    # -- what the watch tells -----------------------------------------------------------------------------------------

    def set_pod(self, pod: PodRecord) -> list[PodRecord]:
        """Take in a pod that is new or changed; return the other pods whose answer may be different now."""
        self._latest = (None, None)
        self._owner_looks.pop(pod.uid, None)
        before = self.pods.get(pod.uid)
        parent = self.add(pod)
        again: list[PodRecord] = []
        if parent is not None:  # its first child makes it a driver
            again += [parent, *self._recognise(parent)]
        different = before is None or _differs(before, pod)
        if different or pod.uid in self._drivers:
            again += self._recognise(pod)
        if before is None:
            again += self._answered((pod.namespace, pod.uid))
        if different and self._stands_otherwise(before, pod):
            again += self._reviewed(self._owned_by({(pod.namespace, pod.uid)}))
        return [each for each in again if each.uid != pod.uid]

    def drop_pod(self, pod: PodRecord) -> list[PodRecord]:
        """Forget a pod; return the other pods whose answer may be different now."""
        self._latest = (None, None)
        self._owner_looks.pop(pod.uid, None)
        self.remove(pod.uid)
        self._ask(pod.uid, pod.namespace, None)
        return self._lead(pod.uid, None)

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> list[PodRecord]:
        """An owner was looked up: return the pods that waited for it."""
        self._latest = (None, None)
        self.set_parents(owner, parents)
        return self._answered(owner.key)

    def follow(self, table: FrameworkTable) -> bool:
        """Follow the framework table and the policies' role labels; where they are others, every pod needs a review."""
        rules = self._governance.role_rules()
        if table == self.table and rules == self._rules:
            return False
        self.table, self._rules, self._latest = table, rules, (None, None)
        self._keys = keys_read(table, [rule for some in rules.values() for rule in some])
        self._owner_looks.clear()
        self._remembered.clear()
        for memory in (self._resolvers, self._asking, self._unknown, self._waiting):
            memory.clear()
        self._drivers.clear()
        self._namesakes.clear()
        self._later.clear()
        return True

    def review(self, pod: PodRecord) -> list[PodRecord]:
        """Look again at a pod: the table, its namespace or its policy changed. Returns other pods this concerns."""
        self._latest = (None, None)
        return self._recognise(pod)

    # -- what is asked ------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> frozenset[str]:
        """The labels that must be kept of pods."""
        return self._keys

    def member(self, pod: PodRecord) -> Member:
        """What a pod is to its app."""
        member = self._resolved(pod)
        if not self._later:
            return member
        driver = next((uid for uid in (pod.uid, *(owner.uid for owner in pod.owners)) if uid in self._later), "")
        if not driver or member.rule is not Rule.FRAMEWORK:
            return member
        doubt = f"another driver already runs as {member.app!r}; give each app an id of its own"
        return replace(member, app=bounded(f"{member.app}@{driver[:8]}"), doubts=(*member.doubts, doubt))

    def unknown(self) -> list[tuple[OwnerRef, str]]:
        """Owners to look up, and their namespace."""
        return list(self._unknown.values())

    def asking(self, owner: OwnerKey) -> list[PodRecord]:
        """The pods whose app depends on what stands above an owner, by its key."""
        return [pod for uid in self._asking.get(owner, ()) if (pod := self.pods.get(uid)) is not None]

    # -- parts --------------------------------------------------------------------------------------------------------

    def _recognise(self, pod: PodRecord) -> list[PodRecord]:
        """Look at a pod anew; return other pods that this makes different."""
        if not self._governance.manages(pod):
            self._ask(pod.uid, pod.namespace, None)
            return self._lead(pod.uid, None)
        member = self._resolved(pod)
        self._ask(pod.uid, pod.namespace, member.unknown)
        return self._lead(pod.uid, (pod.namespace, member.app) if _leads(pod, member) else None)

    def _ask(self, uid: str, namespace: str, owner: OwnerRef | None) -> None:
        """Note which owner a pod waits for; none, where all are known."""
        before = self._waiting.pop(uid, None)
        if before is not None and (owner is None or before != owner.key):
            waiting = self._asking.get(before, {})
            waiting.pop(uid, None)
            if not waiting:
                self._asking.pop(before, None)
                self._unknown.pop(before, None)
        if owner is not None:
            self._waiting[uid] = owner.key
            self._asking.setdefault(owner.key, {})[uid] = None
            self._unknown[owner.key] = (owner, namespace)

    def _answered(self, owner: OwnerKey) -> list[PodRecord]:
        """An owner is known now: recognise the pods that waited for it, and return all pods that this concerns."""
        if owner not in self._asking:
            return []
        return self._reviewed(self.asking(owner))

    def _reviewed(self, pods: list[PodRecord]) -> list[PodRecord]:
        """Recognise pods anew; return them and the others that this concerns."""
        return [*pods, *(other for pod in pods for other in self._recognise(pod))]

    def _stands_otherwise(self, before: PodRecord | None, pod: PodRecord) -> bool:
        """Whether pods that are here are owned by a pod that is another one than they were recognised by."""
        if not self.owns_pods(pod):
            return False
        if before is None:  # those that wait for it are answered; others only where somebody looked it up before
            return (pod.namespace, pod.uid) in self._parents
        return self._stands(before) != self._stands(pod)

    def _owned_by(self, owners: set[OwnerKey]) -> list[PodRecord]:
        """The pods that name one of these owners; all pods of their namespaces are looked through."""
        places = {namespace for namespace, _ in owners}
        near = [each for each in self.pods.values() if each.owners and each.namespace in places]
        return [each for each in near if any(owner.key in owners for owner in each.owners)]

    def _resolved(self, pod: PodRecord) -> Member:
        latest, known = self._latest
        if latest is pod and known is not None:
            return known
        look = self._look(pod)
        found = self._answer(look, pod)
        if found.rule is Rule.ALONE and pod.owners:  # none of its owners is one app: the app has the pod's name
            found = self._answer((*look, pod.name), pod)
        self._latest = (pod, found)
        return found

    def _answer(self, look: Look, pod: PodRecord) -> Member:
        """What is remembered of pods that look so, or what the pod is found to be."""
        found = self._remembered.get(look)
        if found is None or (found.unknown is not None and self.knows(found.unknown)):
            found = self._resolver(pod.namespace).resolve(pod, self)
            self._remembered.put(look, found, max(REMEMBERED, len(self.pods)))
        return found

    def _resolver(self, namespace: str) -> Resolver:
        policy = self._governance.policy_name(namespace)
        found = self._resolvers.get(policy)
        if found is None:
            found = self._resolvers[policy] = Resolver.of(self.table, self._rules.get(policy, ()))
        return found

    def _look(self, pod: PodRecord) -> Look:
        """All that recognition reads. Labels that only number the pods of an app are none of it.

        Nor is the name of a pod with owners, as long as one of them is an app.
        """
        owners = pod.owners
        return (
            pod.namespace,
            self._governance.policy_name(pod.namespace),
            self._read(pod.labels),
            self._read(pod.annotations),
            owners or pod.name,
            pod.group,
            pod.hostname,
            self.owns_pods(pod),
            tuple([self._owner_look(owner.uid) for owner in owners if owner.kind == "Pod"]) if owners else (),
        )

    def _owner_look(self, uid: str) -> object:
        """What recognition reads of a pod that owns pods, kept while it is there; None where it is not known."""
        found = self._owner_looks.get(uid)
        if found is None and (pod := self.pod(uid)) is not None:
            found = self._stands(pod)
            if uid in self.pods:
                self._owner_looks[uid] = found
        return found

    def _stands(self, pod: PodRecord) -> Look:
        """What recognition of the pods that a pod owns reads of it: all that makes its own app."""
        return (self._read(pod.labels), self._read(pod.annotations), pod.owners, pod.group)

    def _read(self, strings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        keys = self._keys
        return tuple([item for item in strings.items() if item[0] in keys])

    # -- duplicates ---------------------------------------------------------------------------------------------------

    def _lead(self, uid: str, key: AppKey | None) -> list[PodRecord]:
        """Note under which app a driver stands that nobody owns, or that it is none; return pods that changed app."""
        known = self._drivers.get(uid)
        if known == key:
            return []
        changed: set[str] = set()
        if known is not None:
            del self._drivers[uid]
            changed |= self._resign(uid, known)
        if key is not None:
            self._drivers[uid] = key
            changed |= self._join(self.pods[uid], key)
        return self._with_tasks(changed) if changed else []

    def _join(self, driver: PodRecord, app: AppKey) -> set[str]:
        """A driver takes an id; returns those for whom it is new that they are, or are not, the first with it."""
        namesakes = self._namesakes.setdefault(app, Namesakes())
        before = namesakes.first
        namesakes.add(driver)
        later = before if namesakes.first == driver.uid else driver.uid
        if later:
            self._later.add(later)
        return {later} if later else set()

    def _resign(self, uid: str, app: AppKey) -> set[str]:
        """A driver gives up an id; returns as `_join` does."""
        namesakes = self._namesakes[app]
        namesakes.drop(uid)
        if not namesakes:
            del self._namesakes[app]
        changed = {uid, namesakes.first} & self._later
        self._later -= changed
        return changed

    def _with_tasks(self, drivers: set[str]) -> list[PodRecord]:
        """Drivers and the pods they own. Only where two drivers share an id are all pods looked through."""
        found = [self.pods[uid] for uid in drivers if uid in self.pods]
        owning = {(pod.namespace, pod.uid) for pod in found if self.owns_pods(pod)}
        return found + self._owned_by(owning) if owning else found


def _leads(pod: PodRecord, member: Member) -> bool:
    """Whether a pod is a living driver that nobody owns and that only its label names."""
    if pod.done or pod.deleted or pod.owners:
        return False
    return member.rule is Rule.FRAMEWORK and member.role == names.DRIVER


def _differs(before: PodRecord, now: PodRecord) -> bool:
    """Whether anything that recognition reads is different."""
    if before.labels is now.labels and before.annotations is now.annotations and before.owners is now.owners:
        return before.group != now.group
    return (before.labels, before.annotations, before.owners, before.group) != (
        now.labels,
        now.annotations,
        now.owners,
        now.group,
    )
