"""Reservations are a floor under measured room; CPU is compressible, memory is not (kind by kind)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.estimation.calibration import Kept
from slackwater.estimation.margins import Margin
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import Basis, ClaimState, LedgerConfig, NodeSpec, PodClaim, RoomLine, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

NODE = NodeSpec("n", (16.0, 64.0), (16.0, 64.0))
LINE = RoomLine(
    capacity=64.0,
    allocatable=60.0,
    allowed=60.0,
    real=60.0,
    used=10.0,
    learned=10.0,
    residual=10.0,
    reserved=20.0,
    known=20.0,
    estimate=20.0,
    declared=20.0,
    drivers=4.0,
    native=10.0,
    room=36.0,
    stale=False,
)


def ledger_with(
    *pods: tuple[float, float], role: Role = Role.TASK, roles: Sequence[Role] = (), **terms: object
) -> Ledger:
    """A node of 16 cores and 64 of memory with running pods that declare so much, of one role or each of its own."""
    made = Ledger(LedgerConfig(**terms))  # type: ignore[arg-type]
    made.upsert_node(NODE)
    for number, (size, own) in enumerate(zip(pods, roles or [role] * len(pods), strict=True)):
        native = size if own is Role.DRIVER else (size[0] / 2, size[1] / 1.5)
        ceiling = () if own is Role.DRIVER else (2.0, 1.5)
        made.put(PodClaim(f"p{number}", "n", size, native, own, "app", ClaimState.RUNNING, 0.0, ceiling))
    return made


def measured(ledger: Ledger, *uses: tuple[float, float], system: tuple[float, float] = (0.0, 0.0)) -> Ledger:
    """The pods used so much for a long time."""
    pods = {f"p{number}": use for number, use in enumerate(uses)}
    node = tuple(float(part) for part in np.sum([system, *uses], axis=0))
    for stamp in (10.0, 400.0, 800.0, 1200.0):
        measure(ledger, stamp, {"n": Sample(stamp, node)}, pods)
    return ledger


def room(ledger: Ledger, now: float = 1200.0) -> tuple[float, float]:
    """Room by kind, which one row and the table must agree on."""
    table, spot = ledger.table(now), ledger.spot("n", now)
    assert spot is not None
    assert spot.room == pytest.approx(table.room[0].tolist())
    return float(table.room[0, 0]), float(table.room[0, 1])


def test_an_empty_node_takes_what_the_stock_scheduler_would_give_it() -> None:
    """15 of 16 cores and 60 of 64 fit by declared requests alone (L2)."""
    assert room(ledger_with(), now=0.0) == (16.0, 64.0)


def test_measured_use_above_requests_takes_no_room_that_requests_leave() -> None:
    """A pod that burns twice its cores slows the next one down; stock would place it all the same."""
    crowded = measured(ledger_with((4.0, 8.0)), (14.0, 8.0))
    assert room(crowded)[0] == pytest.approx(12.0)


def test_memory_used_above_the_allowance_ends_the_floor() -> None:
    """Of 64 only 56 may be promised: at 57 in use there is no room, whatever requests leave."""
    assert room(measured(ledger_with((1.0, 8.0)), (1.0, 55.0)))[1] == pytest.approx(56.0)
    assert room(measured(ledger_with((1.0, 8.0)), (1.0, 57.0)))[1] == pytest.approx(-1.0)


def test_nothing_of_cpu_is_kept_back_and_a_share_of_memory_is() -> None:
    """Tasks that use a quarter leave all the rest of the cores, and of memory the allowance less their own peak."""
    thrifty = measured(ledger_with(*[(2.0, 8.0)] * 8), *[(0.5, 2.0)] * 8)
    cpu, memory = room(thrifty)
    assert cpu == pytest.approx(16 - 8 * 0.5, rel=0.06)
    assert memory == pytest.approx(56 - 8 * 2.0, rel=0.06)


def test_the_room_never_falls_below_what_requests_leave() -> None:
    """Sixteen tasks that declare everything and use little: full by requests, not by measurement."""
    full = measured(ledger_with(*[(1.0, 4.0)] * 16), *[(0.25, 1.0)] * 16)
    assert full.table(1200.0).requested is not None
    assert float(np.asarray(full.table(1200.0).requested)[0, 0]) == 0.0
    assert room(full)[0] > 10.0


def test_a_driver_is_charged_the_cpu_it_uses_and_the_memory_it_declared() -> None:
    """CPU that a driver does not burn is lent; its memory is kept for it."""
    driving = measured(ledger_with((4.0, 8.0), role=Role.DRIVER), (0.2, 2.0))
    line = driving.explain("n", 1200.0)
    assert line["cpu"].drivers == pytest.approx(0.2 * 1.15)
    assert line["memory"].drivers == pytest.approx(8.0)


def test_a_settled_pod_is_charged_by_its_own_peak() -> None:
    """One large brother does not make fifteen small ones look large."""
    uses = [(0.5, 2.0)] * 15 + [(0.5, 7.0)]
    mixed = measured(ledger_with(*[(1.0, 8.0)] * 16), *uses)
    assert mixed.explain("n", 1200.0)["memory"].known == pytest.approx((15 * 2.0 + 7.0) * 1.15 * 0.875)


def test_a_margin_given_for_a_kind_takes_the_place_of_the_fixed_one() -> None:
    """The door for an estimator of risk; a share that is none is refused."""
    strict = ledger_with(margins={"memory": Margin(allowance=0.5)}, floor=False)
    assert room(strict, now=0.0) == (16.0, 32.0)
    with pytest.raises(BadNumber, match="allowance of memory"):
        Ledger(LedgerConfig(margins={"memory": Margin(allowance=1.5)}))


@given(
    st.lists(st.tuples(st.floats(0, 4), st.floats(0, 60), st.sampled_from([Role.TASK, Role.DRIVER])), max_size=5),
    st.floats(0, 30),
    st.floats(0, 40),
    st.floats(0, 16),
)
@example([(1.0, 54.0, Role.DRIVER), (1.0, 6.0, Role.TASK)], 1.0, 4.0, 4.0)
def test_measurement_only_adds(pods: list[tuple[float, float, Role]], cpu: float, memory: float, system: float) -> None:
    """Whatever is measured, room is at least what requests leave, but where memory is over its allowance.

    A driver that uses more memory than it declares counts with what it uses; where more CPU is asked for than there is,
    which the stock scheduler never does, so does every pod.
    """
    sizes, roles = [(cores, size) for cores, size, _ in pods], [role for *_, role in pods]
    ledger = ledger_with(*sizes, roles=roles)
    use = (cpu / max(1, len(pods)), memory / max(1, len(pods)))
    measured(ledger, *[use] * len(pods), system=(0.0, system) if pods else (cpu, memory))
    over = sum(cores for cores, _ in sizes) > 16
    asked = sum(max(size, use[1]) if over or role is Role.DRIVER else size for _, size, role in pods)
    found = room(ledger)
    assert found[0] >= 16 - sum(cores for cores, _ in sizes) - 1e-6
    assert found[1] >= 64 - asked - 1e-6


@pytest.mark.parametrize("samples", [True, False])
def test_what_drivers_declare_is_no_use_of_memory(samples: bool) -> None:
    """A driver of 58 leaves 6 of 64 to tasks, measured or not, as with the stock scheduler: they waited for ever."""
    driving = ledger_with((1.0, 58.0), role=Role.DRIVER)
    if samples:
        measured(driving, (0.5, 3.0))
    assert room(driving)[1] == pytest.approx(6.0)


def test_what_drivers_use_is_use_of_memory() -> None:
    """At 57 in use the floor has ended, whoever uses it; it is back as soon as the driver is gone."""
    driving = measured(ledger_with((1.0, 8.0), (1.0, 20.0), roles=[Role.TASK, Role.DRIVER]), (1.0, 40.0), (1.0, 17.0))
    assert room(driving)[1] == pytest.approx(56.0 - 40.0 - 20.0)
    driving.remove("p1")
    assert room(driving)[1] == pytest.approx(56.0)


def test_pods_like_an_evicted_pod_are_charged_what_it_may_have_used() -> None:
    """Seed 23: packed by what they declare they were killed one after the other, until their controller gave up."""
    ledger = ledger_with()
    claim = PodClaim("p", "n", (1.0, 30.0), (0.5, 20.0), Role.TASK, "app", ClaimState.BOUND, None, (2.0, 1.5))
    assert ledger.expected(claim).tolist() == [1.0, 30.0]
    ledger.evicted(claim)
    assert ledger.expected(claim).tolist() == [1.0, 60.0]
    ledger.put(claim)
    assert room(ledger, 0.0)[1] == pytest.approx(4.0)
    assert ledger.without_tasks().tolist() == [[16.0, 64.0]]


def test_pods_like_an_evicted_pod_that_run_already_are_charged_as_much_at_once() -> None:
    """World 2050193: until the next sample came, one after the other was put beside the one that runs, and killed."""
    ledger = measured(ledger_with((1.0, 20.0), (1.0, 20.0)), (1.0, 1.0), (1.0, 1.0))
    assert room(ledger)[1] > 24.0
    evicted = ledger.remove("p1")
    assert evicted is not None
    ledger.evicted(evicted)
    assert room(ledger)[1] <= 24.0


def test_where_a_kubelet_evicts_the_floor_ends_until_the_next_sample() -> None:
    """World 9067: pods fitted by request where memory had just run out, and were killed again and again."""
    ledger = measured(ledger_with((1.0, 4.0)), (1.0, 4.0), system=(0.0, 46.0))
    assert room(ledger)[1] == pytest.approx(60.0)
    other = PodClaim("p", "n", (1.0, 2.0), (1.0, 2.0), Role.TASK, "other", ClaimState.BOUND, None)
    ledger.evicted(other)
    assert room(ledger)[1] == pytest.approx(6.0, abs=0.5)
    measure(ledger, 1205.0, {"n": Sample(1205.0, (1.0, 50.0))}, {"p0": (1.0, 4.0)})
    assert room(ledger, 1205.0)[1] == pytest.approx(60.0)


def test_where_nothing_is_measured_an_eviction_leaves_the_floor_as_it_is() -> None:
    """No sample would ever lift it; Kubernetes itself keeps pods away for a while."""
    ledger = ledger_with((1.0, 4.0))
    ledger.evicted(PodClaim("p", "n", (1.0, 2.0), (1.0, 2.0), Role.TASK, "other", ClaimState.BOUND, None))
    ledger.evicted(PodClaim("p", "gone", (1.0, 2.0), (1.0, 2.0), Role.TASK, "other", ClaimState.BOUND, None))
    assert room(ledger, 0.0)[1] == pytest.approx(60.0)


def test_what_a_pod_uses_is_unknown_until_one_of_its_app_and_size_was_seen() -> None:
    """Other sizes, drivers and other apps say nothing of it."""
    ledger = ledger_with((1.0, 4.0))
    claim = ledger.claim("p0")
    assert claim is not None
    assert ledger.unknown(claim)
    measured(ledger, (1.0, 2.0))
    assert not ledger.unknown(claim._replace(uid="next"))
    assert ledger.unknown(claim._replace(declared=(1.0, 3.0)))
    assert ledger.unknown(claim._replace(role=Role.DRIVER))
    assert ledger.unknown(claim._replace(app="other"))


def test_other_sizes_of_the_app_are_charged_what_they_declare() -> None:
    """Stages differ in size, and one that outgrows its request says nothing of another."""
    ledger = ledger_with()
    large = PodClaim("p", "n", (1.0, 30.0), (0.5, 20.0), Role.TASK, "app", ClaimState.BOUND, None, (2.0, 1.5))
    ledger.evicted(large)
    small = large._replace(uid="q", declared=(1.0, 3.0), native=(0.5, 2.0))
    assert ledger.expected(small).tolist() == [1.0, 3.0]


def test_a_driver_that_was_evicted_is_expected_to_use_twice_as_much_and_tasks_of_its_size_are_not() -> None:
    """Seed 2206: it was put on the small node again and again, and killed there each time."""
    ledger = ledger_with()
    driver = PodClaim("p", "n", (1.0, 30.0), (1.0, 30.0), Role.DRIVER, "app", ClaimState.BOUND, None)
    ledger.evicted(driver)
    assert ledger.expected(driver).tolist() == [1.0, 60.0]
    assert ledger.expected(driver._replace(uid="q", role=Role.TASK)).tolist() == [1.0, 30.0]


def test_which_pod_of_an_app_a_kubelet_ends_is_chance() -> None:
    """Seed 9026: the driver was ended each time, and tasks that use as much again were put beside the next one."""
    ledger = ledger_with()
    driver = PodClaim("p", "n", (1.0, 30.0), (1.0, 30.0), Role.DRIVER, "team/app/", ClaimState.BOUND, None)
    task = driver._replace(uid="q", declared=(1.0, 4.0), native=(1.0, 4.0), role=Role.TASK, app="team/app/map")
    assert not ledger.killed(task)
    ledger.evicted(driver)
    assert ledger.killed(task)
    assert ledger.expected(task).tolist() == [1.0, 4.0]
    assert not ledger.killed(task._replace(app="team/other/map"))


def test_pods_that_use_more_memory_than_they_declare_say_so_at_once() -> None:
    """Seed 9026: the fourth of four tasks went where three that run already show that it cannot."""
    ledger = ledger_with((1.0, 4.0))
    claim = ledger.claim("p0")
    assert claim is not None
    measure(ledger, 10.0, {"n": Sample(10.0, (1.0, 9.0))}, {"p0": (1.0, 9.0)})
    assert ledger.expected(claim._replace(uid="next")).tolist() == [1.0, 9.0]


@pytest.mark.parametrize(
    ("cores", "left"), [pytest.param(3.0, 40.0, id="as stock"), pytest.param(6.0, 20.0, id="more than stock")]
)
def test_what_pods_outgrew_is_room_only_where_the_stock_scheduler_would_place_more(cores: float, left: float) -> None:
    """World 20100012: unused cores were given to tasks of unknown apps where settled pods used twice their memory."""
    ledger = measured(ledger_with(*[(cores, 8.0)] * 3), *[(1.0, 44.0 / 3)] * 3)
    assert room(ledger)[1] == pytest.approx(left, rel=0.01)
    line = ledger.explain("n", 1200.0)["memory"]
    assert line.room == pytest.approx(left, rel=0.01)
    assert line.allocatable - max(line.known, line.declared) == pytest.approx(left, rel=0.01)
    ledger.remove("p2")
    assert room(ledger)[1] == pytest.approx(48.0, rel=0.01)


def test_a_driver_is_charged_what_it_is_placed_by() -> None:
    """Others were ended for their memory: until its first sample it took half of what its node was chosen for."""
    ledger = ledger_with()
    driver = PodClaim("p", "n", (1.0, 20.0), (1.0, 20.0), Role.DRIVER, "app", ClaimState.BOUND, None)
    ledger.evicted(driver)
    ledger.put(driver._replace(uid="next"))
    assert room(ledger, 0.0)[1] == pytest.approx(24.0)


def test_a_driver_whose_likes_were_killed_is_charged_so_until_it_has_stopped_growing() -> None:
    """Seed 40000182: by its first samples tasks came beside it, and it was killed with six others before it."""
    ledger = ledger_with()
    driver = PodClaim("p", "n", (1.0, 20.0), (1.0, 20.0), Role.DRIVER, "app", ClaimState.BOUND, None)
    ledger.evicted(driver)
    ledger.put(driver._replace(uid="next").running(0.0))
    left = []
    for at, use in ((10.0, 8.0), (20.0, 16.0), (40.0, 30.0), (80.0, 30.0), (120.0, 30.0)):
        measure(ledger, at, {"n": Sample(at, (1.0, use))}, {"next": (1.0, use)})
        left.append(room(ledger, at)[1])
    assert left[:3] == pytest.approx([24.0] * 3)
    assert left[-1] == pytest.approx(34.0)


def test_what_a_driver_uses_says_nothing_of_tasks_of_its_size() -> None:
    """World 93429: a driver used twice its memory, and a gang of tasks of that size found no four places any more."""
    task = PodClaim("next", "n", (1.0, 8.0), (1.0, 8.0), Role.TASK, "app", ClaimState.BOUND, None)
    for role, expected in ((Role.DRIVER, 8.0), (Role.TASK, 16.0)):
        ledger = measured(ledger_with((1.0, 8.0), role=role), (1.0, 16.0))
        assert ledger.expected(task)[1] == pytest.approx(expected, rel=0.01)


def growing_task(ledger: Ledger, driver: PodClaim, *uses: float) -> PodClaim:
    """A task that declares 4 and was seen to use so much memory, at ages of 10, 20, … seconds."""
    task = driver._replace(uid="q", declared=(1.0, 4.0), native=(1.0, 4.0), role=Role.TASK, app="team/app/map")
    ledger.put(task.running(0.0))
    for at, use in enumerate(uses, start=1):
        measure(ledger, 10.0 * at, {"n": Sample(10.0 * at, (1.0, use))}, {"q": (1.0, use)})
    return task


@pytest.mark.parametrize(
    ("uses", "killed", "cut_short", "expected"),
    [
        pytest.param((3.0, 5.0), True, True, 8.0, id="cut short beyond its request and still growing"),
        pytest.param((3.0, 5.0), True, False, 5.0, id="ended by itself"),
        pytest.param((3.0, 5.0), False, True, 5.0, id="nobody was killed"),
        pytest.param((1.0, 3.0), True, True, 4.0, id="within its request"),
        pytest.param((5.0, 5.0, 5.0), True, True, 5.0, id="settled"),
    ],
)
def test_what_a_pod_used_when_it_was_cut_short_is_no_peak(
    uses: tuple[float, ...], killed: bool, cut_short: bool, expected: float
) -> None:
    """Seed 50008: a driver was killed, its tasks went with it, and the next ones were packed by what those had used."""
    ledger = ledger_with()
    driver = PodClaim("p", "n", (1.0, 30.0), (1.0, 30.0), Role.DRIVER, "team/app/", ClaimState.BOUND, None)
    task = growing_task(ledger, driver, *uses)
    if killed:
        ledger.evicted(driver)
    ledger.remove("q", cut_short=cut_short)
    assert ledger.expected(task._replace(uid="next"))[1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("terms", "basis"),
    [
        pytest.param({"room": 36.0}, Basis.MEASURED, id="min-of-allowed-and-real-less-estimate-and-drivers"),
        pytest.param({"room": 36.0, "stale": True}, Basis.STALE, id="the-same-by-reservations"),
        pytest.param({"room": 34.0, "margin": 2.0}, Basis.MEASURED, id="less-a-margin"),
        pytest.param({"room": 40.0, "requested": 40.0}, Basis.FLOOR, id="requests-leave-more"),
        pytest.param({"room": 38.0, "requested": 40.0}, Basis.KNOWN, id="but-its-pods-use-more-than-they-declare"),
        pytest.param({"room": 5.0, "requested": 40.0, "bound": 5.0}, Basis.BOUND, id="the-kernel-would-kill-others"),
        pytest.param(
            {"room": -1e-9, "requested": -4.0, "estimate": 56.0}, Basis.MEASURED, id="rounding-decides-nothing"
        ),
    ],
)
def test_a_room_says_which_term_decided(terms: dict[str, Any], basis: Basis) -> None:
    """Of 60 that are allowed, 20 are believed to be used and 4 are drivers'; whoever explains it reads that off."""
    line = replace(LINE, **terms)
    assert line.basis is basis
    assert line.told()["basis"] == basis.value


@given(
    st.lists(st.tuples(st.floats(0.5, 6.0), st.floats(1.0, 24.0), st.floats(0.1, 2.0)), max_size=4),
    st.floats(0.0, 20.0),
)
def test_the_term_that_decided_is_the_room(pods: list[tuple[float, float, float]], system: float) -> None:
    """Whichever it is, its arithmetic gives the room of the ledger."""
    ledger = ledger_with(*[(cores, memory) for cores, memory, _ in pods])
    measured(ledger, *[(cores * share, memory * share) for cores, memory, share in pods], system=(0.0, system))
    for line in ledger.explain("n", 1200.0).values():
        by_use = min(line.allowed, line.real) - line.estimate - line.drivers - line.margin
        terms = {
            Basis.MEASURED: by_use,
            Basis.STALE: by_use,
            Basis.FLOOR: line.requested,
            Basis.KNOWN: line.allocatable - line.known - line.drivers,
            Basis.BOUND: line.bound,
        }
        assert line.room == pytest.approx(terms[line.basis], abs=1e-6)


@pytest.mark.parametrize("score", [-1e6, 0.0, 1e6])
def test_memory_used_above_the_allowance_ends_every_promise_too(score: float) -> None:
    """Whatever earlier promises have taught: at 57 in use there is no room, as without a stated risk."""
    for used, left in ((55.0, 56.0), (57.0, -1.0)):
        ledger = ledger_with((1.0, 8.0), risk=0.01)
        for calibration in ledger.risks().values():
            calibration.restore(np.full(1000, score), Kept(1000.0, 0.0), {})
        assert room(measured(ledger, (1.0, used)))[1] == pytest.approx(left)
        assert ledger.explain("n", 1200.0)["memory"].room == pytest.approx(left)
