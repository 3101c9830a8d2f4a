"""Nodes by declared requests alone, without anything measured."""

from __future__ import annotations

from slackwater.placement.declaredsums import DeclaredAsk, declared_sums
from slackwater.resources import Resources


def anywhere(uid: str, node: str) -> bool:
    """Every node accepts every pod."""
    del uid, node
    return True


def test_declared_sums_never_overfill_a_node() -> None:
    """Each pod takes from the node it gets; avoided and forbidden nodes are left out."""
    two = Resources(cpu=2)
    asks = [
        DeclaredAsk("a", two),
        DeclaredAsk("b", two),
        DeclaredAsk("c", two, avoid=("n2",)),
        DeclaredAsk("d", two, nodes=("n3",)),
    ]
    free = {"n1": Resources(cpu=3), "n2": Resources(cpu=4), "n3": Resources(cpu=8)}
    found = declared_sums(asks, free, lambda uid, node: not (node == "n3" and uid != "d"))
    assert found == {"a": "n2", "b": "n1", "c": None, "d": "n3"}


def test_a_pod_that_finds_no_node_takes_nothing_from_the_next() -> None:
    """Its turn is over; what it asked for is not kept for it."""
    asks = [DeclaredAsk("large", Resources(cpu=9)), DeclaredAsk("small", Resources(cpu=4))]
    assert declared_sums(asks, {"n": Resources(cpu=4)}, anywhere) == {"large": None, "small": "n"}


def test_nodes_that_are_not_known_serve_nobody() -> None:
    """A queue may still name one that is gone."""
    ask = DeclaredAsk("p", Resources(cpu=1), nodes=("gone",))
    assert declared_sums([ask], {"n": Resources(cpu=4)}, anywhere) == {"p": None}
