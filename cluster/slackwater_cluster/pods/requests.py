"""What kube-scheduler counts for a pod: its native requests.

    native = max(Σ containers + Σ sidecars, max_i (init_i + Σ sidecars declared before i)) + overhead

Requests on the pod itself replace the sum for the kinds they name. While an in-place resize is under way a container
counts with the largest of what is asked, allocated and actuated; of an infeasible resize the asked part is left out.

Kinds that decisions are not about (`resourcekinds`), such as ephemeral-storage, are left out here, the one place from
which all requests come: kube-scheduler looks after them.

Nor does a request count as more than any machine will have: sums over many pods are kept as floats, to which pods are
added and from which they are taken. One pod of 9E cores would take with it all that was in the sum before it. And of
the kinds that somebody makes up, a pod counts with a few: everybody's amounts are held against each of them. What nodes
offer is not made up, and always counts: kubelets run a pod that names its node, and overlook kinds that are not there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import chain

from slackwater.resources import CPU, MEMORY, NOTHING, Resources
from slackwater_cluster.objects.interning import SharedValues
from slackwater_cluster.objects.wire import Container, ContainerStatus, Needs, Pod, PodSpec, PodStatus, Quantities
from slackwater_cluster.pods.metadata import Problems
from slackwater_cluster.pods.quantities import parse_quantity, resources
from slackwater_cluster.pods.resourcekinds import counted, counted_amounts

# Of the kinds that are counted only these may be requested on the pod as a whole; the scheduler ignores others there.
_POD_LEVEL = (CPU, MEMORY)

# The most that one pod counts with. Sums over ten thousand such pods are still right to a millicore and to a KiB.
MOST_CORES = 2.0**20
MOST = 2.0**50  # of any other kind: bytes, devices
MOST_KINDS = 16  # beside cpu, memory and what nodes offer; of more the first by name
NO_KINDS: Set[str] = frozenset()


def native(pod: Pod, offered: Set[str] = NO_KINDS) -> Resources:
    """The pod's requests of the kinds that are counted, as the scheduler's resource fit counts them.

    Those of the kinds that nodes offer are never left out, however many others there are.
    """
    spec = pod.spec
    if spec is None:
        return NOTHING
    if _simple(pod) and len(items := _items((spec.containers or [Container()])[0].resources)) <= MOST_KINDS:
        return _ONE.one(items)
    return _bounded(_asked(pod, _first(_stated(pod), offered)))


def few_kinds(amounts: Resources) -> Resources:
    """No more kinds than a pod counts with: of what many pods ask for together there may be thousands."""
    if len(amounts) <= MOST_KINDS:
        return amounts
    return Resources({kind: amounts[kind] for kind in _first(set(amounts), NO_KINDS)})


def uncounted(pod: Pod, counting: Resources, offered: Set[str] = NO_KINDS) -> Problems:
    """A sentence about kinds that are left out, as there are too many of them; `counting` are the native requests."""
    if len(counting) < MOST_KINDS:
        return ()
    stated = _stated(pod)
    kinds = len(stated - _first(stated, offered))
    counts = f"only cpu, memory, what nodes offer and {MOST_KINDS} more count"
    return (f"{kinds} kinds of resources that it requests; {counts}",) * bool(kinds)


def _stated(pod: Pod) -> set[str]:
    """Every kind that is counted, and of which the pod asks for some or has some; of few kinds also those of none."""
    named, found = set(filter(counted, chain.from_iterable(filter(None, _written(pod))))), set[str]()
    if len(named) <= MOST_KINDS:
        return named
    for each in _written(pod):
        found.update(kind for kind, amount in (each or {}).items() if kind not in found and _counts(kind, amount))
    return found


def _written(pod: Pod) -> Iterator[Quantities | None]:
    """All lists of requests in a pod, but for those of the pod as a whole: of these cpu and memory count, as always."""
    spec = pod.spec or PodSpec()
    yield spec.overhead
    for container in chain(spec.containers or (), spec.init_containers or ()):
        yield container.resources.requests if container.resources else None
    for status in _statuses(pod).values():
        yield status.resources.requests if status.resources else None
        yield status.allocated_resources


def _counts(kind: str, amount: str | float) -> bool:
    return counted(kind) and parse_quantity(str(amount)) > 0


def _first(kinds: Set[str], offered: Set[str]) -> set[str]:
    """Those among the kinds that a pod counts with."""
    always = {*_POD_LEVEL, *(kinds & offered)}
    return {*always, *sorted(kinds - always)[:MOST_KINDS]}


def _asked(pod: Pod, kinds: Collection[str]) -> Resources:
    """Of these kinds. They are few: each sum of two containers looks at all of them."""
    asked, spec = _containers(pod, kinds), pod.spec
    if spec is not None and spec.resources is not None and spec.resources.requests:
        whole = _resized(_amounts(spec.resources.requests, kinds), pod.status, kinds, infeasible=_infeasible(pod))
        asked = _replaced(asked, whole)
    return asked + _amounts(spec.overhead if spec else None, kinds)


def _bounded(asked: Resources) -> Resources:
    return Resources({kind: min(value, MOST_CORES if kind == CPU else MOST) for kind, value in asked.items()})


def _simple(pod: Pod) -> bool:
    """The common case: one container and nothing that changes its requests."""
    spec, status = pod.spec, pod.status
    if spec is None or spec.init_containers or spec.overhead or spec.resources or len(spec.containers or ()) != 1:
        return False
    return status is None or not any(each.resources for each in status.container_statuses or ())


def _one(items: tuple[tuple[str, str], ...]) -> Resources:
    return _bounded(counted_amounts(resources(dict(items))))


_ONE: SharedValues[Resources] = SharedValues(_one)


def _containers(pod: Pod, kinds: Collection[str]) -> Resources:
    running, sidecars, starting = NOTHING, NOTHING, NOTHING
    spec = pod.spec
    seen = _statuses(pod)
    infeasible = _infeasible(pod)

    def resized(container: Container) -> Resources:
        asked = _requests(container.resources, kinds)
        return _resized(asked, seen.get(container.name), kinds, infeasible=infeasible)

    for container in (spec.containers if spec else None) or ():
        running = running + resized(container)
    for container in (spec.init_containers if spec else None) or ():
        if container.restart_policy == "Always":
            share = resized(container)
            running, sidecars = running + share, sidecars + share
            starting = starting.at_least(sidecars)
        else:
            starting = starting.at_least(_requests(container.resources, kinds) + sidecars)
    return running.at_least(starting)


def _resized(
    asked: Resources, status: ContainerStatus | PodStatus | None, kinds: Collection[str], *, infeasible: bool
) -> Resources:
    """What a container, or a pod as a whole, counts with while it is resized: the most of what it asks for and has.

    What its node can never give it does not count.
    """
    if status is None or status.resources is None:
        return asked
    held = _requests(status.resources, kinds).at_least(_amounts(status.allocated_resources, kinds))
    return held if infeasible else asked.at_least(held)


def _replaced(asked: Resources, whole: Resources) -> Resources:
    named = {kind: value for kind, value in whole.items() if kind in _POD_LEVEL}
    return Resources({**asked, **named})


def _statuses(pod: Pod) -> Mapping[str, ContainerStatus]:
    if pod.status is None:
        return {}
    both: Iterable[ContainerStatus] = [
        *(pod.status.container_statuses or ()),
        *(pod.status.init_container_statuses or ()),
    ]
    return {status.name: status for status in both}


def _infeasible(pod: Pod) -> bool:
    conditions = (pod.status.conditions if pod.status else None) or ()
    return any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in conditions)


def _items(needs: Needs | None) -> tuple[tuple[str, str], ...]:
    return tuple((kind, str(value)) for kind, value in ((needs.requests if needs else None) or {}).items())


def _requests(needs: Needs | None, kinds: Collection[str]) -> Resources:
    return _amounts(needs.requests if needs else None, kinds)


def _amounts(quantities: Quantities | None, kinds: Collection[str]) -> Resources:
    return resources({kind: str(value) for kind, value in (quantities or {}).items() if kind in kinds})
