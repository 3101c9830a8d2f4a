"""The arithmetic of many nodes is read in slices, and nodes come and go between them."""

from __future__ import annotations

from slackwater_extender.cache.nodereport import SLICE, node_lines
from support.builders import objects
from support.fakes.extender import world


def test_a_node_that_goes_meanwhile_is_told_as_it_was_read_or_not_at_all() -> None:
    """`GET /v1/nodes` failed when a node went after its slice was read."""
    names = [f"n{number}" for number in range(SLICE + 2)]
    cache = world(*[objects.node(name) for name in names]).parts.cache
    found = node_lines(cache)
    first, _ = next(found)
    cache.drop_nodes([cache.nodes["n1"], cache.nodes[names[-1]]])
    rest = {record.name: (record, lines) for record, lines in found}
    assert [first.name, *rest] == names[:-1]
    record, lines = rest["n1"]
    assert record.open
    assert lines["cpu"].allocatable == record.allocatable["cpu"]
