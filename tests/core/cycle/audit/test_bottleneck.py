"""Which kind runs out first, and what of the others is stranded by that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.audit.bottleneck import bottleneck

TOTALS = {"cpu": 160.0, "memory": 640.0}
MIX = {"cpu": 100.0, "memory": 400.0}


def rooms(cpu: list[float], memory: list[float]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Room of each node by kind."""
    return {"cpu": np.array(cpu), "memory": np.array(memory)}


def test_full_memory_strands_the_cores_beside_it() -> None:
    """Ten nodes with ten free cores each and next to no memory: work comes with 4 units of memory a core."""
    found = bottleneck(rooms([10.0] * 10, [0.4] * 10), TOTALS, MIX)
    assert found is not None
    assert (found.kind, found.full) == ("memory", True)
    assert found.left == pytest.approx(4.0)
    assert found.stranded["cpu"] == pytest.approx(99.0)


def test_full_cpu_strands_memory() -> None:
    """The other way round."""
    found = bottleneck(rooms([0.0, 0.0], [30.0, 20.0]), TOTALS, MIX)
    assert found is not None
    assert (found.kind, found.left, found.full) == ("cpu", 0.0, True)
    assert found.stranded == {"memory": 50.0}


def test_room_in_the_mix_of_the_work_strands_nothing() -> None:
    """Both kinds run out together, so neither is the bottleneck."""
    assert bottleneck(rooms([3.0, 1.0], [12.0, 4.0]), TOTALS, MIX) is None


def test_without_a_mix_nothing_is_said() -> None:
    """Nobody knows what the next pod asks for."""
    assert bottleneck(rooms([3.0], [12.0]), TOTALS, {"cpu": 1.0, "memory": 0.0}) is None


amounts = st.floats(0.0, 64.0)


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=8))
def test_what_is_stranded_is_part_of_the_room(nodes: list[tuple[float, float]]) -> None:
    """Never more than there is, and never of the kind that runs out."""
    room = rooms([cpu for cpu, _ in nodes], [memory for _, memory in nodes])
    found = bottleneck(room, TOTALS, MIX)
    if found is not None:
        assert found.kind not in found.stranded
        assert all(0.0 <= value <= room[kind].sum() + 1e-9 for kind, value in found.stranded.items())
        assert found.left == pytest.approx(room[found.kind].sum())
