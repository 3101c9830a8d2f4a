"""Which rows of a table a pod may use."""

from __future__ import annotations

import numpy as np

from slackwater.placement.rowmasks import common, narrowed, rows_of
from support.builders.nodes import node_table

TABLE = node_table([[1, 1]] * 3)
FIRST_TWO = np.array([True, True, False])


def test_names_that_the_table_does_not_have_serve_nobody() -> None:
    """A node may be gone since somebody named it."""
    assert rows_of(["node-1", "gone"], TABLE).tolist() == [False, True, False]


def test_masks_leave_the_rows_that_are_in_each() -> None:
    """None is no mask: all rows."""
    assert common() is None
    assert common(None, FIRST_TWO, None) is FIRST_TWO
    both = common(FIRST_TWO, np.array([False, True, True]))
    assert both is not None
    assert both.tolist() == [False, True, False]


def test_a_pod_that_narrows_nothing_shares_the_mask_of_its_constraints() -> None:
    """Pods of one mask are placed together."""
    assert narrowed(TABLE, None, None, ()) is None
    assert narrowed(TABLE, FIRST_TWO, None, ()) is FIRST_TWO


def test_nodes_to_use_and_to_avoid_narrow_what_constraints_allow() -> None:
    """Without changing the mask that others share."""
    found = narrowed(TABLE, FIRST_TWO, ["node-0", "node-1", "node-2"], {"node-0", "gone"})
    assert found is not None
    assert found.tolist() == [False, True, False]
    assert FIRST_TWO.tolist() == [True, True, False]
