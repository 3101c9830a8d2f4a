"""A pod of an app that came to use more than it declares: where it goes, and what it waits for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.nodetable import NodeTable
from slackwater.placement.outgrown import Prospect, excess, unproven, widened
from slackwater.validation import TOLERANCE
from support.builders.nodes import ask, node_table

EXPECTED = np.array([1.0, 10.0])
MORE = np.array([False, True])
SMALL, LARGE = (8.0, 8.0), (32.0, 32.0)


def rows(*allowed: bool) -> np.ndarray:
    """A mask."""
    return np.array(allowed, np.bool_)


def prospect(
    table: NodeTable, *, spare: np.ndarray | None = None, later: np.ndarray | None = None, left: object = None
) -> Prospect:
    """What a pod may wait for; every node has all it is made of once its tasks have ended."""
    return Prospect(table.total if left is None else np.array(left, np.float64), spare, later)


def test_more_than_rounding_is_more() -> None:
    """The peak that was learned of pods that use what they declare is the same number but for its last digits."""
    assert excess((1.0, 5.0), np.array([1.0, 10.0])).tolist() == [False, True]
    assert not excess((1.0, 5.0), np.array([1.0, 5.0 * (1 + TOLERANCE / 2)])).any()


def test_it_asks_for_what_is_expected_where_some_node_has_as_much_now() -> None:
    """None of its app was killed yet: room is taken where there is some."""
    asked = ask("p", 1.0, 5.0)
    found = widened(node_table([SMALL, LARGE]), asked, EXPECTED, MORE)
    assert (found.declared, found.native, found.allowed) == ((1.0, 10.0), asked.native, None)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(node_table([SMALL, SMALL]), id="too little room"),
        pytest.param(node_table([SMALL, LARGE], closed=[1]), id="closed"),
        pytest.param(node_table([SMALL, LARGE], native=[SMALL, (8.0, 4.0)]), id="requested by others"),
    ],
)
def test_it_goes_by_what_it_declares_where_no_node_has_as_much_now(table: NodeTable) -> None:
    """Nobody was killed: to wait for more than it asked for would cost more than it saves. It is spread, not packed."""
    asked = ask("p", 1.0, 5.0)
    assert widened(table, asked, EXPECTED, MORE) == replace(asked, unproven=True)


def test_once_one_was_killed_it_waits_for_a_node_that_is_full_of_tasks() -> None:
    """They end, and it is not killed in its turn."""
    table = node_table([SMALL, (32.0, 2.0)], total=[SMALL, LARGE])
    found = widened(table, ask("p", 1.0, 5.0), EXPECTED, MORE, prospect(table))
    assert found.declared == (1.0, 10.0)


def test_it_does_not_wait_for_what_no_node_could_ever_have() -> None:
    """Drivers and pods of others stay."""
    table = node_table([SMALL, (32.0, 2.0)], total=[SMALL, LARGE])
    asked = ask("p", 1.0, 5.0)
    assert widened(table, asked, EXPECTED, MORE, prospect(table, left=[SMALL, (32.0, 9.0)])).declared == asked.declared


def test_only_kinds_of_which_more_is_expected_decide_whether_it_waits() -> None:
    """Of others it asks for what it declares, and waits for that like any pod."""
    table = node_table([SMALL, LARGE])
    asked = ask("p", 1.0, 5.0)
    found = widened(table, asked, EXPECTED, MORE, prospect(table, left=[(8.0, 8.0), (0.0, 32.0)]))
    assert found.declared == (1.0, 10.0)


def test_it_takes_a_node_that_it_should_leave_to_others_only_where_no_other_could_serve() -> None:
    """The mask of its ask grows by that node, at once."""
    table, allowed, spare = node_table([SMALL, LARGE, LARGE]), rows(True, False, True), rows(True, True, True)
    kept = widened(table, ask("p", 1.0, 5.0, allowed=allowed), EXPECTED, MORE, prospect(table, spare=spare))
    assert kept.allowed is allowed
    alone = ask("p", 1.0, 5.0, allowed=rows(True, False, False))
    assert widened(table, alone, EXPECTED, MORE, prospect(table, spare=spare)).allowed is spare


def test_it_waits_for_a_node_that_will_accept_it_later_without_taking_it_now() -> None:
    """A taint for memory pressure passes."""
    table, allowed = node_table([SMALL, LARGE]), rows(True, False)
    asked = ask("p", 1.0, 5.0, allowed=allowed)
    found = widened(table, asked, EXPECTED, MORE, prospect(table, spare=allowed, later=rows(True, True)))
    assert (found.declared, found.allowed) == ((1.0, 10.0), allowed)


@pytest.mark.parametrize(
    ("expected", "unknown", "found"),
    [
        pytest.param((1.0, 5.0), False, False, id="its likes keep to what they declare"),
        pytest.param((1.0, 5.0), True, True, id="nobody has seen its likes"),
        pytest.param((1.0, 10.0), False, True, id="its likes use more"),
    ],
)
def test_a_pod_is_unproven_while_nobody_knows_its_likes_to_keep_to_what_they_declare(
    expected: tuple[float, float], unknown: bool, found: bool
) -> None:
    """Whichever way it comes to a node."""
    assert unproven((1.0, 5.0), np.array(expected), unknown=unknown) is found
