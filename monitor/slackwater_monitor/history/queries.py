"""The questions asked about each piece of the past, in the words this Prometheus uses.

Use is asked for per window as sums over the raw samples, so that the answers add up to exactly what was sampled,
however coarse the windows are: nothing is interpolated or extrapolated, and a pod that lived shorter than a window is
seen. Every range ends a millisecond early, because older servers count a sample on the border twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slackwater_cluster.frameworks import FrameworkTable
from slackwater_monitor.history import labels as words
from slackwater_monitor.history.labels import Names

CONTAINER = ("namespace", "pod", "container")
POD = ("namespace", "pod")
# Of duplicates (two scrapers of one kubelet, several ids of one container) the larger counts: the smaller is older.
LARGEST = "max"
BASE = '{resource=~"cpu|memory"}'
SEALED = {
    "annotation_slackwater_io_declared_cpu": "cpu",
    "annotation_slackwater_io_declared_memory": "memory",
}
# Need, what identifies it, further labels worth keeping, and which of its series.
FACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    (words.REQUESTS, CONTAINER, ("resource",), BASE),
    (words.LIMITS, CONTAINER, ("resource",), BASE),
    (words.INFO, (*POD, "node"), ("uid",), ""),
    (words.OWNER, POD, ("owner_kind", "owner_name"), ""),
    (words.CREATED, POD, (), ""),
    (words.SCHEDULED, POD, (), ""),
    (words.STARTED, POD, (), ""),
    (words.COMPLETED, POD, (), ""),
    (words.ALLOCATABLE, ("node",), ("resource",), BASE),
    (words.SETS, ("namespace",), ("replicaset", "owner_kind", "owner_name"), ""),
    (words.JOBS, ("namespace",), ("job_name", "owner_kind", "owner_name"), ""),
    (words.REASON, CONTAINER, (), '{reason="OOMKilled"}'),
    # What a pod asked for before Slackwater lowered its request.
    (words.SEALED, POD, tuple(SEALED), ""),
    # A container that restarts for ever runs beside the others, wherever it is written.
    (words.INITIAL, CONTAINER, (), '{restart_policy!="Always"}'),
    (words.SCALERS, ("namespace",), ("horizontalpodautoscaler", "scaletargetref_kind", "scaletargetref_name"), ""),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One query per chunk. `keys` are the columns of the answer: our name → the label here."""

    name: str
    promql: str  # {range} is filled in
    keys: Mapping[str, str]
    windows: bool  # a value per window (range query), or one per chunk (instant query over the chunk)

    def filled(self, seconds: int) -> str:
        """The query over ranges of that length."""
        return self.promql.replace("{range}", f"{seconds * 1000 - 1}ms")


def questions(
    names: Names, table: FrameworkTable, user_labels: Iterable[str] = (), namespaces: Sequence[str] = ()
) -> Iterator[Question]:
    """Everything that can be asked here, of all namespaces or of some; nodes belong to all of them."""
    for need in (words.MEMORY, words.CPU):
        if names.has(need):
            yield from _use(names, need, namespaces)
    told = tuple(sorted(wanted_labels(table, user_labels)))
    for need, meanings, extra, chosen in (*FACTS, (words.LABELS, POD, told, "")):
        if names.has(need):
            own = namespaces if "namespace" in meanings else ()
            yield _fact(names, need, meanings, extra, _within(names, need, chosen, own))
    if names.has(words.PHASE):
        keys = _keys(names, words.PHASE, POD)
        chosen = _within(names, words.PHASE, '{phase="Pending"}', namespaces)
        inner = f"max_over_time({names.metrics[words.PHASE]}{chosen}[{{range}}])"
        yield Question("pending", f"{_by(LARGEST, keys.values(), inner)} == 1", keys, windows=True)


def _within(names: Names, need: str, chosen: str, namespaces: Sequence[str]) -> str:
    """The matchers of a question, with one for namespaces where they are chosen and the metric tells them.

    For a metric about something in a namespace only: on others, the label is where the exporter itself runs.
    """
    label = names.labels.get(need, {}).get("namespace")
    if not namespaces or label is None:
        return chosen
    inner = chosen.strip("{}")
    return f'{{{inner}{"," if inner else ""}{label}=~"{"|".join(namespaces)}"}}'


def _use(names: Names, need: str, namespaces: Sequence[str]) -> Iterator[Question]:
    metric = names.metrics[need]
    keys = _keys(names, need, CONTAINER)
    holder = keys.get("container")
    chosen = _within(names, need, f'{{{holder}!="",{holder}!="POD"}}' if holder else "", namespaces)
    # Memory is a gauge: peak, sum and count of its samples. CPU is a counter: where it stood last and lowest.
    wanted = (
        (("peak", "max"), ("sum", "sum"), ("count", "count"))
        if need == words.MEMORY
        else (("last", "last"), ("low", "min"), ("count", "count"))
    )
    for name, function in wanted:
        inner = f"{function}_over_time({metric}{chosen}[{{range}}])"
        outer = "min" if name == "low" else LARGEST
        yield Question(f"{need}-{name}", _by(outer, keys.values(), inner), keys, windows=True)


def _fact(names: Names, need: str, meanings: tuple[str, ...], extra: tuple[str, ...], chosen: str = "") -> Question:
    """What stays the same for long: the largest value within the chunk."""
    keys = _keys(names, need, meanings) | {name: name for name in extra}
    inner = f"max_over_time({names.metrics[need]}{chosen}[{{range}}])"
    return Question(need, _by(LARGEST, keys.values(), inner), keys, windows=False)


def _keys(names: Names, need: str, meanings: Iterable[str]) -> dict[str, str]:
    known = names.labels.get(need, {})
    return {meaning: known[meaning] for meaning in meanings if meaning in known}


def _by(outer: str, labels: Iterable[str], inner: str) -> str:
    return f"{outer} by ({', '.join(dict.fromkeys(labels))}) ({inner})"


def sanitised(key: str) -> str:
    """A Kubernetes label as kube-state-metrics spells it."""
    return "label_" + re.sub(r"[^a-zA-Z0-9_]", "_", key)


def wanted_labels(table: FrameworkTable, user_labels: Iterable[str]) -> dict[str, str]:
    """Spelling → label, of every label that tells apps, roles, stages and users apart."""
    keys = {key for row in table.frameworks for key in (*row.app, *row.stage)}
    keys |= {term.key for row in table.frameworks for term in (*row.when, *row.drivers, *row.tasks)}
    keys |= {"slackwater.io/app", "slackwater.io/role", "slackwater.io/stage", *user_labels}
    return {sanitised(key): key for key in sorted(keys)}
