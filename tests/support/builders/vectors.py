"""What a Prometheus answers to the queries of one round, and the round that asks them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from slackwater_cluster.prometheus.vector import Vector, VectorSeries
from slackwater_extender.sampler.measurement import SampleRound, UsageQuery
from slackwater_extender.sampler.presets import NAMES
from support.fakes.extender import World

INQUIRY = UsageQuery({name: name for name in NAMES}, window=60)


def vector(*rows: tuple[dict[str, str], object]) -> Vector:
    """An answer by labels."""
    return Vector.of([VectorSeries(labels, (1.0, str(value))) for labels, value in rows])


def by_node(**values: object) -> Vector:
    """An answer with one number for each node."""
    return vector(*[({"node": name}, value) for name, value in values.items()])


def answers(**by_name: Vector | Exception) -> Callable[[str], Vector]:
    """A Prometheus that answers each query by its name."""

    def ask(promql: str) -> Vector:
        found = by_name.get(promql, Vector())
        if isinstance(found, Exception):
            raise found
        return found

    return ask


def measured(pool: ThreadPoolExecutor, made: World, **by_name: Vector | Exception) -> SampleRound:
    """One round over the world's nodes and pods."""
    cache = made.parts.cache
    return INQUIRY.run(answers(**by_name), pool, cache.nodes, cache.names_of, ".+")
