"""Paper 000's equations by example, and what holds for every sequence of events.

test_estimator_beside_equations.py holds the estimator of all nodes equal to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber, UnknownName
from slackwater.estimation.mode import Mode
from support.builders.scalarestimator import Estimator, Running, effective_alpha

amounts = st.floats(0, 1e6)
alphas = st.floats(0, 1)
# (what, which pod, how much)
events = st.lists(
    st.tuples(st.sampled_from(["alloc", "finish", "sample", "guard"]), st.integers(0, 4), amounts), max_size=40
)


def play(estimator: Estimator, sequence: list[tuple[str, int, float]], *, guards: bool = True) -> None:
    """Apply events; those about pods that are not there are skipped."""
    here: set[int] = set()
    for what, pod, value in sequence:
        if what == "sample":
            estimator.on_sample(value, dt=value % 7)
        elif what == "alloc":
            estimator.alloc(pod, value)
            here.add(pod)
        elif pod in here and what == "finish":
            estimator.finish(pod)
            here.remove(pod)
        elif pod in here and guards:
            estimator.guard(pod, value, use=value / 3)


def test_first_sample_of_an_unknown_node_sets_the_estimate() -> None:
    """Without E0 the first sample is taken over, and what was promised stays promised."""
    estimator = Estimator()
    estimator.alloc("J", 4.0)
    assert estimator.on_sample(6.0) == 6.0
    assert estimator.residual == 4.0


def test_missed_samples_change_nothing() -> None:
    """A sample that never came is a longer dt for the next: one late sample damps as much as all it replaces."""
    often, seldom = (Estimator(start=8.0, mode=Mode.PRINTED) for _ in range(2))
    for _ in range(5):
        often.on_sample(2.0, dt=1.0)
    assert seldom.on_sample(2.0, dt=5.0) == pytest.approx(often.estimate)


def test_a_pod_not_seen_running_counts_in_full() -> None:
    """Image pull and start-up must not look like thrift."""
    estimator = Estimator(start=0.0)
    estimator.alloc("pulling", 4.0)
    estimator.alloc("running", 4.0)
    for _ in range(200):
        estimator.on_sample(1.0, seen={"running"})
    assert estimator.estimate == pytest.approx(5.0)


def test_finished_pods_leave_what_was_learned() -> None:
    """Eq. 4 takes back only the residue; the next samples bring down the rest."""
    estimator = Estimator(start=0.0, mode=Mode.PRINTED)
    estimator.alloc("J", 4.0)
    estimator.on_sample(2.0)
    estimator.finish("J")
    assert estimator.estimate == pytest.approx(2.0 * 0.125)


def test_capped_is_never_slower_than_reservation() -> None:
    """Short tasks one after another: printed mode climbs above what is reserved, capped mode does not."""
    estimates = {}
    for mode in Mode:
        estimator = Estimator(start=0.0, mode=mode)
        for job in range(50):
            estimator.alloc(job, 1.5)
            estimator.on_sample(1.4)
            estimator.on_sample(1.4)
            if job < 49:
                estimator.finish(job)
        estimates[mode] = estimator.estimate
    assert estimates[Mode.PRINTED] > 1.5
    assert estimates[Mode.CAPPED] <= 1.5


def test_restart_of_a_steady_node_finds_the_estimate_again() -> None:
    """E0 = system + Σ [u + (1−a)^(age/tau0)·max(0, RR − u)] is what watching all along would have given."""
    watched = Estimator(start=1.0)
    watched.alloc("J", 4.0)
    for _ in range(10):
        watched.on_sample(1.0 + 0.5)
    restarted = Estimator.restarted(1.0, [Running("J", 4.0, 0.5, age=10.0)])
    assert restarted.estimate == pytest.approx(1.0 + 0.5 + 0.875**10 * 3.5)
    assert restarted.estimate == pytest.approx(watched.estimate, abs=0.2)
    assert restarted.finish("J") == pytest.approx(watched.finish("J"))


def test_restart_with_use_above_the_request_counts_the_use() -> None:
    """max(0, RR − u) is 0 then: nothing is subtracted for it."""
    assert Estimator.restarted(1.0, [Running("J", 2.0, 3.0, age=0.0)]).estimate == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("before", "after", "left"), [(4.0, 6.0, 4.0), (4.0, 2.0, 1.0)], ids=["growth counts in full", "shrinks in share"]
)
def test_resize(before: float, after: float, left: float) -> None:
    """Half of the request is still believed when it changes."""
    estimator = Estimator(alpha=0.5, start=0.0)
    estimator.alloc("J", before)
    estimator.on_sample(0.0)
    estimator.alloc("J", after)
    assert estimator.finish("J") == pytest.approx(left)


def test_a_young_pod_is_charged_its_apps_peak() -> None:
    """Its residual is long gone, its memory has not come yet."""
    estimator = Estimator(start=0.0)
    estimator.alloc("J", 4.0)
    for _ in range(200):
        estimator.on_sample(0.3)
    estimator.guard("J", floor=3.6, use=0.3)
    assert estimator.estimate == pytest.approx(3.6)
    estimator.guard("J", floor=0.0)
    assert estimator.estimate == pytest.approx(0.3)


def test_a_pod_of_a_known_app_is_charged_at_most_its_cap() -> None:
    """4 asked for, 2 and a margin known: 2.3 from the first moment; never less than is measured."""
    estimator = Estimator(start=0.0)
    estimator.alloc("J", 4.0)
    assert estimator.estimate == 4.0
    estimator.guard("J", floor=2.0, cap=2.3)
    assert estimator.estimate == 2.3
    estimator.on_sample(3.0)
    assert estimator.estimate == 3.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0], ids=str)
@pytest.mark.parametrize("field", ["used", "dt", "request", "floor", "cap", "use", "start", "age", "alpha", "tau0"])
def test_bad_numbers_name_their_field(field: str, bad: float) -> None:
    """A number that cannot be decided on is refused at the door."""
    estimator = Estimator()
    estimator.alloc("J", 1.0)
    calls: dict[str, Callable[[], object]] = {
        "used": lambda: estimator.on_sample(bad),
        "dt": lambda: estimator.on_sample(1.0, dt=bad),
        "request": lambda: estimator.alloc("K", bad),
        "floor": lambda: estimator.guard("J", bad),
        "use": lambda: estimator.guard("J", 1.0, use=bad),
        "cap": lambda: estimator.guard("J", 1.0, cap=-1.0 if bad == math.inf else bad),
        "start": lambda: Estimator(start=bad),
        "age": lambda: Estimator.restarted(0.0, [Running("J", 1.0, 1.0, bad)]),
        "alpha": lambda: Estimator(alpha=bad),
        "tau0": lambda: Estimator(tau0=bad),
    }
    with pytest.raises(BadNumber) as caught:
        calls[field]()
    assert caught.value.field == field


def test_finishing_a_stranger_is_an_error() -> None:
    """It would otherwise hide a lost event."""
    with pytest.raises(UnknownName, match="'K' is not known"):
        Estimator().finish("K")


@given(alphas, st.floats(0, 1e3), st.floats(0, 1e3))
def test_damping_does_not_depend_on_the_period(alpha: float, one: float, two: float) -> None:
    """Two steps leave as much as one of the same length."""
    kept = (1 - effective_alpha(alpha, one, 3.0)) * (1 - effective_alpha(alpha, two, 3.0))
    assert kept == pytest.approx(1 - effective_alpha(alpha, one + two, 3.0), abs=1e-9)


@given(alphas, st.sampled_from(Mode), events)
def test_estimate_is_never_negative(alpha: float, mode: Mode, sequence: list[tuple[str, int, float]]) -> None:
    """Whatever happens."""
    estimator = Estimator(alpha, mode=mode)
    play(estimator, sequence)
    assert estimator.estimate >= 0


@given(alphas, st.sampled_from(Mode), events, amounts)
def test_estimate_is_not_below_the_sample_just_taken(
    alpha: float, mode: Mode, sequence: list[tuple[str, int, float]], used: float
) -> None:
    """Eq. 3: fast attack."""
    estimator = Estimator(alpha, mode=mode)
    play(estimator, sequence)
    assert estimator.on_sample(used) >= used - 1e-9 * max(1.0, estimator.residual)


@given(alphas, events)
def test_capped_estimate_is_not_above_reservations_and_measurement(
    alpha: float, sequence: list[tuple[str, int, float]]
) -> None:
    """So it never offers less room than reservation would."""
    estimator = Estimator(alpha, start=0.0)
    play(estimator, sequence, guards=False)
    assert estimator.estimate <= max(estimator.reserved, estimator.used) + 1e-9


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 100)), min_size=1), st.lists(st.floats(0, 1)))
def test_alpha_zero_is_reservation_while_use_stays_below(
    requests: list[tuple[int, float]], shares: list[float]
) -> None:
    """Capped mode with no damping is the scheduler everybody has today."""
    estimator = Estimator(alpha=0.0)
    for job, request in requests:
        estimator.alloc(job, request)
        for share in shares:
            estimator.on_sample(share * estimator.reserved)
        assert estimator.estimate == pytest.approx(estimator.reserved)
