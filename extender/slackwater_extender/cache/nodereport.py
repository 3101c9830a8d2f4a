"""The arithmetic of many nodes, read in slices of the lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slackwater.ledger.types import RoomLine
from slackwater_cluster.objects.records import NodeRecord
from slackwater_cluster.pods.nodefit import carries
from slackwater_cluster.watch.timeslices import slices
from slackwater_extender.cache.cache import ClusterCache

SLICE = 100  # nodes per hold of the lock


def node_lines(
    cache: ClusterCache, selector: Mapping[str, str] | None = None
) -> Iterator[tuple[NodeRecord, Mapping[str, RoomLine]]]:
    """Every selected node and its arithmetic; the lock is free between slices, so that no /filter waits for all."""
    chosen = (selector or {}).items()
    with cache.lock.background():
        names = [name for name, record in cache.nodes.items() if carries(record, chosen)]
    for some in slices(names, SLICE):
        with cache.lock.background():
            now = cache.clock()
            there = [record for name in some if (record := cache.nodes.get(name)) is not None]
            lines = [(record, cache.ledger.explain(record.name, now)) for record in there]
        yield from lines
