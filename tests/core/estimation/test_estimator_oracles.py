"""Every EST row of the oracles: the numbers of paper 000."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slackwater.estimation.efficiency import Usage, together
from slackwater.estimation.mode import Mode
from slackwater_simulator.physics import room, sharing
from slackwater_simulator.results import comparison
from support.builders import paperformulas
from support.builders import scalarestimator as estimation
from support.builders.oracles import Oracle, ids, oracle
from support.builders.scalarestimator import Estimator


def printed(row: Oracle, start: float | None = None) -> Estimator:
    """The paper's own estimator, with the row's damping."""
    first = row.inputs.get("E0", 0.0) if start is None else start
    return Estimator(row.inputs.get("alpha", 0.125), 1.0, Mode.PRINTED, first)


def average(row: Oracle) -> None:
    """Eq. 1."""
    assert printed(row, row.inputs["E_prev"]).on_sample(row.inputs["U"]) == row.near(row.expected["E"])


def allocation(row: Oracle) -> None:
    """Eq. 2."""
    estimator = printed(row, row.inputs["E"])
    estimator.alloc("J", row.inputs["RR"])
    assert estimator.estimate == row.near(row.expected["E"])


def attack(row: Oracle) -> None:
    """Eq. 3, with the average that stood before it."""
    before, used, alpha = (row.inputs[name] for name in ("E_prev", "U", "alpha"))
    assert before + alpha * (used - before) == row.near(row.expected["average_before_floor"])
    assert printed(row, before).on_sample(used) == row.near(row.expected["E"])


def life(row: Oracle) -> None:
    """Eqs 1, 2 and 4 over the life of one task."""
    estimator = printed(row)
    estimator.alloc("J", row.inputs["RR"])
    assert estimator.estimate == row.near(row.expected["E_after_alloc"])
    assert [estimator.on_sample(u) for u in row.inputs["U_sequence"]] == row.near(row.expected["E_after_each_tick"])
    assert estimator.finish("J") == row.near(row.expected["residual_removed"])
    assert estimator.estimate == row.near(row.expected["E_after_finish"])


def reservation(row: Oracle) -> None:
    """Alpha 0 counts what was asked for, in both modes."""
    for mode in Mode:
        estimator = Estimator(row.inputs["alpha"], 1.0, mode, row.inputs["E0"])
        for request in row.inputs["allocs"]:
            estimator.alloc(request, request)
        assert [estimator.on_sample(u) for u in row.inputs["U_sequence"]] == row.near(row.expected["E_after_ticks"])
        estimator.finish(row.inputs["then_finish"])
        assert estimator.estimate == row.near(row.expected["E_after_finish"])


def measurement(row: Oracle) -> None:
    """Alpha 1 follows the measurement."""
    estimator = printed(row)
    estimator.alloc("J", row.inputs["RR"])
    assert estimator.on_sample(row.inputs["U_sequence"][0]) == row.near(row.expected["E_after_tick"])
    assert estimator.finish("J") == row.near(row.expected["residual_removed"])
    assert estimator.estimate == row.near(row.expected["E_after_finish"])


def unseen(row: Oracle) -> None:
    """A task that ends before any heartbeat gives everything back."""
    estimator = printed(row)
    estimator.alloc("J", row.inputs["RR"])
    assert estimator.estimate == row.near(row.expected["E_after_alloc"])
    assert estimator.finish("J") == row.near(row.expected["residual_removed"])
    assert estimator.estimate == row.near(row.expected["E_after_finish"])


def literal(row: Oracle) -> None:
    """Eq. 3 does not touch what eq. 4 gives back."""
    estimator = printed(row)
    estimator.alloc("J", row.inputs["RR"])
    assert estimator.on_sample(row.inputs["U_sequence"][0]) == row.near(row.expected["E_after_tick"])
    assert estimator.finish("J") == row.near(row.expected["residual_removed"])
    assert estimator.estimate == row.near(row.expected["E_after_finish"])
    assert estimator.on_sample(row.inputs["next_U"]) == row.near(row.expected["E_after_next_tick"])


def efficiencies(row: Oracle) -> None:
    """Eq. 7 for containers and their job."""
    samples = (row.inputs[name] for name in ("container1", "container2"))
    one, two = (Usage(sum(each["used"]), sum(each["reserved"])) for each in samples)
    assert one.efficiency == row.near(row.expected["E_c1"])
    assert two.efficiency == row.near(row.expected["E_c2"])
    assert together([one, two]).efficiency == row.near(row.expected["E_job"])


def available(row: Oracle) -> None:
    """Eqs 5 and 6, which no program uses (decision 0028): arithmetic of the paper, kept beside what replaced it."""
    rooms = [paperformulas.prototype_room(c["AR"], c["NC"], c["ACU"], c["RU"]) for c in row.inputs["cases"]]
    assert rooms == row.near(row.expected["available"])


def rescaled(row: Oracle) -> None:
    """The node total of the authors' prototype, which no program uses either."""
    names = ("used", "AR", "NC", "ACU", "RU", "min_alloc")
    sides = [paperformulas.Side(*(row.inputs[name][kind] for name in names)) for kind in ("mem", "cpu")]
    assert [side.room for side in sides] == row.near([row.expected["available"][kind] for kind in ("mem", "cpu")])
    assert paperformulas.node_totals(sides) == row.near([row.expected["total"][kind] for kind in ("mem", "cpu")])


def halving(row: Oracle) -> None:
    """How long a request is remembered: in heartbeats of any length, and in whole ones of a task that uses nothing."""
    shares, alpha = (0.5, 0.1), row.inputs["alpha"]
    left = [1.0 - estimation.effective_alpha(alpha, beats, 1.0) for beats in row.expected["real"]]
    assert left == pytest.approx(shares, abs=row.tolerance)
    estimator = printed(row)
    estimator.alloc("J", 1.0)
    courses = [estimator.on_sample(0.0) for _ in range(max(row.expected["whole_ticks"]))]
    assert [1 + sum(each > share for each in courses) for share in shares] == row.expected["whole_ticks"]


def rescaled_damping(row: Oracle) -> None:
    """Alpha at another scrape period."""
    damping = [
        estimation.effective_alpha(row.inputs["alpha"], case["period_s"], case["tau0_s"])
        for case in row.inputs["cases"]
    ]
    assert damping == row.near(row.expected["alpha_eff"])


def simulated_filter(row: Oracle) -> None:
    """Allowance minus estimate."""
    left = room.sim_room(row.inputs["AR"], row.inputs["E"])
    assert [room.accepts(request, left) for request in row.inputs["requests"]] == row.expected["fits"]


def compressible(row: Oracle) -> None:
    """Overloaded CPU slows all tasks alike."""
    factor = sharing.progress(row.inputs["NC_cpu"], row.inputs["os"], row.inputs["demands"])
    assert factor == row.near(row.expected["factor"])


def failures(row: Oracle) -> None:
    """The published failure rate."""
    assert comparison.failure_percent(**row.inputs) == row.near(row.expected["percent"])


def speedup(row: Oracle) -> None:
    """Reports tell the time saved; the speed-up follows from it, above 1 where less time is needed."""
    saved = comparison.time_saved(row.inputs["T_original"], row.inputs["T_new"])
    assert saved == row.near(row.expected["time_reduction"])
    assert 1.0 / (1.0 - saved) == row.near(row.expected["speedup"])


def stale(row: Oracle) -> None:
    """Without samples, never below what was asked for."""
    estimator = Estimator(mode=Mode.PRINTED, alpha=1.0, start=0.0)
    for job, request in enumerate(row.inputs["running_requests"]):
        estimator.alloc(job, request)
    assert estimator.on_sample(row.inputs["E"]) == row.near(row.inputs["E"])
    assert estimator.fallback == row.near(row.expected["E"])


def ratchet(row: Oracle) -> None:
    """Alpha 0: the printed state never comes down again, the reported estimate does."""
    for mode, name in ((Mode.CAPPED, "E_reported"), (Mode.PRINTED, "E_literal")):
        estimator = Estimator(row.inputs["alpha"], 1.0, mode, 0.0)
        for job, request in enumerate(row.inputs["allocs"]):
            estimator.alloc(job, request)
        assert [estimator.on_sample(u) for u in row.inputs["U_sequence"]] == row.near(row.expected[name])


CHECKS: dict[str, Callable[[Oracle], None]] = {
    "EST-01": average,
    "EST-02": allocation,
    "EST-03": attack,
    "EST-04": life,
    "EST-06": reservation,
    "EST-07": measurement,
    "EST-08": unseen,
    "EST-10": literal,
    "EST-11": efficiencies,
    "EST-12": available,
    "EST-13": rescaled,
    "EST-15": halving,
    "EST-16": rescaled_damping,
    "EST-18": simulated_filter,
    "EST-19": compressible,
    "EST-21": failures,
    "EST-22": speedup,
    "EST-23": stale,
    "EST-24": ratchet,
}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_oracle(name: str) -> None:
    """The published or derived number comes out."""
    CHECKS[name](oracle(name))


def test_every_row_has_a_check() -> None:
    """No row of the paper is left out."""
    assert set(CHECKS) == ids("EST-")
