"""While samples stay away, reservations count; pods that ended take their measured use with them (EST-23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.estimation.margins import Margin
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

LATE = 100.0  # long after the last sample


def sampled(uses: list[float], system: float, role: Role = Role.TASK) -> Ledger:
    """One node of 16 cores, 14 of them allowed; tasks of 2 cores measured long enough to be believed."""
    ledger = Ledger(LedgerConfig(margins={"cpu": Margin(0.875, 0.15)}, floor=False))
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    for index, _ in enumerate(uses):
        ledger.put(PodClaim(f"u{index}", "n", (2.0, 4.0), (2.0, 4.0), role, state=ClaimState.RUNNING, started=0.0))
    for beat in range(60):
        reading = {"n": Sample(5.0 * beat, (sum(uses) + system, 1.0))}
        measure(ledger, 0.0, reading, {f"u{index}": (use, 0.1) for index, use in enumerate(uses)})
    return ledger


def room(ledger: Ledger, now: float = LATE) -> float:
    return float(ledger.table(now).room[0, 0])


def test_ended_pods_take_their_use_with_them() -> None:
    """A busy node that empties while Prometheus is away can be used again; what the system uses stays counted."""
    ledger = sampled([2.0] * 6, system=1.0)
    assert room(ledger) == pytest.approx(14 - 13)
    for index in range(6):
        ledger.remove(f"u{index}")
    assert room(ledger) == pytest.approx(14 - 1)
    assert ledger.explain("n", LATE)["cpu"].estimate == pytest.approx(1.0)


def test_fresh_samples_speak_for_themselves() -> None:
    """While samples come nothing is taken off: the next one tells; and after it nothing is taken off twice."""
    ledger = sampled([2.0] * 6, system=1.0)
    before = room(ledger, 1.0)
    ledger.remove("u0")
    assert room(ledger, 1.0) == pytest.approx(before)
    measure(ledger, LATE, {"n": Sample(400.0, (11.0, 1.0))}, {f"u{index}": (2.0, 0.1) for index in range(1, 6)})
    assert room(ledger, LATE + 99) == pytest.approx(14 - 11)


def test_the_use_of_a_driver_was_never_among_it() -> None:
    """A driver is charged beside the estimate; its end gives back that charge and no more."""
    ledger = sampled([1.0] * 3, system=1.0, role=Role.DRIVER)
    assert room(ledger) == pytest.approx(14 - 1 - 3 * 2)
    ledger.remove("u0")
    assert room(ledger) == pytest.approx(14 - 1 - 2 * 2)


@given(st.lists(st.floats(0, 4), min_size=1, max_size=6), st.floats(0, 2), st.integers(0, 6))
def test_never_more_room_than_reservations_and_the_rest_of_use_leave(
    uses: list[float], system: float, ended: int
) -> None:
    """Without samples there is no overcommit, whatever ends."""
    ledger = sampled(uses, system)
    for index in range(ended):
        ledger.remove(f"u{index}")
    left = uses[ended:]
    assert room(ledger) <= 14 - 2 * len(left) + 1e-9
    assert room(ledger) <= 14 - min(system, 14) + 1e-9
    assert room(ledger) == pytest.approx(float(ledger.table(LATE).room[0, 0]))
    spot = ledger.spot("n", LATE)
    assert spot is not None
    assert spot.room[0] == pytest.approx(room(ledger))


@pytest.mark.parametrize("risk", [None, 0.01], ids=["no-risk", "risk"])
def test_a_kind_that_is_no_longer_measured_falls_back_alone(risk: float | None) -> None:
    """Memory that cannot be read counts by reservations, whatever is known of CPU; a number of it makes it fresh."""
    ledger = Ledger(LedgerConfig(floor=False, risk=risk))
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    for index in range(6):
        ledger.put(PodClaim(f"u{index}", "n", (2.0, 8.0), (2.0, 8.0), Role.TASK, "ns/app/", started=0.0))
    pods = {f"u{index}": (0.5, 1.0) for index in range(6)}
    for beat in range(100):
        measure(ledger, 5.0 * beat, {"n": Sample(5.0 * beat, (3.0, 6.0))}, pods)
    fresh = ledger.table(500.0)
    for beat in range(100, 120):
        measure(ledger, 5.0 * beat, {"n": Sample(5.0 * beat, (3.0, float("nan")))}, {})
    late = ledger.table(600.0)
    assert fresh.room[0, 1] > 30
    assert late.room[0, 1] == pytest.approx(56 - 48)
    assert late.room[0, 0] == pytest.approx(fresh.room[0, 0], rel=0.2)
    assert (fresh.old().tolist(), late.old().tolist()) == ([False], [True])
    assert [line.stale for line in ledger.explain("n", 600.0).values()] == [False, True]
    spot = ledger.spot("n", 600.0)
    assert spot is not None
    assert spot.room == pytest.approx(late.room[0].tolist())
    measure(ledger, 600.0, {"n": Sample(600.0, (3.0, 6.0))}, pods)
    assert ledger.table(600.0).room[0, 1] > 30


def outgrown(*ended: str) -> Ledger:
    """A node of 64 of memory, 56 of them allowed: four tasks of 10 use 14.5 each, the system 2; some end unseen."""
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    uids = [f"u{index}" for index in range(4)]
    for uid in uids:
        ledger.put(PodClaim(uid, "n", (1.0, 10.0), (1.0, 10.0), Role.TASK, state=ClaimState.RUNNING, started=0.0))
    for beat in range(60):
        measure(ledger, 0.0, {"n": Sample(5.0 * beat, (2.0, 60.0))}, dict.fromkeys(uids, (0.5, 14.5)))
    for uid in ended:
        ledger.remove(uid)
    return ledger


def memory(ledger: Ledger, now: float = LATE) -> float:
    """Room of memory, which one row and the table must agree on."""
    table, spot = ledger.table(now), ledger.spot("n", now)
    assert spot is not None
    assert spot.room == pytest.approx(table.room[0].tolist())
    return float(table.room[0, 1])


def test_a_node_above_its_allowance_is_not_once_its_pods_have_ended() -> None:
    """An empty node takes what fits by requests, however full it was when samples stopped; the system stays counted."""
    ledger = outgrown("u0", "u1", "u2", "u3")
    line = ledger.explain("n", LATE)["memory"]
    assert (line.stale, line.crowded) == (True, False)
    assert line.estimate == pytest.approx(2.0)
    assert memory(ledger) == pytest.approx(64.0)


def test_a_node_above_its_allowance_stays_so_while_its_pods_run() -> None:
    """Silence is no sign of memory that is free; nor is it while samples come, until the next one tells."""
    assert outgrown().explain("n", LATE)["memory"].crowded
    assert memory(outgrown()) == pytest.approx(56 - 60)
    assert outgrown("u0", "u1", "u2", "u3").explain("n", 1.0)["memory"].crowded


def test_what_an_ended_pod_used_beyond_its_request_goes_with_it() -> None:
    """Two of four have ended: what is left is the use of the others and of the system, and new pods come on top."""
    ledger = outgrown("u0", "u1")
    line = ledger.explain("n", LATE)["memory"]
    assert not line.crowded
    assert line.estimate == pytest.approx(2 * 14.5 + 2)
    ledger.put(PodClaim("new", "n", (1.0, 10.0), (1.0, 10.0), Role.TASK))
    assert ledger.explain("n", LATE)["memory"].estimate == pytest.approx(10 + 2 * 14.5 + 2)


def test_an_ended_pod_is_taken_off_once() -> None:
    """The next sample no longer saw it: a node that is above its allowance then stays so when samples stop again."""
    ledger = outgrown("u0", "u1", "u2")
    measure(ledger, LATE, {"n": Sample(400.0, (1.0, 60.0))}, {"u3": (0.5, 14.5)})
    line = ledger.explain("n", 10 * LATE)["memory"]
    assert (line.stale, line.crowded) == (True, True)


NAN = float("nan")


def crowded_after(*rounds: tuple[float, dict[str, float]], ended: str = "a") -> bool:
    """Whether a node of 64, 56 of them allowed, stays above it once samples have stopped and a pod has ended.

    A round is the use of the node and of its two tasks of 4, as far as they are read.
    """
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    for uid in ("a", "b"):
        ledger.put(PodClaim(uid, "n", (1.0, 4.0), (1.0, 4.0), Role.TASK, state=ClaimState.RUNNING, started=0.0))
    for beat, (node, pods) in enumerate(rounds):
        uses = {uid: (0.5, use) for uid, use in pods.items()}
        measure(ledger, 5.0 * beat, {"n": Sample(5.0 * beat, (2.0, node))}, uses)
    ledger.remove(ended)
    line = ledger.explain("n", 10 * LATE)["memory"]
    assert line.stale
    assert (memory(ledger, 10 * LATE) < 0) == line.crowded
    return line.crowded


READ = (50.0, {"a": 30.0, "b": 10.0})


def test_what_was_read_before_the_last_sample_is_no_part_of_it() -> None:
    """Pods are no longer read, one shrinks, the other grows: nobody knows how much of the node's use has ended."""
    assert crowded_after(READ, READ, (65.0, {}), (65.0, {}))


def test_what_is_read_while_the_node_is_not_is_no_part_of_it() -> None:
    """A pod that grows while its node's memory cannot be read takes with it what it used before, and no more."""
    grown = (NAN, {"a": 30.0, "b": 60.0})
    assert crowded_after((65.0, {"a": 2.0, "b": 60.0}), grown, grown)
    assert not crowded_after((65.0, {"a": 2.0, "b": 60.0}), grown, grown, ended="b")


def test_a_pod_that_the_last_sample_did_not_see_takes_nothing_with_it() -> None:
    """Its containers had ended, which is told late: the node's use is that of others."""
    assert crowded_after(READ, (65.0, {"b": 56.0}))
    assert not crowded_after(READ, (65.0, {"b": 56.0}), ended="b")


def test_a_pod_takes_what_its_request_did_not_cover_when_it_was_read() -> None:
    """A pod that asks for less since has not left more uncovered: what it did not is that of others."""
    ledger = outgrown()
    ledger.put(PodClaim("u0", "n", (1.0, 5.0), (1.0, 5.0), Role.TASK, state=ClaimState.RUNNING, started=0.0))
    ledger.remove("u0")
    ledger.put(PodClaim("new", "n", (1.0, 10.0), (1.0, 10.0), Role.TASK))
    assert ledger.explain("n", LATE)["memory"].estimate == pytest.approx(10 + 3 * 14.5 + 2)
