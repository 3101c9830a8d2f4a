"""The table of nodes: measured room that ceilings keep from being used."""

from __future__ import annotations

import pytest

from slackwater.claims import Claim, Host, Reading, Role, State, Terms
from slackwater.ledger import Ledger


def ledger(tasks: int, use: float) -> Ledger:
    """A node of 16 cores with tasks that declare 2 and were shrunk to 1."""
    made = Ledger(Terms(kinds=("cpu",), tau0={"cpu": 1.0}))
    made.upsert_node(Host("n", (16.0,), (16.0,)))
    for number in range(tasks):
        made.put(Claim(str(number), "n", (2.0,), (1.0,), Role.TASK, "", State.RUNNING, 0.0, (2.0,)))
    for stamp in (1000.0, 2000.0):
        made.sample(stamp, {"n": Reading(stamp, (use,))}, {str(number): (use / tasks,) for number in range(tasks)})
    return made


@pytest.mark.parametrize(
    ("tasks", "use", "beyond"), [(4, 4.0, 0.0), (14, 2.0, 8.0), (16, 2.0, 12.0)], ids=["room binds", "near", "full"]
)
def test_room_beyond_the_ceiling_is_told_apart(tasks: int, use: float, beyond: float) -> None:
    """AR is 14: with 14 tasks 12 of it are free by measurement, but native requests leave two tasks of 2."""
    assert ledger(tasks, use).table(2000.0).beyond((2.0,)).tolist() == pytest.approx([beyond])


def test_placing_a_shrunk_pod_leaves_the_whole_as_it_is() -> None:
    """Σ D + room − what is beyond: 32 of 16 cores at a ceiling of 2, whoever holds how much of it."""
    made = ledger(10, 2.0)
    before = made.pool_total(2000.0) - made.table(2000.0).beyond((2.0,))
    made.place(Claim("new", "n", (2.0,), (1.0,), Role.TASK, ceiling=(2.0,)), expires=3000.0)
    after = made.pool_total(2000.0) - made.table(2000.0).beyond((2.0,))
    assert before.tolist() == pytest.approx([32.0])
    assert after.tolist() == pytest.approx(before.tolist())


def test_closed_nodes_hold_nothing_back() -> None:
    """They are no part of the pools to begin with."""
    made = ledger(16, 2.0)
    made.upsert_node(Host("n", (16.0,), (16.0,), ready=False))
    assert made.table(2000.0).beyond((2.0,)).tolist() == [0.0]
