"""Every pod of the period and what is known of it: its node, owners, labels, times and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from slackwater_cluster.frameworks import FrameworkTable
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_monitor.history import labels as words
from slackwater_monitor.history.fetch import History
from slackwater_monitor.history.queries import SEALED, wanted_labels

Key = tuple[str, str]  # namespace, pod


@dataclass(slots=True)
class Pod:
    """One pod. Times are Unix seconds; 0 where unknown."""

    namespace: str
    name: str
    node: str = ""
    uid: str = ""
    owner: tuple[str, str] = ("", "")  # kind, name
    labels: dict[str, str] = field(default_factory=dict)
    created: float = 0.0
    scheduled: float = 0.0
    begun: float = 0.0  # its first start; a pod of the same name may have come after it
    started: float = 0.0  # its last start
    completed: float = 0.0
    pending_until: float = 0.0  # end of the last window in which it was Pending
    requests: dict[tuple[str, str], float] = field(default_factory=dict)  # (container, kind), the last that were seen
    limits: dict[tuple[str, str], float] = field(default_factory=dict)  # (container, kind)
    declared: dict[str, float] = field(default_factory=dict)  # before Slackwater lowered its request
    initial: set[str] = field(default_factory=set)  # containers that only prepare it
    killed: int = 0  # containers last ended by the out-of-memory killer


@dataclass(slots=True)
class PodHistory:
    """All pods, nodes and the owners above ReplicaSets and Jobs."""

    pods: dict[Key, Pod] = field(default_factory=dict)
    allocatable: dict[str, dict[str, float]] = field(default_factory=dict)  # node → kind → amount
    above: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)  # (namespace, kind, name) → owner
    scalers: dict[tuple[str, str, str], str] = field(default_factory=dict)  # likewise → its HorizontalPodAutoscaler

    def pod(self, key: Key) -> Pod:
        """The pod of that name, made if it is not known yet."""
        found = self.pods.get(key)
        if found is None:
            found = self.pods[key] = Pod(*key)
        return found


def census(history: History, table: FrameworkTable, user_labels: tuple[str, ...] = ()) -> PodHistory:
    """Read all facts off the history."""
    made = PodHistory()
    spelling = wanted_labels(table, user_labels)
    for name, take in _TAKERS.items():
        for labels, value in _rows(history, name):
            take(made, labels, value)
    for labels, _ in _rows(history, words.LABELS):
        pod = made.pod(_key(labels))
        pod.labels.update({spelling[name]: text for name, text in labels.items() if name in spelling and text})
    _pending(history, made)
    return made


def _rows(history: History, name: str) -> Iterator[tuple[dict[str, str], float]]:
    for answer in history.answers(name):
        yield from answer.rows()


def _key(labels: dict[str, str]) -> Key:
    return labels.get("namespace", ""), labels["pod"]


def _info(made: PodHistory, labels: dict[str, str], _: float) -> None:
    pod = made.pod(_key(labels))
    pod.node = labels.get("node") or pod.node
    pod.uid = labels.get("uid") or pod.uid


def _owner(made: PodHistory, labels: dict[str, str], _: float) -> None:
    kind, name = labels.get("owner_kind", ""), labels.get("owner_name", "")
    if name and name != "<none>":
        made.pod(_key(labels)).owner = (kind, name)


def _time(field_name: str) -> Callable[[PodHistory, dict[str, str], float], None]:
    def take(made: PodHistory, labels: dict[str, str], value: float) -> None:
        setattr(made.pod(_key(labels)), field_name, value)

    return take


def _started(made: PodHistory, labels: dict[str, str], value: float) -> None:
    pod = made.pod(_key(labels))
    pod.started = max(pod.started, value)
    pod.begun = min(pod.begun or value, value)


def _sealed(made: PodHistory, labels: dict[str, str], _: float) -> None:
    pod = made.pod(_key(labels))
    pod.declared.update({kind: parse_quantity(labels[name]) for name, kind in SEALED.items() if labels.get(name)})


def _limit(made: PodHistory, labels: dict[str, str], value: float) -> None:
    made.pod(_key(labels)).limits[labels.get("container", ""), labels["resource"]] = value


def _request(made: PodHistory, labels: dict[str, str], value: float) -> None:
    made.pod(_key(labels)).requests[labels.get("container", ""), labels["resource"]] = value


def _initial(made: PodHistory, labels: dict[str, str], _: float) -> None:
    made.pod(_key(labels)).initial.add(labels.get("container", ""))


def _killed(made: PodHistory, labels: dict[str, str], _: float) -> None:
    made.pod(_key(labels)).killed = 1


def _allocatable(made: PodHistory, labels: dict[str, str], value: float) -> None:
    made.allocatable.setdefault(labels["node"], {})[labels["resource"]] = value


def _above(kind: str, label: str) -> Callable[[PodHistory, dict[str, str], float], None]:
    def take(made: PodHistory, labels: dict[str, str], _: float) -> None:
        owner = labels.get("owner_kind", ""), labels.get("owner_name", "")
        if owner[1] and owner[1] != "<none>":
            made.above[labels.get("namespace", ""), kind, labels[label]] = owner

    return take


def _scaler(made: PodHistory, labels: dict[str, str], _: float) -> None:
    target = labels.get("namespace", ""), labels.get("scaletargetref_kind", ""), labels.get("scaletargetref_name", "")
    made.scalers[target] = labels.get("horizontalpodautoscaler", "")


_TAKERS: dict[str, Callable[[PodHistory, dict[str, str], float], None]] = {
    words.INFO: _info,
    words.OWNER: _owner,
    words.CREATED: _time("created"),
    words.SCHEDULED: _time("scheduled"),
    words.STARTED: _started,
    words.SEALED: _sealed,
    words.COMPLETED: _time("completed"),
    words.REQUESTS: _request,
    words.LIMITS: _limit,
    words.INITIAL: _initial,
    words.REASON: _killed,
    words.ALLOCATABLE: _allocatable,
    words.SETS: _above("ReplicaSet", "replicaset"),
    words.JOBS: _above("Job", "job_name"),
    words.SCALERS: _scaler,
}


def _pending(history: History, made: PodHistory) -> None:
    for answer in history.answers("pending"):
        names = zip(answer.labels.get("namespace", [""] * len(answer)), answer.labels["pod"], strict=True)
        for index, key in enumerate(names):
            last = answer.offsets[index + 1] - 1
            if last >= answer.offsets[index]:
                made.pod(key).pending_until = float(answer.at[last])
