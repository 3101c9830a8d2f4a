"""A memory of owners for tests: pods by uid, and the owners above objects that are no pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slackwater_cluster.objects.records import OwnerRef, PodRecord


def owner(kind: str, name: str, *, group: str = "", uid: str = "", namespace: str = "team") -> OwnerRef:
    """A controlling owner reference."""
    return OwnerRef(kind, name, uid or f"{kind}-{name}", group, True, namespace)


def pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    owners: Sequence[OwnerRef] = (),
    annotations: Mapping[str, str] | None = None,
    namespace: str = "team",
    **more: object,
) -> PodRecord:
    """A pod that is little more than its labels and owners."""
    fields = {"uid": f"uid-{name}", "labels": labels or {}, "annotations": annotations or {}, "owners": tuple(owners)}
    return PodRecord(name=name, namespace=namespace, **{**fields, **more})  # type: ignore[arg-type]  # test fields


@dataclass
class Owners:
    """What is known of owners. An object that is not listed has no owners; one in `unseen` was never looked up."""

    pods: Sequence[PodRecord] = ()
    above: Mapping[str, Sequence[OwnerRef]] = field(default_factory=dict)
    unseen: frozenset[str] = frozenset()

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid."""
        return next((each for each in self.pods if each.uid == uid), None)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """The owners of an object; pods are known by themselves or not at all."""
        return None if owner.uid in self.unseen or owner.kind == "Pod" else self.above.get(owner.uid, ())

    def owns_pods(self, pod: PodRecord) -> bool:
        """Whether a pod of its namespace names this one."""
        return any(reference.key == (pod.namespace, pod.uid) for each in self.pods for reference in each.owners)
