"""Nominal capacity: what pods may count on, on the nodes that they can reach."""

import numpy as np

from slackwater.admission.capacity import NodeShare, NodeShares
from slackwater.resources import NOTHING, Resources


def test_pods_of_others_take_from_their_node_only() -> None:
    """A node that others have overbooked gives nothing, and takes nothing from the next one."""
    assert NodeShare(Resources(cpu=16), foreign=Resources(cpu=6)).amount() == Resources(cpu=10)
    assert NodeShare(Resources(cpu=4), foreign=Resources(cpu=6)).amount() == Resources(cpu=0)


def test_a_node_that_takes_no_pods_adds_nothing() -> None:
    """Not ready, or cordoned."""
    assert NodeShare(Resources(cpu=4), open=False).amount() == NOTHING


def test_capacity_is_what_is_reached() -> None:
    """Two tainted nodes of 32 cores are none of it for pods that do not tolerate the taint."""
    shares = NodeShares(("cpu",), np.array([[32.0], [32.0], [31.8], [31.8]]))
    assert shares.capacity() == Resources(cpu=127.6)
    assert shares.capacity(np.array([False, False, True, True])) == Resources(cpu=63.6)
    assert shares.capacity(np.zeros(4, np.bool_))["cpu"] == 0
