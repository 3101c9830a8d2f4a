"""A part of the table is the same as the whole table, row by row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, NodeSpec, PodClaim, Sample
from slackwater.nodes import PodAsk
from slackwater.placement.filter import fit_one, judge_one

NODES = [f"n{index}" for index in range(5)]
claims = st.lists(st.tuples(st.sampled_from(NODES), st.floats(0.1, 4), st.booleans()), max_size=12)
ASKED = st.lists(st.sampled_from([*NODES, "unknown"]), unique=True)


def built(pods: list[tuple[str, float, bool]]) -> Ledger:
    ledger = Ledger()
    for name in NODES:
        ledger.upsert_node(NodeSpec(name, (16.0, 64.0), (16.0, 64.0), cordoned=name == "n4"))
    for index, (node, cpu, placed) in enumerate(pods):
        claim = PodClaim(f"u{index}", node, (cpu, 1.0), (cpu, 1.0), state=ClaimState.RUNNING, started=0.0)
        ledger.reserve(claim, 60.0) if placed else ledger.put(claim)
    ledger.sample(0.0, {name: Sample(10.0, (1.0, 2.0)) for name in NODES[:3]})
    return ledger


@given(claims, ASKED, st.integers(0, 12), st.sampled_from([0.0, 99.0]))
def test_a_part_equals_the_whole(pods: list[tuple[str, float, bool]], asked: list[str], index: int, now: float) -> None:
    """Whichever nodes are asked for, with or without one pod, fresh or stale."""
    ledger = built(pods)
    part = ledger.part(asked, now, f"u{index}")
    whole = ledger.room_without(f"u{index}", now)
    rows = [whole.index[name] for name in asked if name in whole.index]
    assert part.names == tuple(whole.names[row] for row in rows)
    assert [part.index[name] for name in part.names] == list(range(len(rows)))
    for mine, theirs in ((part.total, whole.total), (part.room, whole.room), (part.native, whole.native)):
        np.testing.assert_allclose(mine, theirs[rows])
    assert part.open.tolist() == whole.open[rows].tolist()
    assert part.stale.tolist() == whole.stale[rows].tolist()


@given(claims)
def test_crowds_count_the_pods_of_each_node(pods: list[tuple[str, float, bool]]) -> None:
    """Bound or on their way; pods of nodes nobody knows are not among them."""
    ledger = built([*pods, ("unknown", 1.0, False)])
    table = ledger.table(0.0)
    assert dict(zip(table.names, ledger.crowds().tolist(), strict=True)) == {
        name: sum(node == name for node, _, _ in pods) for name in NODES
    }


def test_a_part_sees_nodes_that_changed_since_the_last_table() -> None:
    """And the next whole table sees them too."""
    ledger = built([])
    ledger.table(0.0)
    ledger.upsert_node(NodeSpec("n0", (4.0, 64.0), (4.0, 64.0)))
    assert ledger.part(["n0"], 0.0).total[0, 0] == 4.0
    assert ledger.table(0.0).total[ledger.table(0.0).index["n0"], 0] == 4.0


@given(claims, st.sampled_from([0.0, 99.0]))
def test_one_node_equals_its_row_of_the_table_to_the_last_bit(pods: list[tuple[str, float, bool]], now: float) -> None:
    """Plain numbers instead of arrays, for a shell that asks node by node; a closed node has none."""
    ledger = built(pods)
    table = ledger.table(now)
    for row, name in enumerate(table.names):
        expected = (table.room[row].tolist(), table.native[row].tolist()) if table.open[row] else None
        assert ledger.left(name, now) == expected
    ledger.upsert_node(NodeSpec("n0", (4.0, 64.0), (4.0, 64.0)))
    assert ledger.left("n0", now) == (ledger.table(now).room[0].tolist(), ledger.table(now).native[0].tolist())


@given(claims, st.sampled_from(NODES), st.integers(0, 12), st.sampled_from([0.0, 99.0]), st.floats(0, 20))
def test_a_spot_equals_its_row_and_is_judged_alike(
    pods: list[tuple[str, float, bool]], name: str, index: int, now: float, cpu: float
) -> None:
    """Plain numbers for one node say what arrays say, and refuse for the same reason."""
    ledger = built(pods)
    spot, part = ledger.spot(name, now, f"u{index}"), ledger.part([name], now, f"u{index}")
    assert spot is not None
    np.testing.assert_allclose([spot.room, spot.native, spot.total], [part.room[0], part.native[0], part.total[0]])
    assert (spot.open, spot.stale) == (part.open[0], part.stale[0])
    ask = PodAsk("asking", (cpu, 1.0), (cpu / 2, 1.0))
    assert judge_one(spot, ask, part.kinds) == fit_one(part, ask).reason(0)
    assert ledger.spot("unknown", now) is None
