"""What the admission policy does to a pod, as a function: for API servers that know no MutatingAdmissionPolicy.

The webhook answers with it. The policy in CEL (`mutating.py`) and this function are played through one table of cases
on a real API server (`tests/operator/lab/test_webhookcases.py`) and must give the same pod, byte for byte.

    D = overhead + max(Σ containers + Σ sidecars, max_i init_i + Σ sidecars)    or what the pod itself requests
    N = ⌈D ÷ c⌉    of each container, rounded up to the next milli-cpu or byte
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slackwater.resources import CPU, MEMORY
from slackwater_cluster import names
from slackwater_cluster.customresources import Mode, SlackPolicySpec
from slackwater_cluster.customresources.slackpolicy import Ceiling
from slackwater_cluster.frameworks import RoleRule, role_by_labels
from slackwater_cluster.governance import role_rules
from slackwater_cluster.pods.quantities import parse_quantity

Body = Mapping[str, Any]
Operation = dict[str, Any]

UNSHRUNK = "100/100"


def mutation(
    pod: Body, policy: SlackPolicySpec, rules: Sequence[RoleRule], *, open_gate: bool = False
) -> list[Operation]:
    """The JSON patch that a pod gets at its creation under a policy; `rules` are those of the framework table."""
    annotations = pod["metadata"].get("annotations") or {}
    # In mode observe a pod stays as it is, unless its creator forged what only we may write.
    if policy.mode is Mode.OBSERVE and not any(key in annotations for key in names.SEALED):
        return []
    role = role_by_labels(pod["metadata"].get("labels") or {}, (*role_rules(policy), *rules))
    shrink = policy.mode is Mode.ENFORCE and role == names.TASK
    patch = [_put("/metadata/annotations", {**annotations, **_sealed(pod["spec"], policy.ceiling, role, shrink)})]
    if policy.mode is not Mode.OBSERVE:
        patch.append(_put("/spec/schedulerName", names.SCHEDULER))
    if policy.mode is Mode.ENFORCE and not (open_gate and _comes_freely(pod, role)):
        patch.append(_put("/spec/schedulingGates", _gates(pod["spec"].get("schedulingGates") or [])))
    if shrink:
        patch += _lowered(pod["spec"], policy.ceiling)
    return patch


def _sealed(spec: Body, ceiling: Ceiling, role: str, shrink: bool) -> dict[str, str]:
    """The annotations that never change afterwards."""
    return {
        names.DECLARED_CPU: f"{declared_amount(spec, CPU)}m",
        names.DECLARED_MEMORY: str(declared_amount(spec, MEMORY)),
        names.ADMITTED_ROLE: role,
        names.SHRUNK: f"{ceiling.cpu_percent}/{ceiling.memory_percent}" if shrink else UNSHRUNK,
    }


def _comes_freely(pod: Body, role: str) -> bool:
    """Whether a pod needs no gate while the gate is open: a task that asks for nothing but room."""
    metadata = pod["metadata"]
    said = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
    return role == names.TASK and said.isdisjoint(names.ALWAYS_HELD)


def _gates(present: Sequence[Body]) -> list[Body]:
    """Ours after those of others; one that the creator wrote keeps its place."""
    ours = {"name": names.GATE}
    return [*present] if ours in present else [*present, ours]


def declared_amount(spec: Body, kind: str) -> int:
    """D of one kind, in milli-cpu or bytes: what the scheduler would count for the pod as its creator wrote it.

    An init container runs beside the sidecars declared before it; counting all of them is never too small.
    """
    overhead = _whole(kind, (spec.get("overhead") or {}).get(kind, "0"))
    if kind in _requests(spec):  # requests of the pod itself replace the sum of its containers
        return overhead + _asked(spec, kind)
    sums = _Sums.of(spec, kind)
    return overhead + max(sums.containers + sums.sidecars, sums.largest_init)


@dataclass(frozen=True, slots=True)
class _Sums:
    """What a pod's containers request of one kind."""

    containers: int
    sidecars: int
    largest_init: int  # with the sidecars beside it

    @classmethod
    def of(cls, spec: Body, kind: str) -> _Sums:
        inits = spec.get("initContainers") or []
        sidecars = sum(_asked(each, kind) for each in inits if _is_sidecar(each))
        starts = (_asked(each, kind) + sidecars for each in inits if not _is_sidecar(each))
        return cls(sum(_asked(each, kind) for each in spec["containers"]), sidecars, max(starts, default=0))


def _lowered(spec: Body, ceiling: Ceiling) -> Iterator[Operation]:
    """Lower requests of every container, and of the pod itself: the sum of the containers must stay within them.

    Each container is rounded up, so that n of them may be n − 1 units above the sum of what they declare.
    """
    holders = [(f"/spec/{field}/{i}", each, 0) for field in FIELDS for i, each in enumerate(spec.get(field) or [])]
    for path, holder, rounded in [*holders, ("/spec", spec, len(holders) - 1)]:
        requests = _requests(holder)
        lower = {kind: text for kind, text in _lower(requests, ceiling, rounded).items() if kind in requests}
        if lower:
            yield _put(f"{path}/resources/requests", {**requests, **lower})


FIELDS = ("containers", "initContainers")


def _lower(requests: Mapping[str, str], ceiling: Ceiling, rounded: int) -> dict[str, str]:
    """N = ⌈D ÷ c⌉ of cpu and memory: nothing above zero becomes zero. `rounded` units more, but not above D."""
    cpu = _divided(_whole(CPU, requests.get(CPU, "0")), ceiling.cpu_percent, rounded)
    memory = _divided(_whole(MEMORY, requests.get(MEMORY, "0")), ceiling.memory_percent, rounded)
    return {CPU: f"{cpu}m", MEMORY: str(memory)}


def _divided(amount: int, percent: int, rounded: int) -> int:
    return min(amount, (amount * 100 + percent - 1) // percent + rounded)


def _is_sidecar(container: Body) -> bool:
    return container.get("restartPolicy") == "Always"


def _requests(holder: Body) -> Mapping[str, str]:
    """The requests of a container, or of the pod itself."""
    return (holder.get("resources") or {}).get("requests") or {}


def _asked(holder: Body, kind: str) -> int:
    return _whole(kind, _requests(holder).get(kind, "0"))


def _whole(kind: str, text: str) -> int:
    """A quantity as an integer: milli-cpu, or bytes."""
    return int(parse_quantity(text) * (1000.0 if kind == CPU else 1.0) + 0.5)


def _put(path: str, value: object) -> Operation:
    """In a JSON patch `add` replaces a field that is there."""
    return {"op": "add", "path": path, "value": value}
