"""Which policy governs a namespace, which queue its apps wait in and which pool guards that queue.

Operator, extender, monitor and command line ask here, so that each of them gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from pydantic import ValidationError

from slackwater.validation import refusal
from slackwater_cluster import names
from slackwater_cluster.customresources import AdmissionQueueSpec, Mode, ReservationPoolSpec, SlackPolicySpec
from slackwater_cluster.customresources.admissionqueue import QueueState
from slackwater_cluster.customresources.base import Part
from slackwater_cluster.frameworks import RoleRule, policy_rules
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, PodRecord

# Without any AdmissionQueue every managed namespace waits in this one, over all nodes.
IMPLICIT = "default"
UNQUEUED = AdmissionQueueSpec()  # every default, over all nodes
UNWRITTEN = SlackPolicySpec()  # every default; its mode is observe, so nothing is held
# Namespaces of the cluster itself: never managed, whatever their labels say. The admission policy leaves them out, too.
EXEMPT = ("kube-system", "kube-public", "kube-node-lease")


def exempt(
    own_namespace: str = names.SYSTEM_NAMESPACE, watchdog_namespace: str = names.WATCHDOG_HOME
) -> tuple[str, ...]:
    """Every namespace that is never managed: the cluster's own, and those that Slackwater and its watchdog run in."""
    return tuple(dict.fromkeys((*EXEMPT, own_namespace, watchdog_namespace)))


def first_pools(pools: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of pools, given as (name, its queue), the one that counts for each queue: the first by name."""
    return {queue: name for name, queue in sorted(pools, reverse=True)}


def role_rules(policy: SlackPolicySpec) -> tuple[RoleRule, ...]:
    """The role labels that a policy adds to the framework table."""
    return policy_rules(
        [(label.key, label.values) for label in policy.driver_labels],
        [(label.key, label.values) for label in policy.task_labels],
    )


P = TypeVar("P", bound=Part)


class SpecTable(Generic[P]):
    """The specifications of one kind of object, by name; one that is refused leaves the last good one."""

    def __init__(self, model: type[P]) -> None:
        self._model = model
        self.specs: dict[str, P] = {}

    def put(self, record: CustomRecord) -> None:
        """Take over what an object says; a ValidationError where it is refused."""
        self.specs[record.name] = self._model.model_validate(record.spec)


class Governance:
    """Namespaces, policies, queues and pools as they were last written. A broken one leaves the last good one."""

    def __init__(
        self, own_namespace: str = names.SYSTEM_NAMESPACE, watchdog_namespace: str = names.WATCHDOG_HOME
    ) -> None:
        self.namespaces: dict[str, NamespaceRecord] = {}
        self._managed: set[str] = set()  # names of those that opted in; asked for each pod, several times
        policies, queues = SpecTable(SlackPolicySpec), SpecTable(AdmissionQueueSpec)
        pools = SpecTable(ReservationPoolSpec)
        self.policies, self.queues, self.pools = policies.specs, queues.specs, pools.specs
        self.tables: dict[
            str, SpecTable[SlackPolicySpec] | SpecTable[AdmissionQueueSpec] | SpecTable[ReservationPoolSpec]
        ] = {"SlackPolicy": policies, "AdmissionQueue": queues, "ReservationPool": pools}
        self.status: dict[tuple[str, str], Mapping[str, object]] = {}  # by kind and name
        self.paused: dict[str, str] = {}  # queues by annotation: "true" or "drain"
        self.broken: dict[tuple[str, str], str] = {}
        self._exempt = exempt(own_namespace, watchdog_namespace)
        self._renew()

    def set_namespaces(self, records: Iterable[NamespaceRecord]) -> list[str]:
        """Take over namespaces; the names of those that became managed, are so no longer, or follow another policy."""
        turned = []
        for record in records:
            before = (self.managed(record.name), self.policy_name(record.name))
            self.namespaces[record.name] = record
            if record.managed and record.name not in self._exempt:
                self._managed.add(record.name)
            else:
                self._managed.discard(record.name)
            if (self.managed(record.name), self.policy_name(record.name)) != before:
                turned.append(record.name)
        return turned

    def drop_namespaces(self, records: Iterable[NamespaceRecord]) -> list[str]:
        """Forget namespaces; the names of those that were managed."""
        gone = [record.name for record in records]
        turned = [name for name in gone if self.managed(name)]
        for name in gone:
            self.namespaces.pop(name, None)
            self._managed.discard(name)
        return turned

    def set(self, kind: str, records: Iterable[CustomRecord]) -> bool:
        """Take over custom resources of one kind; whether anything but a status is different."""
        table = self.tables[kind]
        before = (dict(table.specs), dict(self.paused))
        for record in records:
            self.status[kind, record.name] = record.status
            self._annotate(kind, record)
            try:
                table.put(record)
                self.broken.pop((kind, record.name), None)
            except ValidationError as problem:
                where, wrong = refusal(problem.errors())
                self.broken[kind, record.name] = f"spec.{where}: {wrong}"
        changed = before != (table.specs, self.paused)
        if changed:
            self._renew()
        return changed

    def drop(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Forget custom resources."""
        for record in records:
            self.tables[kind].specs.pop(record.name, None)
            self.status.pop((kind, record.name), None)
            self.broken.pop((kind, record.name), None)
            if kind == "AdmissionQueue":
                self.paused.pop(record.name, None)
        self._renew()

    def managed(self, namespace: str) -> bool:
        """Whether the namespace opted in."""
        return namespace in self._managed

    def managed_namespaces(self) -> list[str]:
        """All namespaces that opted in, sorted."""
        return sorted(self._managed)

    def modes(self) -> dict[Mode, int]:
        """How many managed namespaces are in each mode."""
        counts = dict.fromkeys(Mode, 0)
        for name in self.managed_namespaces():
            counts[self.mode(name)] += 1
        return counts

    def manages(self, pod: PodRecord) -> bool:
        """Whether a pod is part of an app of ours: in a managed namespace, and no daemon or static pod.

        A DaemonSet's pod is bound to its node, and never ours to place. Its owner reference alone is not believed: one
        that we hold, or sealed, came from somebody else.
        """
        return self.managed(pod.namespace) and not pod.mirror and (not pod.daemon or pod.admitted)

    def policy_name(self, namespace: str) -> str:
        """The policy that a namespace names, whether or not it exists."""
        found = self.namespaces.get(namespace)
        return found.policy if found else names.DEFAULT_POLICY

    def policy(self, namespace: str) -> SlackPolicySpec:
        """The policy in force in a namespace; one that does not exist changes nothing (mode observe)."""
        return self.policies.get(self.policy_name(namespace), UNWRITTEN)

    @property
    def default_policy(self) -> SlackPolicySpec:
        """The policy named default: what concerns nodes, which serve all namespaces, is decided by it."""
        return self.policies.get(names.DEFAULT_POLICY, UNWRITTEN)

    def gate_open(self, policy: str) -> bool:
        """Whether new tasks of a policy's namespaces come without a gate."""
        return self.status.get(("SlackPolicy", policy), {}).get("openGate") is True

    def mode(self, namespace: str) -> Mode:
        """How much may be done there; nothing in a namespace that is not managed."""
        return self.policy(namespace).mode if self.managed(namespace) else Mode.OBSERVE

    def queue_of(self, namespace: str) -> str:
        """The queue that names the namespace, else the first that takes all others; "" where there is none."""
        return self._queue_of.get(namespace, self._rest)

    def queue_for(self, namespace: str) -> AdmissionQueueSpec:
        """The specification of the queue that a namespace's apps wait in."""
        return self.queue(self.queue_of(namespace))

    def queue(self, name: str) -> AdmissionQueueSpec:
        """The queue's specification, with the annotation slackwater.io/pause applied."""
        spec = self.queues.get(name, UNQUEUED)
        pause = self.paused.get(name, "")
        if not pause:
            return spec
        state = QueueState.DRAINING if pause == "drain" else QueueState.PAUSED
        return spec.model_copy(update={"state": state})

    def queue_names(self) -> list[str]:
        """All queues, the implicit one included."""
        return sorted(self.queues) or [IMPLICIT]

    def pool_of(self, queue: str) -> str:
        """The reservation pool that shares the queue's nodes; the first by name, where several claim it."""
        return self._pool_of.get(queue, "")

    def known(self, kind: str) -> frozenset[str]:
        """The names of all objects of a kind, broken ones included."""
        return frozenset({*self.tables[kind].specs, *(name for other, name in self.broken if other == kind)})

    def role_rules(self) -> dict[str, tuple[RoleRule, ...]]:
        """The role labels that each policy adds to the framework table, for its own namespaces; by policy name."""
        return {name: rules for name, policy in self.policies.items() if (rules := role_rules(policy))}

    def _renew(self) -> None:
        """Say anew who waits where and which pool guards it; both are asked for each pod, several times."""
        last_first = sorted(
            self.queues.items(), reverse=True
        )  # the first by name counts where several name a namespace
        self._queue_of = {namespace: name for name, queue in last_first for namespace in queue.namespaces}
        others = min((name for name, queue in last_first if not queue.namespaces), default="")
        self._rest = others if self.queues else IMPLICIT
        self._pool_of = first_pools((name, pool.queue) for name, pool in self.pools.items())

    def _annotate(self, kind: str, record: CustomRecord) -> None:
        if kind != "AdmissionQueue":
            return
        pause = record.annotations.get(names.PAUSE, "")
        if pause in ("true", "drain"):
            self.paused[record.name] = pause
        else:
            self.paused.pop(record.name, None)
