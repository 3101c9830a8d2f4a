"""Which app a pod belongs to, what it is to that app, and how we know.

The rules are tried in this order, and the first that can be believed decides:

    1. own labels         slackwater.io/app, role, stage: the user's word
    2. framework table    labels of Spark, Ray, MPI, …, if the owner they speak of really stands above the pod
    3. foreign groups     group ids of YuniKorn, Kueue and the workload API, among pods of one owner
    4. owner chain        the topmost owner, at most ten steps up
    5. alone              an app of one pod

On top of each, a pod that owns pods is a driver. Everything is pure: a pod, the table and a memory of owners in.

What a label may claim. An app never reaches beyond its namespace: whoever may create pods there may give them any label
and any owner reference, so inside it a label joins pods of different owners, and beyond it it means nothing. An own
label holds no slash (appids.py), so it never names an app of a framework; a framework's label is believed only where an
owner confirms it, and whom a pod confirms is in that pod's app, whatever it is; and tasks without an owner join each
other, never the app of a driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.appids import bounded, is_name, shown
from slackwater_cluster.apps.owners import DEPTH, OwnerChain, OwnerGraph, chain
from slackwater_cluster.apps.runs import series, unscheduled
from slackwater_cluster.frameworks import Framework, FrameworkTable, OwnerRule, RoleRule, role_by_labels
from slackwater_cluster.objects.records import OwnerRef, PodRecord

# Labels or annotations by which other schedulers group pods.
FOREIGN = ("yunikorn.apache.org/app-id", "kueue.x-k8s.io/pod-group-name")
# The labels or annotations that must be names to be believed.
NAMED = (names.APP, names.STAGE, *FOREIGN)
# Added to the id of an app whose driver runs outside the cluster.
CLIENT = "@client"


class Rule(StrEnum):
    """How a pod was recognised."""

    OWN = "own label"
    FRAMEWORK = "framework"
    GROUP = "foreign group"
    OWNER = "owner chain"
    ALONE = "single pod"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod as part of an app."""

    app: str  # id within the namespace
    role: str  # by labels and owners; `role_of` adds what was fixed when the pod was created
    stage: str
    rule: Rule
    name: str = ""  # what people call the app
    series: str = ""  # the name that its runs share
    framework: str = ""
    client: bool = False  # the app's driver is no pod of the app
    owner: str = ""  # kind/name of the owner that states the app's size, else of the topmost one that was seen
    version: str = ""  # of the API in which that owner was named
    doubts: tuple[str, ...] = ()  # what the pod claims and nothing vouches for, one sentence each
    unknown: OwnerRef | None = None  # whose owners must be looked up before this is settled

    @property
    def settled(self) -> bool:
        """Whether looking up more owners could not change the answer."""
        return self.unknown is None


class _Voucher(NamedTuple):
    """Why a framework's label is believed."""

    suffix: str = ""  # what the app's id gets behind the label
    pod: PodRecord | None = None  # the pod that carries the same label: the app is the one that it is in


@dataclass(frozen=True, slots=True)
class Resolver:
    """The framework table ready for use. `extra` are the role rules of the SlackPolicy in force."""

    table: FrameworkTable
    rules: tuple[RoleRule, ...]

    @classmethod
    def of(cls, table: FrameworkTable, extra: Iterable[RoleRule] = ()) -> Resolver:
        """A resolver that reads the policy's own role labels before the table's, as the admission policy does."""
        return cls(table, (*extra, *table.rules()))

    def resolve(self, pod: PodRecord, lineage: OwnerGraph) -> Member:
        """Recognise one pod."""
        return self._promoted(pod, _told(pod, self._recognised(pod, lineage, DEPTH)), lineage)

    def _recognised(self, pod: PodRecord, lineage: OwnerGraph, steps: int) -> Member:
        """By the first rule that can be believed; pods vouch for each other over so many steps at most."""
        above = chain(pod, lineage)
        return (
            self._by_own_label(pod, above)
            or self._by_framework(pod, above, lineage, steps)
            or self._by_group(pod, above)
            or self._by_owner(pod, above)
        )

    def _by_own_label(self, pod: PodRecord, above: OwnerChain) -> Member | None:
        app = own_name(pod, names.APP)
        if not app:
            return None
        row = self.table.claimed(pod.labels)
        member = self._member(pod, above, app, Rule.OWN, row)
        return replace(member, name=app, series=series(app), unknown=None)

    def _by_framework(self, pod: PodRecord, above: OwnerChain, lineage: OwnerGraph, steps: int) -> Member | None:
        row = self.table.claimed(pod.labels)
        voucher = _voucher(row, pod, above, self._role(pod), lineage) if row else None
        if row is None or voucher is None:
            return None
        if voucher.pod is not None:
            return self._with(voucher.pod, pod, above, row, lineage, steps) if steps else None
        # The word of the owner is enough: nothing higher up could take it back. It may only say what the app is called.
        app = f"{row.name}/{row.identity(pod.labels)}{voucher.suffix}"
        member = self._member(pod, above, app, Rule.FRAMEWORK, row)
        return replace(member, client=bool(voucher.suffix), unknown=above.unknown if row.makers else None)

    def _with(
        self, other: PodRecord, pod: PodRecord, above: OwnerChain, row: Framework, lineage: OwnerGraph, steps: int
    ) -> Member:
        """A pod in the app of another one, which vouches for it."""
        known = self._recognised(other, lineage, steps - 1)
        member = self._member(pod, above, known.app, Rule.FRAMEWORK, row)
        return replace(member, client=known.client, unknown=known.unknown)

    def _by_group(self, pod: PodRecord, above: OwnerChain) -> Member | None:
        group = next((value for key in FOREIGN if (value := own_name(pod, key))), pod.group)
        if not group:
            return None
        # Pods of different owners never become one app by a label they both carry.
        top = _top(above, self.table.coarse)
        app = f"group/{group}" if top is None else f"group/{group}@{top.kind.lower()}/{top.name}"
        return self._doubted(pod, replace(self._member(pod, above, app, Rule.GROUP, None), name=group))

    def _by_owner(self, pod: PodRecord, above: OwnerChain) -> Member:
        top = _top(above, self.table.coarse)
        if top is None:
            return self._doubted(pod, self._member(pod, above, f"pod/{pod.name}", Rule.ALONE, None))
        app = f"{top.kind.lower()}/{top.name}"
        return self._doubted(pod, self._member(pod, above, app, Rule.OWNER, None))

    def _member(self, pod: PodRecord, above: OwnerChain, app: str, rule: Rule, row: Framework | None) -> Member:
        top = _stating(above, row) or _top(above, self.table.coarse)
        name, shared = self._names(pod, app, row, above)
        return Member(
            app=bounded(app),
            role=self._role(pod),
            stage=own_name(pod, names.STAGE) or (row.stage_of(pod.labels) if row else ""),
            rule=rule,
            name=bounded(name),
            series=bounded(shared),
            framework=row.name if row else "",
            owner=f"{top.kind}/{top.name}" if top else "",
            version=top.version if top else "",
            unknown=above.unknown,
        )

    @staticmethod
    def _names(pod: PodRecord, app: str, row: Framework | None, above: OwnerChain) -> tuple[str, str]:
        """What people call the app, and the name its runs share: the framework's title, else its maker's or its own."""
        title = row.title_of(pod.labels) if row else ""
        if title:
            return title, title
        if row and (maker := row.maker_of(above.owners)):
            return unscheduled(maker), series(f"{row.name}/{maker}")
        return unscheduled(row.identity(pod.labels) if row else app.partition("/")[2]), series(app)

    def _role(self, pod: PodRecord) -> str:
        return role_by_labels(pod.labels, self.rules)

    def _doubted(self, pod: PodRecord, member: Member) -> Member:
        row = self.table.claimed(pod.labels)
        if row is None or member.unknown is not None:  # owners that nobody looked up may confirm it yet
            return member
        wanted = " or ".join(dict.fromkeys(rule.kind for rule in row.owners))
        claim = (
            f"labels say {row.name} app {row.identity(pod.labels)!r}, but no {wanted} that owns this pod confirms it"
        )
        return replace(member, doubts=(*member.doubts, claim))

    def _promoted(self, pod: PodRecord, member: Member, lineage: OwnerGraph) -> Member:
        """A pod that owns pods, or that its framework names as coordinator, is a driver unless its user says task."""
        if member.role == names.DRIVER or pod.labels.get(names.ROLE):
            return member
        if lineage.owns_pods(pod) or self._coordinates(pod, member):
            return replace(member, role=names.DRIVER)
        return member

    def _coordinates(self, pod: PodRecord, member: Member) -> bool:
        row = self.table.named(member.framework)
        host = own(pod, row.coordinator).partition(".")[0] if row and row.coordinator else ""
        return bool(host) and host == pod.hostname


def role_of(pod: PodRecord, member: Member) -> Role:
    """The role that counts: what was fixed when the pod was created, and promotion to driver."""
    known = (pod.annotations.get(names.ADMITTED_ROLE, ""), member.role)
    if names.DRIVER in known:
        return Role.DRIVER
    return Role.TASK if names.TASK in known else Role.UNKNOWN


def own(pod: PodRecord, key: str) -> str:
    """A value given as label or, where it does not fit into a label, as annotation."""
    return pod.labels.get(key) or pod.annotations.get(key, "")


def own_name(pod: PodRecord, key: str) -> str:
    """A name given as label or annotation; nothing, where the text cannot be a name."""
    text = own(pod, key)
    return text if is_name(text) else ""


def _told(pod: PodRecord, member: Member) -> Member:
    """The member with a sentence for each name that is none."""
    doubts = [
        f"{key} is {shown(text)}, which is not a name and is not believed; "
        "write letters and digits, with '-', '_' or '.' inside"
        for key in NAMED
        if (text := own(pod, key)) and not is_name(text)
    ]
    return replace(member, doubts=(*member.doubts, *doubts)) if doubts else member


def _top(above: OwnerChain, coarse: Iterable[str]) -> OwnerRef | None:
    """The highest owner that is still one app."""
    return next((owner for owner in reversed(above.owners) if owner.kind not in coarse), None)


def _stating(above: OwnerChain, row: Framework | None) -> OwnerRef | None:
    """The owner whose object states how large the app will be; what made that object says nothing of it."""
    if row is None or row.size is None:
        return None
    stated = (row.size.kind, row.size.group)
    return next((owner for owner in above.owners if (owner.kind, owner.group) == stated), None)


def _voucher(row: Framework, pod: PodRecord, above: OwnerChain, role: str, lineage: OwnerGraph) -> _Voucher | None:
    """Why the pod's label is believed; None where it is not."""
    if not row.owners:
        return _Voucher()
    if not above.owners and role in row.bare:
        return _Voucher(CLIENT if role == names.TASK else "")
    for rule in row.owners:
        for owner in above.owners:
            if _confirms(rule, owner, row, pod, lineage):
                return _Voucher(f"@{owner.name}" if rule.client else "", lineage.pod(owner.uid) if rule.same else None)
    return None


def _confirms(rule: OwnerRule, owner: OwnerRef, row: Framework, pod: PodRecord, lineage: OwnerGraph) -> bool:
    if owner.kind != rule.kind or (rule.group is not None and owner.group != rule.group):
        return False
    if rule.same or rule.client:
        parent = lineage.pod(owner.uid)
        if parent is None or parent.namespace != pod.namespace:
            return False
        return not row.claims(parent.labels) if rule.client else _same_app(row, parent.labels, pod.labels)
    return not rule.named or owner.name == pod.labels[row.app[0]]


def _same_app(row: Framework, first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    return row.claims(first) and row.identity(first) == row.identity(second)
