"""One round of measurement: ask, map, doubt, and hand over what can be believed.

Everything may fail apart: a query about nodes that is slow or broken costs its own kind only. A pod counts as measured
where all kinds of it were: while a query about pods is broken, none is, and they count as they last did, new ones with
their requests. A node without series keeps its last estimate and grows stale, a number that no node could have is
dropped and reported as a wrong unit.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import chain, compress
from operator import not_
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from slackwater.errors import Unavailable
from slackwater.resources import CPU, MEMORY, Kinds
from slackwater_cluster.objects.records import NodeRecord
from slackwater_cluster.prometheus.vector import Vector
from slackwater_extender.sampler.labels import NodeNames, number, usable
from slackwater_extender.sampler.presets import filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

QueryFunction = Callable[[str], Vector]

NamesOf = Callable[[str], Mapping[str, str]]  # a namespace → uid of each pod in it by name
Asked = Mapping[str, Future[Vector]]

NODE_QUERIES = ("node_cpu", "node_memory", "node_time", "node_network")
KINDS = {CPU: ("node_cpu", "pod_cpu"), MEMORY: ("node_memory", "pod_memory")}
# A node may burst a little over what it reports (accounting lag), never by half.
PLAUSIBLE = 1.5
# Less than this on a whole node means a unit other than bytes.
LEAST_MEMORY = 1024.0**2


class PodUses:
    """Use by uid and kind, in arrays: dicts of 150,000 floats would be 40 MB at every heartbeat."""

    def __init__(self) -> None:
        self._uids: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self._values: dict[str, array[float]] = {kind: array("d") for kind in KINDS}

    def note(self, kind: str, uids: Sequence[str], values: Sequence[float]) -> None:
        """Keep some values."""
        self._uids[kind].extend(uids)
        self._values[kind].extend(values)

    def joined(self, kinds: Kinds) -> tuple[list[str], NDArray[np.float64]]:
        """All uids, and their use as kind × pod: NaN where it was not measured, 0 for kinds that never are (GPUs).

        A uid may stand there twice where two scrapers tell of one pod (`largest` settles it).
        """
        first, *others = self._uids.values()
        if all(uids == first for uids in others):
            index: dict[str, int] = {}  # the usual case: the same pods in the same order
            uses = np.zeros((len(kinds), len(first)))
        else:
            index = {uid: at for at, uid in enumerate(dict.fromkeys(chain.from_iterable(self._uids.values())))}
            uses = np.zeros((len(kinds), len(index)))
        for row, kind in enumerate(kinds):
            if kind in self._uids:
                uses[row] = self._row(kind, index) if index else np.frombuffer(self._values[kind])
        return list(index) or first, uses

    def _row(self, kind: str, index: Mapping[str, int]) -> NDArray[np.float64]:
        uids = self._uids[kind]
        row = np.full(len(index), np.nan)
        np.fmax.at(
            row, np.fromiter(map(index.__getitem__, uids), np.intp, len(uids)), np.frombuffer(self._values[kind])
        )
        return row


def largest(uids: list[str], uses: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
    """Each pod once, with the larger of its values: to believe the smaller would overfill."""
    if len(set(uids)) == len(uids):
        return uids, uses
    index = {uid: at for at, uid in enumerate(dict.fromkeys(uids))}
    merged = np.full((len(uses), len(index)), np.nan)
    at = np.fromiter(map(index.__getitem__, uids), np.intp, len(uids))
    for row, values in zip(merged, uses, strict=True):
        np.fmax.at(row, at, values)
    return list(index), merged


@dataclass
class SampleRound:
    """What one round found."""

    nodes: dict[str, dict[str, float]] = field(default_factory=dict)  # kind → node → use
    stamps: dict[str, float] = field(default_factory=dict)  # node → when measured
    pods: PodUses = field(default_factory=PodUses)
    network: dict[str, float] = field(default_factory=dict)
    evaluated: dict[str, float] = field(default_factory=dict)  # node → when the question was answered
    troubles: list[str] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, why: str, count: int = 1) -> None:
        """Count samples that are not used."""
        self.dropped[why] = self.dropped.get(why, 0) + count

    def set_aside(self, uses: NDArray[np.float64], total: NDArray[np.float64], rows: NDArray[np.intp]) -> None:
        """Believe no pod that is said to use far more than its node has (`uses` is changed): its use is not known.

        `uses` is kind × pod, `total` node × kind, `rows` the node of each pod, −1 for none.
        """
        most = np.vstack([np.where(total > 0, total * PLAUSIBLE, np.inf), np.full(total.shape[1], np.inf)])
        if len(uses) == len(most.T) and (absurd := (uses > most[rows].T).any(axis=0)).any():
            uses[:, absurd] = np.nan
            self.drop("more than its node", int(absurd.sum()))

    def used(self, node: str, kinds: Kinds) -> tuple[float, ...]:
        """A node's use in the ledger's order; NaN where it was not measured."""
        return tuple(self.nodes.get(kind, {}).get(node, math.nan) for kind in kinds)


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """How to ask: the queries in force, the window of rates, and the label that names the node.

    `rest` is called between two pieces of a fraction of a millisecond: a round may take a second, a /filter may not.
    """

    queries: Mapping[str, str]
    window: float
    node_label: str = ""
    rest: Callable[[], None] = lambda: None

    def run(
        self, ask: QueryFunction, pool: Executor, nodes: Mapping[str, NodeRecord], names_of: NamesOf, namespaces: str
    ) -> SampleRound:
        """Ask everything at once and keep what can be believed. `namespaces` is a regular expression."""
        made = SampleRound()
        wanted = {name: filled(query, self.window, namespaces) for name, query in self.queries.items()}
        asked = {name: pool.submit(ask, wanted[name]) for name in NODE_QUERIES if name in wanted}
        names = NodeNames(nodes.values(), self.node_label)
        found = {name: self._by_node(made, name, asked, names) for name in NODE_QUERIES}
        for kind, (by, of_pods) in KINDS.items():
            made.nodes[kind] = _plausible(made, by, kind, found[by], nodes)
            if namespaces and of_pods in wanted:  # one after the other: these answers are the long ones
                self._by_pod(made, of_pods, kind, pool.submit(ask, wanted[of_pods]), names_of)
        made.network = found["node_network"]
        # Without a query for it, the time of the question stands in for the time of the measurement.
        made.stamps = found["node_time"] if "node_time" in asked else made.evaluated
        if not made.stamps and not made.troubles:
            made.troubles.append(
                "no series of a believed job names a known node; "
                "see prometheus.jobs, .preset, .node_label and .matchers"
            )
        return made

    def _by_node(self, made: SampleRound, name: str, asked: Asked, names: NodeNames) -> dict[str, float]:
        """Value per node. Of duplicates the larger stays: to believe the smaller would overfill."""
        found: dict[str, float] = {}
        for batch in self._walked(made, name, asked.get(name), Vector.batches):
            for each in batch:
                node, value = names.find(each.metric), number(each.value[1])
                if node is None or not usable(value):
                    made.drop("unknown node" if node is None else "not a number")
                    continue
                if node in found:
                    made.drop("duplicate")
                found[node] = max(found.get(node, 0.0), value)
                made.evaluated[node] = each.value[0]
            self.rest()
        return found

    def _by_pod(self, made: SampleRound, name: str, kind: str, asked: Future[Vector], names_of: NamesOf) -> None:
        """Take over the use of pods, some hundreds at a time; only where one is odd is each looked at."""
        for batch in self._walked(made, name, asked, Vector.pods):
            if batch:
                spaces, pods, texts = zip(*batch, strict=True)
                self._keep(made, kind, uids_of(spaces, pods, names_of), numbers(texts))
            self.rest()

    def _keep(self, made: SampleRound, kind: str, uids: Sequence[str | None], values: Sequence[float]) -> None:
        if None in uids or not min(values) >= 0 or not max(values) < math.inf or math.isnan(sum(values)):
            good = [uid is not None and usable(value) for uid, value in zip(uids, values, strict=True)]
            for uid in compress(uids, map(not_, good)):
                made.drop("unknown pod" if uid is None else "not a number")
            uids, values = list(compress(uids, good)), list(compress(values, good))
        made.pods.note(kind, cast("Sequence[str]", uids), values)

    def _walked(
        self, made: SampleRound, name: str, asked: Future[Vector] | None, walk: Callable[[Vector], Iterator[T]]
    ) -> Iterator[T]:
        """Walk through the answer of one query; whatever is wrong with it costs that query only."""
        if asked is None:
            return
        try:
            vector = asked.result()
            made.troubles += [f"{name}: partial answer: {warning}" for warning in vector.warnings[:1]]
            yield from walk(vector)
        except Unavailable as problem:
            made.troubles.append(f"{name}: {problem}")


def uids_of(spaces: Sequence[str], pods: Sequence[str], names_of: NamesOf) -> list[str | None]:
    """The uid of each pod, None where it is not known. Neighbours mostly share a namespace."""
    if spaces.count(spaces[0]) == len(spaces):
        return list(map(names_of(spaces[0]).get, pods))
    return [names_of(space).get(pod) for space, pod in zip(spaces, pods, strict=True)]


def numbers(texts: Sequence[str]) -> list[float]:
    """All values as floats; text that is no number is NaN."""
    try:
        return list(map(float, texts))
    except ValueError:
        return [number(text) for text in texts]


def _plausible(
    made: SampleRound, query: str, kind: str, found: Mapping[str, float], nodes: Mapping[str, NodeRecord]
) -> dict[str, float]:
    """What a node could really use; if most could not, the query's unit is wrong and none of it is believed."""
    good = {name: value for name, value in found.items() if _possible(kind, value, nodes[name])}
    wrong = len(found) - len(good)
    if wrong:
        made.drop("wrong unit", wrong)
    if wrong * 2 > len(found):
        unit = "cores" if kind == CPU else "bytes"
        made.troubles.append(f"{query}: {wrong} of {len(found)} values cannot be {unit}; see prometheus.queries")
        return {}
    return good


def _possible(kind: str, value: float, node: NodeRecord) -> bool:
    capacity = node.capacity[kind] or node.allocatable[kind]
    if kind == MEMORY and 0 < value < min(LEAST_MEMORY, capacity / 1000):
        return False
    return capacity == 0 or value <= capacity * PLAUSIBLE


def regex(namespaces: Iterable[str], most: int = 500) -> str:
    """A regular expression for some namespaces; very many are asked for all at once. DNS labels need no escaping."""
    listed = list(namespaces)
    return ".+" if len(listed) > most else "|".join(listed)
