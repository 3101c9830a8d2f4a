"""The estimator of all nodes gives what the paper's equations give for each node and kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.measures import Measure
from slackwater.estimation.mode import Mode
from slackwater.estimation.podmatrix import NOWHERE
from support.builders.scalarestimator import Estimator, Running

ALPHA, TAU0 = 0.125, (1.0, 30.0)
KINDS = range(2)
PODS = range(6)

amounts = st.floats(0, 1e4)
pairs = st.tuples(amounts, amounts)


class Pair:
    """A fleet and the scalar estimators it must equal. Two nodes to begin with."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.fleet = NodeEstimates(2, ALPHA, TAU0, mode)
        self.scalars: list[list[Estimator]] = []
        self.slots: dict[int, int] = {}
        self.requests: dict[int, tuple[float, float]] = {}
        self.at: dict[int, int] = {}
        self.guarded: set[int] = set()
        for _ in range(2):
            self.add_node()

    def add_node(self) -> None:
        """One more node."""
        self.fleet.add_node()
        self.scalars.append([Estimator(ALPHA, tau, self.mode) for tau in TAU0])

    def remove_node(self, row: int) -> None:
        """Its pods are finished first, as the ledger's callers would see them go."""
        for pod in [pod for pod, at in self.at.items() if at == row]:
            self.finish(pod)
        self.fleet.remove_node(row)
        del self.scalars[row]
        self.at = {pod: at - (at > row) for pod, at in self.at.items()}

    def alloc(self, pod: int, row: int, request: tuple[float, float]) -> None:
        """A new pod, or another size for one that is there."""
        if pod in self.slots:
            row = self.at[pod]
            self.fleet.resize(self.slots[pod], np.array(request))
        else:
            self.slots[pod], self.at[pod] = self.fleet.add(row, np.array(request)), row
        self.requests[pod] = request
        for kind in KINDS:
            self.scalars[row][kind].alloc(pod, request[kind])

    def finish(self, pod: int) -> None:
        """Both give back the same residue."""
        slot = self.slots.pop(pod)
        given_back = self.fleet.pods.cells[Measure.RESIDUAL, :, slot].copy()
        self.fleet.finish(slot)
        row = self.at.pop(pod)
        scalar = [self.scalars[row][kind].finish(pod) for kind in KINDS]
        assert given_back == pytest.approx(scalar, rel=1e-9, abs=1e-9)
        self.guarded.discard(pod)

    def move(self, pod: int, row: int) -> None:
        """To another node, in full."""
        self.fleet.move(self.slots[pod], row)
        for kind in KINDS:
            self.scalars[self.at[pod]][kind].finish(pod)
            self.scalars[row][kind].alloc(pod, self.requests[pod][kind])
        self.at[pod] = row
        self.guarded.discard(pod)
        self.guard(pod, (0.0, 0.0))

    def guard(self, pod: int, floor: tuple[float, float]) -> None:
        """A floor, a cap and a known use for one pod; the others lose theirs."""
        floors, uses = np.zeros((2, 2, self.fleet.pods.slots))
        floors[:, self.slots[pod]] = floor
        uses[:, self.slots[pod]] = np.array(floor) / 3
        caps = np.full_like(floors, np.inf)
        caps[:, self.slots[pod]] = 2 * np.array(floor) + 1
        self.fleet.uses[:, : self.fleet.pods.slots] = uses
        self.fleet.guard(np.arange(self.fleet.pods.slots), floors, caps, self.fleet.pods.held)
        for other in self.at:
            for kind in KINDS:
                mine = (floor[kind], floor[kind] / 3, 2 * floor[kind] + 1) if other == pod else (0.0, 0.0, math.inf)
                self.scalars[self.at[other]][kind].guard(other, *mine)

    def sample(self, used: list[tuple[float, float]], dt: float, seen: set[int], *, alone: bool) -> None:
        """A round of samples, or one node's own."""
        seen_at = np.array([slot for pod, slot in self.slots.items() if pod in seen], np.intp)
        rows = len(self.scalars)
        if alone:
            here = self.fleet.pods.on_row(0)
            at, ran = np.zeros(len(here), np.intp), np.isin(here, seen_at)
            self.fleet.sample_rows(np.array([0]), np.array(used[:1]), np.array([dt]), here, at, ran)
        else:
            self.fleet.sample(np.array(used[:rows]), np.full(rows, dt), seen_at)
        slots = np.arange(self.fleet.pods.slots)
        floors, caps = self.fleet.pods.table[Measure.FLOOR : Measure.USE, :, slots]
        self.fleet.guard(slots, floors, caps, self.fleet.pods.held)
        for row in range(1 if alone else rows):
            for kind in KINDS:
                if math.isfinite(used[row][kind]):
                    self.scalars[row][kind].on_sample(used[row][kind], dt, seen)

    def check(self) -> None:
        """Everything that is reported is equal."""
        scalar = [[estimator.estimate for estimator in node] for node in self.scalars]
        assert self.fleet.estimate() == pytest.approx(np.array(scalar).reshape(-1, 2), rel=1e-9, abs=1e-7)
        reserved = [[estimator.reserved for estimator in node] for node in self.scalars]
        sums = self.fleet.pods.sums[:, Measure.REQUEST]
        assert sums == pytest.approx(np.array(reserved).reshape(-1, 2), rel=1e-9, abs=1e-7)


gaps = st.one_of(amounts, st.just(math.nan))
steps = st.one_of(
    st.tuples(st.just("alloc"), st.sampled_from(PODS), st.integers(0, 3), pairs),
    st.tuples(st.just("finish"), st.sampled_from(PODS)),
    st.tuples(st.just("move"), st.sampled_from(PODS), st.integers(0, 3)),
    st.tuples(st.just("guard"), st.sampled_from(PODS), pairs),
    st.tuples(
        st.just("sample"),
        st.lists(st.tuples(gaps, gaps), min_size=4, max_size=4),
        st.floats(0, 60),
        st.sets(st.sampled_from(PODS)),
        st.booleans(),
    ),
    st.tuples(st.just("add_node")),
    st.tuples(st.just("remove_node"), st.integers(0, 3)),
)


def apply(pair: Pair, step: tuple) -> None:  # type: ignore[type-arg]  # steps differ in shape
    """One step, where it makes sense."""
    what, *rest = step
    nodes = len(pair.scalars)
    if what == "alloc":
        pair.alloc(rest[0], rest[1] % nodes, rest[2])
    elif what == "sample":
        pair.sample(rest[0], rest[1], rest[2], alone=rest[3])
    elif what == "add_node" and nodes < 4:
        pair.add_node()
    elif what == "remove_node" and nodes > 1:
        pair.remove_node(rest[0] % nodes)
    elif rest and rest[0] in pair.slots and what == "finish":
        pair.finish(rest[0])
    elif rest and rest[0] in pair.slots and what == "move":
        pair.move(rest[0], rest[1] % nodes)
    elif rest and rest[0] in pair.slots and what == "guard":
        pair.guard(rest[0], rest[1])


@given(st.sampled_from(Mode), st.lists(steps, max_size=40))
def test_fleet_equals_the_scalar_estimators(mode: Mode, sequence: list[tuple]) -> None:  # type: ignore[type-arg]  # as above
    """The same events, the same estimates: after every one of them."""
    pair = Pair(mode)
    for step in sequence:
        apply(pair, step)
        pair.check()


def test_bad_numbers_are_samples_that_did_not_come() -> None:
    """One broken series does not stop the others, and does not move its own node."""
    fleet = NodeEstimates(1, alpha=1.0)
    for _ in range(5):
        fleet.add_node(np.array([8.0]))
    fleet.sample(np.array([[np.nan], [np.inf], [-1.0], [4.0], [4.0]]), np.array([1.0, 1.0, 1.0, np.nan, 1.0]))
    assert fleet.learned[:, 0].tolist() == [8.0, 8.0, 8.0, 8.0, 4.0]


@pytest.mark.parametrize(("before", "after", "left"), [(5e-324, 8.0, 8.0), (8.0, 5e-324, 0.0), (0.0, 8.0, 8.0)])
def test_a_request_may_change_from_or_to_next_to_nothing(before: float, after: float, left: float) -> None:
    """How many times as large it becomes is asked by nobody, and may be more than there are numbers for."""
    fleet = NodeEstimates(1)
    slot = fleet.add(fleet.add_node(), np.array([before]))
    with np.errstate(all="raise", under="ignore"):
        fleet.resize(slot, np.array([after]))
    assert fleet.pods.cells[Measure.RESIDUAL, 0, slot] == left


def test_kinds_without_samples_count_at_their_requests() -> None:
    """That is how GPUs are never overcommitted."""
    fleet = NodeEstimates(2)
    row = fleet.add_node()
    fleet.add(row, np.array([4.0, 1.0]))
    for _ in range(300):
        fleet.sample(np.array([[0.5, np.nan]]), np.array([1.0]))
    assert fleet.estimate()[0] == pytest.approx([0.5, 1.0])


def test_recall_equals_the_scalar_restart() -> None:
    """EST-17 over arrays: system 1, one steady pod of age 10, one above its request."""
    fleet = NodeEstimates(1)
    row = fleet.add_node()
    slots = np.array([fleet.add(row, np.array([request])) for request in (4.0, 2.0)])
    fleet.recall(slots, np.array([[0.5, 3.0]]), np.array([10.0, 3.0]), np.array([[4.5]]))
    fleet.sample(np.array([[4.5]]), np.array([0.0]))
    scalar = Estimator.restarted(1.0, [Running(0, 4.0, 0.5, 10.0), Running(1, 2.0, 3.0, 3.0)])
    assert fleet.estimate()[0, 0] == pytest.approx(scalar.estimate)
    assert fleet.pods.cells[Measure.RESIDUAL, 0, slots[0]] == pytest.approx(scalar.finish(0))


def test_recall_without_use_is_the_larger_of_use_and_requests() -> None:
    """Nothing is known of the pods: max(U, Σ RR)."""
    for used, expected in ((3.0, 6.0), (9.0, 9.0)):
        fleet = NodeEstimates(1)
        fleet.add(fleet.add_node(), np.array([6.0]))
        fleet.recall(np.array([], np.intp), np.zeros((1, 0)), np.zeros(0), np.array([[used]]))
        fleet.sample(np.array([[used]]), np.array([0.0]))
        assert fleet.estimate()[0, 0] == expected


def test_pods_of_a_removed_node_count_in_full_elsewhere() -> None:
    """What was measured there says nothing about another node."""
    fleet = NodeEstimates(1, alpha=0.5)
    row = fleet.add_node(np.array([0.0]))
    slot = fleet.add(row, np.array([4.0]))
    fleet.sample(np.array([[0.0]]), np.array([1.0]))
    fleet.remove_node(row)
    assert fleet.pods.row_of(slot) == NOWHERE
    fleet.move(slot, fleet.add_node())
    assert fleet.estimate()[0, 0] == 4.0


def test_an_empty_fleet_takes_a_sample() -> None:
    """No nodes, no pods, no error."""
    fleet = NodeEstimates(2)
    fleet.sample(np.zeros((0, 2)), np.zeros(0))
    assert fleet.estimate().shape == (0, 2)


@pytest.mark.parametrize(("alpha", "tau0"), [(1.5, [1.0]), (math.nan, [1.0]), (0.1, [0.0])], ids=str)
def test_bad_damping_is_refused(alpha: float, tau0: list[float]) -> None:
    """Settings are checked once, at the start."""
    with pytest.raises(BadNumber):
        NodeEstimates(1, alpha, tau0)
