"""One round of measurement: ask, map, doubt, and hand over what can be believed.

Everything may fail apart: a query that is slow or broken costs its own kind only, a node without series keeps its last
estimate and grows stale, a number that no node could have is dropped and reported as a wrong unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from slackwater.errors import Unavailable
from slackwater.resources import CPU, MEMORY, Kinds
from slackwater_cluster.records import NodeRecord
from slackwater_extender.sampler.mapping import NodeNames, by_node, number, pod_of, usable
from slackwater_extender.sampler.presets import filled
from slackwater_extender.sampler.prometheus import Vector

Ask = Callable[[str], Vector]

KINDS = {CPU: ("node_cpu", "pod_cpu"), MEMORY: ("node_memory", "pod_memory")}
# A node may burst a little over what it reports (accounting lag), never by half.
PLAUSIBLE = 1.5
# Less than this on a whole node means a unit other than bytes.
LEAST_MEMORY = 1024.0**2


@dataclass
class Round:
    """What one round found. Values are by node name and by (namespace, pod)."""

    nodes: dict[str, dict[str, float]] = field(default_factory=dict)  # kind → node → use
    stamps: dict[str, float] = field(default_factory=dict)  # node → when measured
    pods: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)  # kind → pod → use
    network: dict[str, float] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, why: str) -> None:
        """Count a sample that is not used."""
        self.dropped[why] = self.dropped.get(why, 0) + 1

    def used(self, node: str, kinds: Kinds) -> tuple[float, ...]:
        """A node's use in the ledger's order; NaN where it was not measured."""
        return tuple(self.nodes.get(kind, {}).get(node, math.nan) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """How to ask: the queries in force, the window of rates, and the label that names the node."""

    queries: Mapping[str, str]
    window: float
    node_label: str = ""

    def run(self, ask: Ask, pool: Executor, nodes: Mapping[str, NodeRecord], namespaces: str) -> Round:
        """Ask everything at once and keep what can be believed. `namespaces` is a regular expression."""
        made = Round()
        asked = {
            name: pool.submit(ask, filled(query, self.window, namespaces))
            for name, query in self.queries.items()
            if namespaces or not name.startswith("pod_")
        }
        vectors = {name: self._vector(made, name, future.result) for name, future in asked.items()}
        names = NodeNames(nodes.values(), self.node_label)
        for kind, (by, of_pods) in KINDS.items():
            found = by_node(vectors.get(by, NOTHING).series, names, made.drop)
            made.nodes[kind] = _plausible(made, by, kind, found, nodes)
            made.pods[kind] = _pods(made, vectors.get(of_pods, NOTHING))
        made.stamps = _stamps(made, vectors, names)
        made.network = by_node(vectors.get("node_network", NOTHING).series, names, made.drop)
        if not made.stamps and not made.troubles:
            made.troubles.append(
                "no series could be matched to a node; see prometheus.preset and prometheus.node_label"
            )
        return made

    def _vector(self, made: Round, name: str, result: Callable[[], Vector]) -> Vector:
        try:
            vector = result()
        except Unavailable as problem:
            made.troubles.append(f"{name}: {problem}")
            return NOTHING
        made.troubles += [f"{name}: partial answer: {warning}" for warning in vector.warnings[:1]]
        return vector


NOTHING = Vector()


def _stamps(made: Round, vectors: Mapping[str, Vector], names: NodeNames) -> dict[str, float]:
    """When each node was measured: its own timestamps, else the time of evaluation if no query for them is set."""
    if "node_time" in vectors:
        return by_node(vectors["node_time"].series, names, made.drop)
    series = vectors.get("node_memory", NOTHING).series or vectors.get("node_cpu", NOTHING).series
    return {name: each.value[0] for each in series if (name := names.find(each.metric))}


def _pods(made: Round, vector: Vector) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for each in vector.series:
        pod, value = pod_of(each.metric), number(each.value[1])
        if pod is None or not usable(value):
            made.drop("not a number" if pod else "unknown pod")
        else:
            found[pod] = max(found.get(pod, 0.0), value)
    return found


def _plausible(
    made: Round, query: str, kind: str, found: Mapping[str, float], nodes: Mapping[str, NodeRecord]
) -> dict[str, float]:
    """What a node could really use; if most could not, the query's unit is wrong and none of it is believed."""
    good = {name: value for name, value in found.items() if _possible(kind, value, nodes[name])}
    wrong = len(found) - len(good)
    for _ in range(wrong):
        made.drop("wrong unit")
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
