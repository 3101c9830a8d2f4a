"""Sampling the nodes in turns, from arrays, is the same as sampling them at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

NODES = [f"n{index}" for index in range(4)]
pods = st.lists(
    st.tuples(st.sampled_from(NODES), st.floats(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=10
)


def built(listed: list[tuple[str, float, bool, bool]]) -> Ledger:
    ledger = Ledger()
    for name in NODES:
        ledger.upsert_node(NodeSpec(name, (16.0, 64.0), (16.0, 64.0)))
    for index, (node, _, driver, late) in enumerate(listed):
        role = Role.DRIVER if driver else Role.TASK
        started = 1e9 if late else 0.0
        ledger.put(PodClaim(f"u{index}", node, (2.0, 4.0), (2.0, 4.0), role, "a", ClaimState.RUNNING, started))
    return ledger


@given(pods, st.lists(st.floats(0, 10), min_size=4, max_size=4), st.integers(1, 4))
def test_turns_equal_the_whole(listed: list[tuple[str, float, bool, bool]], use: list[float], size: int) -> None:
    """Whatever the size of a turn; containers that started after the sample are not seen either way."""
    at_once, in_turns = built(listed), built(listed)
    for beat in range(3):
        now, stamp = 5.0 * beat, 100.0 + 5.0 * beat
        readings = {name: Sample(stamp, (used, used)) for name, used in zip(NODES, use, strict=True)}
        uses = {f"u{index}": (each[1], each[1]) for index, each in enumerate(listed)}
        ran = {f"u{index}" for index, each in enumerate(listed) if not each[3]}
        measure(at_once, now, readings, uses, ran)
        for first in range(0, len(NODES), size):
            names = NODES[first : first + size]
            here = [f"u{index}" for index, each in enumerate(listed) if each[0] in names]
            given_uses = np.array([uses[uid] for uid in here]).reshape(len(here), 2).T
            in_turns.sample_some(now, {name: readings[name] for name in names}, here, given_uses)
    whole, parts = at_once.table(20.0), in_turns.table(20.0)
    np.testing.assert_allclose(parts.room, whole.room, atol=1e-9)
    assert parts.old().tolist() == whole.old().tolist()


@given(pods, st.lists(st.floats(0, 10), min_size=4, max_size=4))
def test_arrays_of_everything_equal_the_same_by_name(
    listed: list[tuple[str, float, bool, bool]], use: list[float]
) -> None:
    """`sample_all` is for a shell that measures all that runs at one moment; pods it does not know are ignored."""
    by_name, by_array, by_slot = (built([(*each[:3], False) for each in listed]) for _ in range(3))
    uids = [f"u{index}" for index in range(len(listed))]
    for now in (100.0, 105.0, 110.0):
        readings = {name: Sample(now, (used, used)) for name, used in zip(NODES, use, strict=True)}
        measure(by_name, now, readings, {uid: (each[1], each[1]) for uid, each in zip(uids, listed, strict=True)})
        uses = np.array([[each[1] for each in listed] + [9.0]] * 2)
        by_array.sample_all(now, np.column_stack((use, use)), [*uids, "stranger"], uses)
        slots = np.array([by_slot.slot(uid) for uid in [*uids, "stranger"]], np.intp)
        by_slot.sample_all(now, np.column_stack((use, use)), slots, uses)
    first, second = by_name.table(112.0), by_array.table(112.0)
    assert by_slot.table(112.0).room.tolist() == second.room.tolist()
    np.testing.assert_allclose(second.room, first.room, atol=1e-9)
    assert second.old().tolist() == first.old().tolist()
    assert by_array.taken(112.0) == pytest.approx(by_name.taken(112.0))


def test_what_counts_as_taken_is_the_estimate_and_the_drivers() -> None:
    """Over all nodes: a driver by its CPU in use and all of its memory, a task by what has been learned of it."""
    ledger = built([("n0", 1.0, True, False), ("n1", 1.0, False, False)])
    assert ledger.taken(0.0).tolist() == [4.0, 8.0]
    for beat in range(200):
        now = 5.0 * beat
        ledger.sample_all(now, np.ones((4, 2)) * [[1.0], [1.0], [0.0], [0.0]], ["u0", "u1"], np.ones((2, 2)))
    assert ledger.taken(1000.0) == pytest.approx([2.15, 5.0], abs=0.2)


def test_pods_named_beside_are_seen_without_a_use() -> None:
    """Somebody else's pod: its node's sample saw it, and its request gives way."""
    ledger = built([("n0", 1.0, False, False), ("n0", 1.0, False, True)])
    for beat in range(20):
        reading = {"n0": Sample(100.0 + 5.0 * beat, (1.0, 1.0))}
        ledger.sample_some(5.0 * beat, reading, [], np.zeros((2, 0)), ["u0", "u1"])
    assert ledger.explain("n0", 100.0)["cpu"].residual == pytest.approx(
        2.0, abs=1e-4
    )  # only the one that has not started is still believed


@pytest.mark.parametrize(
    ("ledger", "rows"),
    [
        pytest.param(Ledger(), [-1, -1], id="empty, as after a restart"),
        pytest.param(built([("n2", 0.0, False, False)]), [2, -1], id="one pod held"),
        pytest.param(built([("elsewhere", 0.0, False, False)]), [-1, -1], id="on a node that is not known"),
    ],
)
def test_homes_of_pods_that_are_not_held_are_nowhere(ledger: Ledger, rows: list[int]) -> None:
    """Prometheus still tells of pods that the ledger does not hold yet."""
    assert ledger.homes(["u0", "u9"]).tolist() == rows
    assert ledger.homes([]).tolist() == []
