"""Which app, role, stage and user each pod of the past belongs to: the same rules as on the live cluster.

Prometheus tells owners by kind and name, without API group and uid. So the kind alone vouches for a framework's label,
and `namespace/kind/name` stands for the uid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slackwater_cluster.apps.resolver import Resolver
from slackwater_cluster.apps.runs import series
from slackwater_cluster.frameworks import FrameworkTable
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from slackwater_monitor.assessment.pods import Key, Pod, PodHistory

# Labels that usually name who started a pod, tried in this order after the ones given.
USERS = ("slackwater.io/user", "user", "username", "owner", "sparkoperator.k8s.io/submitted-by", "created-by")


@dataclass(frozen=True, slots=True)
class Member:
    """A pod's place in the world."""

    app: str
    role: str
    stage: str
    user: str
    node: str
    framework: str = ""

    @property
    def family(self) -> str:
        """The app without what tells its runs apart."""
        return series(self.app)


@dataclass
class _Past:
    """The lineage of all pods of the period; implements what the resolver asks."""

    census: PodHistory
    groups: Mapping[str, str]
    records: dict[str, PodRecord] = field(default_factory=dict)
    owners: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for key, pod in self.census.pods.items():
            self.records[_uid(key[0], "Pod", key[1])] = self.record(key, pod)
            if pod.owner[1]:
                self.owners.add(_uid(key[0], *pod.owner))

    def record(self, key: Key, pod: Pod) -> PodRecord:
        namespace, name = key
        owners = (self.reference(namespace, *pod.owner),) if pod.owner[1] else ()
        uid = _uid(namespace, "Pod", name)
        return PodRecord(name=name, namespace=namespace, uid=uid, labels=pod.labels, owners=owners)

    def reference(self, namespace: str, kind: str, name: str) -> OwnerRef:
        return OwnerRef(kind, name, _uid(namespace, kind, name), self.groups.get(kind, ""), True, namespace)

    def pod(self, uid: str) -> PodRecord | None:
        return self.records.get(uid)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef]:
        namespace = owner.uid.partition("/")[0]
        above = self.census.above.get((namespace, owner.kind, owner.name))
        return (self.reference(namespace, *above),) if above else ()

    def owns_pods(self, pod: PodRecord) -> bool:
        return pod.uid in self.owners


def members(census: PodHistory, table: FrameworkTable, user_labels: Iterable[str] = ()) -> dict[Key, Member]:
    """Every pod's place."""
    past = _Past(census, _groups(table))
    resolver = Resolver.of(table)
    chosen = (*user_labels, *USERS)
    found = {}
    for key, pod in census.pods.items():
        member = resolver.resolve(past.records[_uid(key[0], "Pod", key[1])], past)
        found[key] = Member(
            member.app, member.role, member.stage, _user(pod.labels, chosen, key[0]), pod.node, member.framework
        )
    return found


def _user(labels: Mapping[str, str], chosen: Iterable[str], namespace: str) -> str:
    """The first label that names one; else the namespace, which is whom most clusters bill."""
    return next((labels[key] for key in chosen if labels.get(key)), namespace)


def _groups(table: FrameworkTable) -> dict[str, str]:
    return {rule.kind: rule.group for row in table.frameworks for rule in row.owners if rule.group}


def _uid(namespace: str, kind: str, name: str) -> str:
    return f"{namespace}/{kind}/{name}"
