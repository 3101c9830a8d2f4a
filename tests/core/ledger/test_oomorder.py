"""Memory that runs out must cost a task, never a pod that was not lowered and keeps to its request."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.resources import MEMORY
from slackwater.roles import Role
from support.builders.ledgers import changed
from support.builders.measuring import measure

CEILING = 1.5
# A kubelet that keeps 1 GiB of 3 for the system and evicts below 100 MiB, as on the lab's real nodes. In MiB.
CAPACITY, LIMIT, ALLOCATABLE = 3072.0, 2048.0, 1948.0
NOW = 1200.0


def task(uid: str, declared: float) -> PodClaim:
    """A task whose request was lowered by the ceiling."""
    sizes = (declared,), (declared / CEILING,)
    return PodClaim(uid, "n", *sizes, Role.TASK, "app", ClaimState.RUNNING, 0.0, (CEILING,))


def other(uid: str, request: float, *, guaranteed: bool = False) -> PodClaim:
    """A pod of somebody else."""
    sizes = (request,), (request,)
    return PodClaim(uid, "n", *sizes, state=ClaimState.RUNNING, started=0.0, managed=False, guaranteed=guaranteed)


def node(*pods: PodClaim, capacity: float = CAPACITY, allocatable: float = ALLOCATABLE) -> Ledger:
    """A node whose pods have used next to nothing for a long time."""
    ledger = Ledger(LedgerConfig(kinds=(MEMORY,)))
    ledger.upsert_node(NodeSpec("n", (allocatable,), (capacity,)))
    for pod in pods:
        ledger.put(pod)
    for stamp in (10.0, 400.0, 800.0, NOW):
        idle(ledger, stamp)
    return ledger


def idle(ledger: Ledger, now: float) -> None:
    """All pods use next to nothing."""
    pods = {claim.uid: (0.01,) for claim in ledger.claims()}
    measure(ledger, now, {"n": Sample(now, (0.01 * len(pods),))}, pods)


def room(ledger: Ledger) -> float:
    """Room for memory, which one row, the table and its explanation must agree on."""
    table, spot = ledger.table(NOW), ledger.spot("n", NOW)
    assert spot is not None
    assert spot.room == pytest.approx(table.room[0].tolist())
    line = ledger.explain("n", NOW)[MEMORY]
    assert line.room <= line.bound
    return float(table.room[0, 0])


def test_beside_a_large_pod_tasks_fill_a_node_by_what_they_declare() -> None:
    """Seven tasks of 200 beside 500 that was not lowered: 48 are left, though next to nothing is used."""
    tasks = [task(f"t{i}", 200.0) for i in range(7)]
    assert room(node(other("large", 500.0), *tasks)) == pytest.approx(1948 - 500 - 7 * 200)


def test_beside_a_small_pod_tasks_fill_a_node_by_what_they_use() -> None:
    """A pod of 100 stands too low to be killed for seven tasks: measurement decides, as without it."""
    tasks = [task(f"t{i}", 200.0) for i in range(7)]
    assert room(node(other("small", 100.0), *tasks)) == pytest.approx(0.875 * ALLOCATABLE - 8, abs=10)


def test_in_between_each_task_counts_as_far_as_the_kernel_would_spare_it() -> None:
    """Beside 150, eleven tasks may use 0.634 · 133.3 + 0.366 · 150 each before one of them goes first."""
    share = ALLOCATABLE / CAPACITY
    spared = share * 200.0 / CEILING + (1 - share) * 150.0
    tasks = [task(f"t{i}", 200.0) for i in range(12)]
    assert room(node(other("middle", 150.0), *tasks)) == pytest.approx(ALLOCATABLE - 150 - 12 * spared)


@pytest.mark.parametrize(
    ("pod", "capacity"),
    [
        pytest.param(other("last", 500.0, guaranteed=True), CAPACITY, id="the kernel kills Guaranteed pods last"),
        pytest.param(other("large", 500.0), ALLOCATABLE, id="nothing is reserved for the system"),
        pytest.param(other("large", 500.0), 0.0, id="the capacity is not known"),
    ],
)
def test_nothing_is_bounded_where_a_task_goes_first_anyway(pod: PodClaim, capacity: float) -> None:
    """Then room is what measurement says."""
    tasks = [task(f"t{i}", 200.0) for i in range(7)]
    assert room(node(pod, *tasks, capacity=capacity)) == pytest.approx(0.875 * ALLOCATABLE - 8, abs=10)


def test_a_pod_that_asks_about_its_own_node_does_not_bound_itself() -> None:
    """A driver that was given its node by measured room is not refused there for being the largest itself."""
    driver = PodClaim("d", "n", (500.0,), (500.0,), Role.DRIVER, "app", ClaimState.BOUND)
    ledger = node(driver, *[task(f"t{i}", 200.0) for i in range(7)])
    spot = ledger.spot("n", NOW, "d")
    assert spot is not None
    assert spot.room[0] > 500.0
    assert room(ledger) == pytest.approx(48.0)


def test_the_bound_follows_pods_that_come_change_and_go() -> None:
    """A large pod is resized, leaves, comes back with its node after that was gone: as in a fresh ledger each time."""
    tasks = [task(f"t{i}", 200.0) for i in range(7)]
    ledger = node(other("large", 500.0), *tasks)
    changed(ledger, "large", declared=(400.0,), native=(400.0,))
    assert room(ledger) == pytest.approx(1948 - 400 - 7 * 200)
    ledger.remove("large")
    assert room(ledger) > 1000
    ledger.put(other("large", 500.0))
    assert room(ledger) == pytest.approx(48.0)
    ledger.remove_node("n")
    ledger.upsert_node(NodeSpec("n", (ALLOCATABLE,), (CAPACITY,)))
    assert ledger.explain("n", NOW)[MEMORY].bound == pytest.approx(48.0)


# Of what a pod may use. With less, and among larger pods, memory hardly ever runs out: here in half of the examples.
PARTS = st.integers(95, 100).map(lambda percent: percent / 100)


@given(
    neighbours=st.lists(st.tuples(st.integers(1, 30), PARTS), min_size=1, max_size=2),
    declared=st.lists(st.integers(2, 12), min_size=1, max_size=2),
    parts=st.lists(PARTS, min_size=1, max_size=3),
    reserved=st.integers(0, 50),
)
@example(neighbours=[(50, 1.0)], declared=[6], parts=[1.0], reserved=40)  # before: the neighbour
def test_a_task_is_killed_first(
    neighbours: list[tuple[int, float]], declared: list[int], parts: list[float], reserved: int
) -> None:
    """Whatever pods use, others within their requests and tasks within what they declared: the kernel takes a task."""
    limit, capacity = 100.0, 100.0 / (1.0 - reserved / 100)
    others = [other(f"o{i}", size) for i, (size, _) in enumerate(neighbours)]
    ledger = node(*others, capacity=capacity, allocatable=limit)
    uses = {pod.uid: size * part for pod, (size, part) in zip(others, neighbours, strict=True)}
    tasks = []
    for number in range(40):
        now = NOW + 600.0 * number  # long enough to believe that the tasks before it stay idle
        idle(ledger, now)
        table, ask = ledger.table(now), task(f"t{number}", declared[number % len(declared)])
        if ask.declared[0] <= table.room[0, 0] and ask.native[0] <= table.native[0, 0]:
            ledger.put(ask)
            tasks.append(ask)
            uses[ask.uid] = ask.declared[0] * parts[number % len(parts)]
    if sum(uses.values()) > limit and sum(pod.native[0] for pod in others) <= limit:
        scores = {pod.uid: uses[pod.uid] - pod.native[0] * limit / capacity for pod in (*others, *tasks)}
        assert max(scores[pod.uid] for pod in tasks) >= max(scores[pod.uid] for pod in others) - 1e-9
