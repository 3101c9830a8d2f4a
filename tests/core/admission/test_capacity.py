"""002's C on a live cluster: nominal, over Ready nodes, less what others request."""

from slackwater.admission.capacity import NodeShare, nominal
from slackwater.resources import NOTHING, Resources


def test_sums_what_is_left_of_each_ready_node() -> None:
    """Foreign requests are taken off node by node."""
    nodes = [
        NodeShare(Resources(cpu=16), foreign=Resources(cpu=6)),
        NodeShare(Resources(cpu=8)),
    ]
    assert nominal(nodes) == Resources(cpu=18)


def test_an_overfull_node_takes_nothing_from_the_others() -> None:
    """A node that others over-request counts as empty, not as negative."""
    nodes = [NodeShare(Resources(cpu=4), foreign=Resources(cpu=6)), NodeShare(Resources(cpu=4))]
    assert nominal(nodes) == Resources(cpu=4)


def test_a_node_that_is_not_ready_does_not_count() -> None:
    """A lost node's capacity is gone until it returns."""
    assert nominal([NodeShare(Resources(cpu=4), ready=False)]) == NOTHING
