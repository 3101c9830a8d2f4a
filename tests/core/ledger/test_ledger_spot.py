"""One node as plain numbers is the same as its row of the table."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.nodetable import PodAsk
from slackwater.placement.filter import fit_one, judge_one
from slackwater.roles import Role
from support.builders.measuring import measure

NODES = [f"n{index}" for index in range(5)]
claims = st.lists(st.tuples(st.sampled_from(NODES), st.floats(0.1, 4), st.booleans()), max_size=12)


def built(pods: list[tuple[str, float, bool]]) -> Ledger:
    ledger = Ledger()
    for name in NODES:
        ledger.upsert_node(NodeSpec(name, (16.0, 64.0), (16.0, 64.0), cordoned=name == "n4"))
    for index, (node, cpu, placed) in enumerate(pods):
        claim = PodClaim(f"u{index}", node, (cpu, 1.0), (cpu, 1.0), state=ClaimState.RUNNING, started=0.0)
        ledger.reserve(claim, 60.0) if placed else ledger.put(claim)
    measure(ledger, 0.0, {name: Sample(10.0, (1.0, 2.0)) for name in NODES[:3]})
    return ledger


@given(claims)
def test_crowds_count_the_pods_of_each_node(pods: list[tuple[str, float, bool]]) -> None:
    """Bound or on their way; pods of nodes nobody knows are not among them."""
    ledger = built([*pods, ("unknown", 1.0, False)])
    table = ledger.table(0.0)
    assert dict(zip(table.names, ledger.crowds().tolist(), strict=True)) == {
        name: sum(node == name for node, _, _ in pods) for name in NODES
    }


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


TERMS = [LedgerConfig(), LedgerConfig(risk=0.05), LedgerConfig(floor=False), LedgerConfig(alpha=0.0)]
PODS = st.builds(
    PodClaim,
    uid=st.sampled_from("abcdefgh"),
    node=st.sampled_from(NODES),
    declared=st.tuples(st.floats(0, 8), st.floats(0, 40)),
    native=st.tuples(st.floats(0, 4), st.floats(0, 20)),
    role=st.sampled_from([Role.DRIVER, Role.TASK]),
    app=st.sampled_from(["etl", "report"]),
    state=st.just(ClaimState.RUNNING),
    started=st.just(0.0),
    ceiling=st.just((4.0, 2.0)),
    managed=st.booleans(),
    guaranteed=st.booleans(),
)
ROUNDS = st.lists(st.lists(st.tuples(st.floats(0, 16), st.floats(0, 64)), min_size=4, max_size=4), max_size=4)


@given(st.sampled_from(TERMS), st.lists(PODS, max_size=8), ROUNDS, st.sampled_from([0.0, 99.0]))
def test_one_node_equals_its_row_whatever_the_ledger_counts(
    terms: LedgerConfig, pods: list[PodClaim], rounds: list[list[tuple[float, float]]], later: float
) -> None:
    """Drivers, pods of others, apps that outgrow their request, full nodes, stale ones, a stated risk, no floor.

    Half of the pods come after the table was made once, so that both forms of it are looked at: whole, and some rows.
    """
    ledger = Ledger(terms)
    for name in NODES:
        ledger.upsert_node(NodeSpec(name, (15.0, 60.0), (16.0, 64.0)))
    for claim in pods[::2]:
        ledger.put(claim)
    for number, used in enumerate(rounds, 1):
        uses = {claim.uid: used[0] for claim in pods[::2]}
        measure(
            ledger,
            10.0 * number,
            {name: Sample(10.0 * number, use) for name, use in zip(NODES, used, strict=False)},
            uses,
        )
    now = 10.0 * len(rounds) + later
    before = ledger.table(now)
    for claim in pods[1::2]:
        ledger.put(claim)
    whole = ledger.survey(now).table
    assert before is not whole
    for row, name in enumerate(NODES):
        spot = ledger.spot(name, now)
        assert spot is not None
        np.testing.assert_allclose(spot.room, whole.room[row], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ledger.table(now).room[row], whole.room[row], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(spot.native, whole.native[row], rtol=1e-9, atol=1e-9)


@given(claims, st.sampled_from(NODES), st.sampled_from([0.0, 99.0]), st.floats(0, 20))
def test_a_spot_equals_its_row_and_is_judged_alike(
    pods: list[tuple[str, float, bool]], name: str, now: float, cpu: float
) -> None:
    """Plain numbers for one node say what arrays say, and refuse for the same reason."""
    ledger = built(pods)
    spot, table = ledger.spot(name, now), ledger.table(now)
    row = table.index[name]
    assert spot is not None
    np.testing.assert_allclose(
        [spot.room, spot.native, spot.total], [table.room[row], table.native[row], table.total[row]]
    )
    assert (spot.open, any(spot.stale)) == (table.open[row], table.old()[row])
    ask = PodAsk("asking", (cpu, 1.0), (cpu / 2, 1.0))
    assert judge_one(spot, ask, table.kinds) == fit_one(table, ask).reason(row)
    assert ledger.spot("unknown", now) is None


@given(claims, st.sampled_from(NODES), st.sampled_from([0.0, 99.0]))
def test_a_pod_asked_about_again_does_not_count_itself(
    pods: list[tuple[str, float, bool]], name: str, now: float
) -> None:
    """With its reservation left out a node looks as it did before; without a node it changes nothing anywhere."""
    ledger = built(pods)
    before = ledger.spot(name, now)
    ledger.reserve(PodClaim("new", name, (2.0, 1.0), (1.0, 1.0)), 60.0)
    again, counted = ledger.spot(name, now, "new"), ledger.spot(name, now)
    assert before is not None
    assert again is not None
    assert counted is not None
    np.testing.assert_allclose([again.room, again.native], [before.room, before.native], atol=1e-9)
    np.testing.assert_allclose(counted.native, np.array(before.native) - 1.0, atol=1e-9)
    ledger.reserve(PodClaim("new", "", (2.0, 1.0), (1.0, 1.0)), 60.0)
    np.testing.assert_allclose(ledger.table(now).native[ledger.table(now).index[name]], before.native, atol=1e-9)
