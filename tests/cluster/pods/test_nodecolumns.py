"""Many nodes at once are judged as each by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster.objects.records import Constraints, NodeRecord, Requirement, Tolerated
from slackwater_cluster.pods.nodecolumns import NodeColumns
from slackwater_cluster.pods.nodefit import allows

KEYS = st.sampled_from(("zone", "pool", "cores", "metadata.name", ""))
VALUES = st.sampled_from(("a", "b", "n0", "8", "16", "-1", "", "1_0", "9" * 30, "٣"))
EFFECTS = st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule", ""))
OPERATORS = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"))
REQUIREMENTS = st.builds(Requirement, KEYS, OPERATORS, st.lists(VALUES, max_size=3).map(tuple), st.booleans())
TERMS = st.lists(st.lists(REQUIREMENTS, max_size=2).map(tuple), max_size=3).map(tuple)
TOLERATIONS = st.builds(Tolerated, KEYS, st.sampled_from(("Exists", "Equal", "Gt", "Lt", "")), VALUES, EFFECTS)
CONSTRAINTS = st.builds(
    Constraints,
    selector=st.lists(st.tuples(KEYS, VALUES), max_size=2).map(tuple),
    terms=st.none() | TERMS,
    tolerations=st.lists(TOLERATIONS, max_size=2).map(tuple),
)
NODES = st.lists(
    st.none()
    | st.builds(
        NodeRecord,
        name=st.sampled_from(("n0", "n1", "a")),
        labels=st.dictionaries(st.sampled_from(("zone", "pool", "cores")), VALUES, max_size=3),
        taints=st.lists(st.tuples(KEYS, VALUES, EFFECTS), max_size=2).map(tuple),
    ),
    max_size=6,
)


@given(NODES, st.lists(CONSTRAINTS, max_size=4))
def test_as_each_node_by_itself(nodes: list[NodeRecord | None], asked: list[Constraints]) -> None:
    """Selector, affinity and taints; one that is not known serves nobody."""
    columns = NodeColumns(nodes)
    for constraints in asked:
        alone = [node is not None and allows(constraints, node) for node in nodes]
        assert columns.accepted(constraints).tolist() == alone


def nodes_with_names(count: int) -> list[NodeRecord]:
    """Nodes that differ in their host name, as all do."""
    zones = ("a", "b", "c")
    return [
        NodeRecord(name=f"n{n}", labels={"kubernetes.io/hostname": f"n{n}", "zone": zones[n % 3]}) for n in range(count)
    ]


WISHES: dict[str, Callable[[int], Constraints]] = {
    "own host": lambda n: Constraints(selector=(("kubernetes.io/hostname", f"n{n}"),)),
    "labels that nobody has": lambda n: Constraints(
        terms=tuple((Requirement(f"k{n}-{term}", "In", ("v",)),) for term in range(16))
    ),
    "not these hosts": lambda n: Constraints(
        terms=((Requirement("kubernetes.io/hostname", "NotIn", tuple(f"n{n + host}" for host in range(500))),),)
    ),
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
def test_many_pods_that_each_want_something_else_cost_little(wish: Callable[[int], Constraints]) -> None:
    """Forty of them take less time than twenty where each node is judged by itself."""
    nodes, asked = nodes_with_names(1000), [wish(n) for n in range(40)]
    begin = time.process_time()
    columns = NodeColumns(nodes)
    found = [columns.accepted(each) for each in asked]
    many = time.process_time() - begin
    begin = time.process_time()
    few = [[allows(each, node) for node in nodes] for each in asked[:20]]
    one_by_one = time.process_time() - begin
    assert [each.tolist() for each in found[:20]] == few
    assert many < one_by_one


def test_what_changed_later_is_not_seen() -> None:
    """Columns tell of nodes as they were when they were made."""
    node, wish = NodeRecord(name="n", labels={"zone": "a"}), Constraints(selector=(("zone", "a"),))
    assert NodeColumns([node]).accepted(wish).tolist() == [True]
    assert NodeColumns([msgspec.structs.replace(node, labels={})]).accepted(wish).tolist() == [False]
