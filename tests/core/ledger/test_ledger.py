"""The ledger: the worked example of the design, its rules one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from slackwater.errors import BadNumber, InvalidInput, UnknownName
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.ledgers import CPU, KEPT, NODE, changed, numbers, six_tasks, steady, table_without, task
from support.builders.measuring import measure


def test_worked_example_of_the_design() -> None:
    """16 CPU, AR 14, c = 2: measured, then five more placed, then samples gone stale."""
    ledger = six_tasks()
    assert numbers(ledger) == pytest.approx((3.0, 11.0, 23.0))
    for n in range(5):
        ledger.reserve(task(f"new-{n}"), expires=60.0)
    assert numbers(ledger) == pytest.approx((13.0, 1.0, 23.0))
    estimate, free, _ = numbers(ledger, now=10_000.0)
    assert (estimate, free) == pytest.approx((22.0, 0.0))
    assert len(ledger) == 11  # nobody evicted


def test_explain_spells_out_the_arithmetic() -> None:
    """Room = min(AR, NC) − E − drivers, with every term there."""
    ledger = six_tasks()
    ledger.put(PodClaim("driver", "n", (1.0,), (1.0,), Role.DRIVER))
    line = ledger.explain("n", 0.0)["cpu"]
    assert (line.capacity, line.allocatable, line.allowed, line.real) == (16.0, 16.0, 14.0, 16.0)
    assert (line.used, line.reserved, line.declared, line.drivers, line.native) == (3.0, 12.0, 13.0, 1.0, 7.0)
    assert line.room == pytest.approx(min(line.allowed, line.real) - line.estimate - line.drivers)


def test_explaining_a_stranger_says_which_nodes_there_are() -> None:
    """The error names what would have been right."""
    with pytest.raises(UnknownName, match="use one of: n"):
        six_tasks().explain("m", 0.0)


def test_a_driver_is_charged_in_full_instead_of_its_use() -> None:
    """Its use leaves U, and max(use, D) takes its place."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(PodClaim("driver", "n", (4.0,), (4.0,), Role.DRIVER, state=ClaimState.RUNNING, started=0.0))
    steady(ledger, 1.5, {"driver": (0.5,)})
    assert ledger.table(0.0).room[0, 0] == pytest.approx(14.0 - 1.0 - 4.0)
    measure(ledger, 0.0, {"n": Sample(3000.0, (6.0,))}, {"driver": (5.0,)})
    assert ledger.table(0.0).room[0, 0] == pytest.approx(14.0 - 1.0 - 5.0)


def test_a_driver_seen_using_more_than_its_node_leaves_nothing_to_the_others() -> None:
    """Series of pods and nodes are not taken at the same instant; U without the driver is then 0, not negative."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(PodClaim("driver", "n", (4.0,), (4.0,), Role.DRIVER, state=ClaimState.RUNNING, started=0.0))
    steady(ledger, 8.0, {"driver": (2.0,)})
    measure(ledger, 0.0, {"n": Sample(9000.0, (1.0,))}, {"driver": (2.0,)})
    assert ledger.explain("n", 0.0)["cpu"].used == 0.0
    assert ledger.table(0.0).room[0, 0] == pytest.approx(14.0 - 4.0)


def test_unmanaged_pods_count_by_use_and_native_requests() -> None:
    """Whatever they declare or call themselves; and they are no part of the pools."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(
        PodClaim("other", "n", (9.0,), (3.0,), Role.DRIVER, managed=False, state=ClaimState.RUNNING, started=0.0)
    )
    assert ledger.table(0.0).room[0, 0] == 11.0
    steady(ledger, 0.5)
    assert ledger.table(0.0).room[0, 0] == pytest.approx(13.5)
    assert ledger.explain("n", 0.0)["cpu"].declared == 0.0


@pytest.mark.parametrize(
    ("declared", "ceiling", "charged"),
    [(2.0, (2.0,), 2.0), (9.0, (2.0,), 2.0), (0.5, (2.0,), 1.0), (9.0, (), 1.0), (9.0, (0.5,), 1.0)],
    ids=["within", "too much", "too little", "never shrunk", "ceiling below one"],
)
def test_declared_is_clamped(declared: float, ceiling: tuple[float, ...], charged: float) -> None:
    """To [N, N × c], c being what admission sealed."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(task("p", declared=(declared,), ceiling=ceiling))
    assert ledger.explain("n", 0.0)["cpu"].reserved == charged


@pytest.mark.parametrize("app", ["", "known"])
def test_gpus_are_never_overcommitted(app: str) -> None:
    """They count at what is declared, of all that is allocatable, whatever is measured and known of the app."""
    ledger = Ledger(LedgerConfig(kinds=("cpu", "nvidia.com/gpu"), margins={"cpu": KEPT}, floor=False))
    ledger.upsert_node(NodeSpec("n", (16.0, 8.0), (16.0, 8.0)))
    ledger.put(PodClaim("p", "n", (2.0, 6.0), (2.0, 6.0), Role.TASK, app, state=ClaimState.RUNNING, started=0.0))
    for stamp in (1000.0, 2000.0):
        measure(ledger, 0.0, {"n": Sample(stamp, (0.5, 0.0))}, {"p": (0.5, 0.0)})
    assert ledger.table(0.0).room[0] == pytest.approx([13.5, 2.0])


def test_a_pod_asked_about_again_does_not_count_itself() -> None:
    """Else a full node would refuse the pod that filled it. The table given out before stays as it was."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.reserve(task("p", declared=(14.0,), native=(14.0,)), expires=60.0)
    table = ledger.table(0.0)
    again = table_without(ledger, "p", 0.0)
    assert (table.room[0, 0], table.native[0, 0]) == (0.0, 2.0)
    assert (again.room[0, 0], again.native[0, 0]) == (14.0, 16.0)
    ledger.reserve(task("q", "unknown"), expires=60.0)
    for uid in ("stranger", "q"):
        assert table_without(ledger, uid, 0.0) is ledger.table(0.0)


def test_tables_given_out_never_change() -> None:
    """A decision reads one consistent view."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    before = ledger.table(0.0)
    ledger.reserve(task("p"), expires=60.0)
    assert (before.room[0, 0], ledger.table(0.0).room[0, 0]) == (14.0, 12.0)
    with pytest.raises(ValueError, match="read-only"):
        before.room[0, 0] = 1.0


def test_pods_may_be_shown_before_their_node() -> None:
    """Watches promise no order between kinds of object; a node may also come back."""
    ledger = Ledger(CPU)
    ledger.put(task("early"))
    ledger.put(task("gone"))
    ledger.remove("gone")
    ledger.upsert_node(NODE)
    assert ledger.table(0.0).room[:, 0].tolist() == [12.0]
    ledger.remove_node("n")
    ledger.remove_node("n")
    assert len(ledger.table(0.0)) == 0
    ledger.upsert_node(NODE)
    assert ledger.table(0.0).room[:, 0].tolist() == [12.0]


def test_a_pod_that_left_an_unknown_node_is_not_drawn_back_to_it() -> None:
    """It was placed on a node we never saw, bound elsewhere, and then that node appeared."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.reserve(task("p", "late"), expires=60.0)
    changed(ledger, "p", node="n", state=ClaimState.BOUND)
    ledger.upsert_node(replace(NODE, name="late"))
    assert ledger.table(0.0).room[:, 0].tolist() == [12.0, 14.0]


def test_a_new_container_has_yet_to_show_its_use() -> None:
    """After a crash the pod counts in full again; the other five as what they have settled at, and 15 % of it."""
    ledger = six_tasks()
    ledger.start("old-0", at=1990.0)
    assert ledger.explain("n", 0.0)["cpu"].estimate == pytest.approx(5 * 0.5 * 1.15 + 2.0)


def test_a_pod_not_seen_keeps_its_residual() -> None:
    """A sample sees those whose container had started when it was taken, whatever series have the names of others."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(task("pulling"))
    ledger.put(task("running", state=ClaimState.RUNNING, started=0.0))
    ledger.put(task("later", state=ClaimState.RUNNING, started=5000.0))
    steady(ledger, 0.5)
    assert ledger.explain("n", 0.0)["cpu"].residual == pytest.approx(4.0)
    measure(ledger, 0.0, {"n": Sample(4000.0, (0.5,))}, seen={"pulling", "running", "later", "stranger"})
    assert ledger.explain("n", 0.0)["cpu"].residual == pytest.approx(4.0)
    ledger.start("later", 4500.0)
    for stamp in (5000.0, 6000.0):
        measure(ledger, 0.0, {"n": Sample(stamp, (0.5,))})
    assert ledger.explain("n", 0.0)["cpu"].residual == pytest.approx(2.0)


def test_closed_nodes_are_marked() -> None:
    """Not Ready, or cordoned: no placements there, and no part of Tot."""
    ledger = Ledger(CPU)
    for name, ready, cordoned in (("a", True, False), ("b", False, False), ("c", True, True)):
        ledger.upsert_node(replace(NODE, name=name, ready=ready, cordoned=cordoned))
    assert ledger.table(0.0).open.tolist() == [True, False, False]
    assert ledger.pool_total(0.0).tolist() == [14.0]
    ledger.upsert_node(replace(NODE, name="b"))
    assert ledger.table(0.0).open.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("node", "room"),
    [
        (NodeSpec("n", (16.0,), (18.0,), (6.0,)), 12.0),
        (NodeSpec("n", (16.0,)), 14.0),
        (NodeSpec("n", (0.0,), (0.0,)), 0.0),
        (NodeSpec("n", (16.0,), (1.0,), (2.0,)), 0.0),
    ],
    ids=["NC below AR", "NC unknown", "nothing there", "all of it held back"],
)
def test_limit_is_the_smaller_of_allowance_and_real_capacity(node: NodeSpec, room: float) -> None:
    """min(AR, NC), where NC = capacity − hard eviction."""
    ledger = Ledger(CPU)
    ledger.upsert_node(node)
    assert ledger.table(0.0).room[0, 0] == room


def test_samples_that_are_not_new_are_passed_over() -> None:
    """A repeated or late timestamp says nothing, and does not make the node fresh again."""
    ledger = six_tasks()
    measure(ledger, 10_000.0, {"n": Sample(2000.0, (9.0,)), "stranger": Sample(9000.0, (1.0,))})
    assert ledger.table(10_000.0).old().tolist() == [True]
    assert ledger.explain("n", 10_000.0)["cpu"].used == 3.0


def test_bad_measurements_leave_everything_as_it_was() -> None:
    """NaN, infinite and negative numbers are samples that did not come."""
    ledger = six_tasks()
    for step, bad in enumerate((math.nan, math.inf, -1.0)):
        measure(ledger, 0.0, {"n": Sample(3000.0 + step, (bad,))}, {"old-0": (bad,)}, seen=())
        assert numbers(ledger) == pytest.approx((3.0, 11.0, 23.0))


def test_an_empty_ledger_answers() -> None:
    """No node, no pod, no error."""
    ledger = Ledger()
    measure(ledger, 0.0, {}, {})
    assert len(ledger.table(0.0)) == 0
    assert ledger.pool_total(0.0).tolist() == [0.0, 0.0]
    assert ledger.expire(0.0) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0], ids=str)
def test_bad_amounts_name_pod_and_field(bad: float) -> None:
    """The ledger is left without them."""
    ledger = Ledger(CPU)
    with pytest.raises(BadNumber, match="native of pod p: cpu"):
        ledger.put(task("p", native=(bad,)))
    with pytest.raises(BadNumber, match="allocatable of node n: cpu"):
        ledger.upsert_node(NodeSpec("n", (bad,)))
    assert (len(ledger), len(ledger.table(0.0))) == (0, 0)


def test_amounts_must_match_the_kinds() -> None:
    """One number for each kind."""
    with pytest.raises(InvalidInput, match="give one each of cpu, memory"):
        Ledger().put(task("p"))


def test_starting_a_stranger_is_an_error() -> None:
    """It would otherwise hide a lost event."""
    with pytest.raises(UnknownName, match="placed or put before"):
        Ledger().start("p", 0.0)


def test_young_pods_are_charged_what_their_app_came_to_use() -> None:
    """The live example of the paper's notes: tasks of 4 that use 3.6 after a slow start."""
    ledger = Ledger(CPU)
    ledger.upsert_node(replace(NODE, allocatable=(64.0,), capacity=(64.0,)))
    ledger.put(PodClaim("first", "n", (4.0,), (4.0,), Role.TASK, "app", ClaimState.RUNNING, started=0.0))
    for age, use in ((10.0, 0.2), (30.0, 0.4), (90.0, 3.6), (200.0, 3.6)):
        measure(ledger, age, {"n": Sample(age, (use,))}, {"first": (use,)})
    ledger.put(PodClaim("second", "n", (4.0,), (4.0,), Role.TASK, "app", ClaimState.RUNNING, started=200.0))
    for age in (40.0, 80.0):
        measure(ledger, 200.0, {"n": Sample(200.0 + age, (4.0,))}, {"first": (3.6,), "second": (0.4,)})
    assert ledger.explain("n", 200.0)["cpu"].estimate == pytest.approx(7.2, abs=0.01)
    measure(ledger, 200.0, {"n": Sample(313.0, (4.0,))}, {"first": (3.6,), "second": (0.4,)})
    assert ledger.explain("n", 200.0)["cpu"].estimate == pytest.approx(4.0, abs=0.01)
