"""Driver admission (paper 002): the reservation, the test, the queue, and what they promise."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.admission.budget import (
    DriverOutcome,
    RunningMeans,
    WaitingDriver,
    admit,
    budget,
    drain,
    reservation,
    scaled,
    score,
)
from slackwater.errors import BadNumber
from slackwater.resources import NOTHING, Resources
from slackwater_simulator.reproduction.admission import TABLE
from support.builders.oracles import Oracle, oracle, rows

GIB = 2.0**30
SETTINGS = oracle("ADM-01").expected["table"]

sizes = st.integers(1, 80).map(lambda tenths: tenths / 10)
vectors = st.builds(Resources, cpu=sizes, memory=sizes)


def cores(driver: float, task: float = 0.0, name: str = "app") -> WaitingDriver:
    """An app that asks for cpu alone."""
    return WaitingDriver(name, Resources(cpu=driver), Resources(cpu=task))


def drivers(count: int, driver: float, task: float) -> RunningMeans:
    """So many equal apps, whose tasks have not started yet."""
    return RunningMeans.of([(Resources(cpu=driver), Resources(cpu=task))] * count)


@pytest.mark.parametrize("setting", SETTINGS, ids=[f"ADM-01-AMC{s['AMC']}-TC{s['TC']}" for s in SETTINGS])
def test_reservation_and_driver_count_of_the_published_settings(setting: dict[str, float]) -> None:
    """Eq 1 in all 16 settings, and as many drivers as it implies."""
    row, capacity = oracle("ADM-01"), Resources(cpu=64)
    job = cores(setting["AMC"], setting["TC"])
    assert reservation(64, setting["AMC"], setting["TC"]) == row.near(setting["R"])
    answers = list(drain([job] * 72, RunningMeans(), capacity))
    assert sum(verdict.admitted for _, verdict in answers) == setting["max_AMs"]


@rows("ADM-02")
def test_reservation_uses_means_over_what_runs(row: Oracle) -> None:
    """Eq 2."""
    running = RunningMeans.of(
        [(Resources(cpu=size), NOTHING) for size in row.inputs["running_AMs"]],
        [Resources(cpu=size) for size in row.inputs["running_tasks"]],
    )
    assert running.driver_mean("cpu", None) == row.near(row.expected["avg_AMC"])
    assert running.task_mean("cpu", None) == row.near(row.expected["avg_TC"])
    assert budget(Resources(cpu=row.inputs["C"]), running).reserved["cpu"] == row.near(row.expected["R"])


@rows("ADM-03")
def test_reservation_grows_when_drivers_reach_into_it(row: Oracle) -> None:
    """Eq 3, clamped to the capacity."""
    found = [scaled(case["R"], case["TotalAMC"], row.inputs["C"]) for case in row.inputs["cases"]]
    assert found == row.near(row.expected["R_scaled"])


@rows("ADM-05")
def test_every_kind_must_agree(row: Oracle) -> None:
    """Two kinds: the first to run out refuses."""
    capacity, driver, task = (Resources.from_vector(("cpu", "memory"), row.inputs[k]) for k in ("C", "AMC", "TC"))
    answers = []
    for charged in row.inputs["TotalAMC_cases"]:
        running = RunningMeans.of([(driver, task)] * charged[0])
        assert running.charged == Resources(cpu=charged[0], memory=charged[1])
        answers.append(admit(WaitingDriver("next", driver, task), running, capacity))
    assert [answers[0].budget.reserved[kind] for kind in ("cpu", "memory")] == row.expected["R"]
    assert [answer.admitted for answer in answers] == row.expected["admit"]


@rows("ADM-06")
def test_kinds_nobody_asks_for_and_kinds_nobody_has(row: Oracle) -> None:
    """A kind nobody asks for never refuses; one that is asked for and absent always does."""
    answers = [
        admit(cores(case["AMC"], case["TC"]), RunningMeans(), Resources(cpu=case["C"])) for case in row.inputs["cases"]
    ]
    assert [answer.budget.reserved["cpu"] for answer in answers] == row.expected["R"]
    assert [answer.admitted for answer in answers] == row.expected["admit"]


@rows("ADM-08")
def test_score_compares_with_the_best_makespan(row: Oracle) -> None:
    """Eq 4; better than the best is above 100."""
    found = [score(makespan, row.inputs["min_makespan"]) for makespan in row.inputs["makespans"]]
    assert found == row.near(row.expected["score"])


@rows("ADM-09")
def test_published_table_has_the_published_statistics(row: Oracle) -> None:
    """It is the one that the simulator's reproduction is compared with."""
    assert [list(line) for line in TABLE] == row.inputs["rows_TC_1_to_4_columns_AMC_1_to_4"]
    cells = [cell for line in TABLE for cell in line]
    assert mean(cells) == row.near(row.expected["mean"])
    assert min(cells) == row.expected["minimum"]
    assert sum(cell > 95 for cell in cells) == row.expected["cells_above_95"]


def play(capacity: int, jobs: int, tasks: int, seconds: float, *, control: bool) -> tuple[float | None, int]:
    """A cluster of one-core drivers and tasks: (makespan or None for deadlock, most drivers at once)."""
    limit = Resources(cpu=capacity)
    waiting = [cores(1, 1, f"job{number}") for number in range(jobs)]
    left: list[int] = []  # tasks each running driver has yet to run
    running, most, now = RunningMeans(), 0, 0.0
    while waiting or left:
        free = capacity - len(left)
        if control:
            admitted = [job for job, verdict in drain(list(waiting), running, limit) if verdict.admitted]
        else:
            admitted = waiting[:free]
        waiting = waiting[len(admitted) :]
        left += [tasks] * len(admitted)
        most, free = max(most, len(left)), free - len(admitted)
        if free == 0:
            return None, most  # every core is held by a driver that waits for a core
        for index in range(len(left)):  # one round of tasks, all of equal length; fair: each driver in turn
            if free and left[index]:
                left[index], free = left[index] - 1, free - 1
        now += seconds
        for _ in range(left.count(0)):
            left.remove(0)
            running.end_driver(Resources(cpu=1), Resources(cpu=1))
    return now, most


@rows("ADM-10")
def test_control_turns_a_deadlock_into_a_schedule(row: Oracle) -> None:
    """Four drivers on four cores leave no core for a task; two drivers finish everything."""
    given_ = row.inputs
    toy = (given_["C"], given_["jobs"], given_["tasks_per_job"], given_["task_s"])
    assert play(*toy, control=False) == (None, 4)
    assert reservation(given_["C"], given_["AMC"], given_["TC"]) == row.expected["R"]
    assert play(*toy, control=True) == (row.expected["makespan_s"], row.expected["concurrent_AMs"])


def test_task_size_falls_back_from_running_to_declared_to_own() -> None:
    """Before any task runs, what running apps declared counts; before any app runs, the candidate's own."""
    candidate = cores(1, 4)
    running = RunningMeans()
    assert running.task_mean("cpu", candidate) == 4
    running.start_driver(Resources(cpu=2), Resources(cpu=3))
    assert running.task_mean("cpu", candidate) == 3
    running.start_task(Resources(cpu=5))
    assert running.task_mean("cpu", candidate) == 5
    running.end_task(Resources(cpu=5))
    assert running.task_mean("cpu", candidate) == 3
    assert running.driver_mean("cpu", candidate) == 2


def test_equal_tasks_may_be_counted_together() -> None:
    """Many at once equal one by one, and none at all leaves no trace."""
    together, single = RunningMeans(), RunningMeans.of(tasks=[Resources(cpu=2)] * 3)
    together.start_task(Resources(cpu=2), 3)
    together.start_task(Resources(gpu=1), 0)
    assert together.kinds() == single.kinds() == {"cpu"}
    assert together.task_mean("cpu", None) == single.task_mean("cpu", None) == 2


def test_means_are_over_those_who_ask_for_the_kind() -> None:
    """Nine drivers without a GPU do not make the tenth's GPU a tenth."""
    plain = (Resources(cpu=1), Resources(cpu=1, gpu=1))
    running = RunningMeans.of([plain] * 9 + [(Resources(cpu=1, gpu=1), Resources(cpu=1, gpu=1))])
    assert running.driver_mean("gpu", None) == 1
    assert budget(Resources(cpu=64, gpu=8), running).reserved["gpu"] == 4


def test_app_does_not_wait_for_a_kind_it_does_not_use() -> None:
    """Losing the GPU node holds up GPU apps, not the others."""
    running = RunningMeans.of([(Resources(cpu=1, gpu=1), Resources(cpu=1, gpu=1))])
    lost = Resources(cpu=64)
    assert admit(cores(1, 1), running, lost).admitted
    wants = WaitingDriver("gpu", Resources(cpu=1), Resources(cpu=1, gpu=1))
    assert admit(wants, running, lost).outcome is DriverOutcome.BEYOND_CAPACITY


def test_node_loss_admits_nobody_and_says_what_is_missing() -> None:
    """Half of the nodes gone: R = 16, raised to 16 · 48/32 = 24, so the budget is 32 − 24 − 32."""
    verdict = admit(cores(1, 1), drivers(32, 1, 1), Resources(cpu=32))
    assert verdict.outcome is DriverOutcome.WAITING
    assert verdict.budget.left["cpu"] == -24
    assert (verdict.shortages[0].kind, verdict.shortages[0].needed, verdict.shortages[0].left) == ("cpu", 1, -24)
    assert "cpu: needs 1, -24 left" in verdict.sentence()


@pytest.mark.parametrize(
    ("maximum", "outcome"),
    [
        pytest.param(None, DriverOutcome.BEYOND_CAPACITY, id="no-maximum-stated"),
        pytest.param(Resources(cpu=8), DriverOutcome.BEYOND_CAPACITY, id="nodes-may-be-added"),
        pytest.param(Resources(cpu=4), DriverOutcome.INFEASIBLE, id="more-than-will-ever-be"),
    ],
)
def test_app_larger_than_the_cluster(maximum: Resources | None, outcome: DriverOutcome) -> None:
    """It is refused for good only against a stated maximum."""
    verdict = admit(cores(3, 2), RunningMeans(), Resources(cpu=4), maximum)
    assert verdict.outcome is outcome
    assert "cpu: needs 5, 4 left" in verdict.sentence()


def test_nobody_overtakes_a_waiting_head() -> None:
    """A driver that would fit stays behind one that does not."""
    running = drivers(14, 1, 1)
    answers = list(drain([cores(4, 1, "big"), cores(1, 1, "small")], running, Resources(cpu=32)))
    assert [(job.name, verdict.outcome) for job, verdict in answers] == [("big", DriverOutcome.WAITING)]


def test_infeasible_head_does_not_hold_up_the_queue() -> None:
    """What no emptier cluster could serve steps aside."""
    answers = list(drain([cores(60, 9, "huge"), cores(1, 1, "next")], RunningMeans(), Resources(cpu=64)))
    assert [verdict.outcome for _, verdict in answers] == [DriverOutcome.BEYOND_CAPACITY, DriverOutcome.ADMITTED]


def test_what_if_leaves_the_original_alone() -> None:
    """A copy takes the charges."""
    running = drivers(1, 1, 1)
    list(drain([cores(1, 1)] * 5, running.copy(), Resources(cpu=64)))
    assert running.charged == Resources(cpu=1)
    assert running.drivers == 1


def test_admitted_app_is_told_why() -> None:
    """A yes has a sentence too."""
    assert admit(cores(1, 1), RunningMeans(), Resources(cpu=4)).sentence().startswith("the driver fits")


def test_memory_is_written_for_people() -> None:
    """Bytes appear as GiB."""
    job = WaitingDriver("app", Resources(memory=6 * GIB), Resources(memory=4 * GIB))
    assert "memory: needs 10 GiB, 8 GiB left" in admit(job, RunningMeans(), Resources(memory=8 * GIB)).sentence()


@pytest.mark.parametrize(
    ("call", "field"),
    [
        pytest.param(lambda: admit(cores(-1, 1), RunningMeans(), NOTHING), "app.driver[cpu]", id="negative-driver"),
        pytest.param(lambda: drivers(1, -1, 1), "running[cpu]", id="negative-running"),
        pytest.param(lambda: score(float("nan"), 1), "makespan", id="nan-makespan"),
        pytest.param(lambda: score(1, 0), "best", id="zero-best"),
        pytest.param(lambda: admit(cores(1, 1), RunningMeans(), Resources(cpu=-1)), "capacity[cpu]", id="negative-c"),
    ],
)
def test_bad_number_names_its_field(call: object, field: str) -> None:
    """A number that cannot be used is an error a person can act on."""
    assert callable(call)
    with pytest.raises(BadNumber) as caught:
        call()
    assert caught.value.field == field


@given(capacity=st.integers(0, 2000), driver=sizes, task=sizes)
def test_every_running_driver_keeps_room_for_one_task(capacity: int, driver: float, task: float) -> None:
    """The homogeneous promise: n drivers and n tasks fit, and n is as large as it can be."""
    running = RunningMeans()
    list(drain([cores(driver, task)] * 300, running, Resources(cpu=capacity / 10)))
    both = driver + task
    assert running.drivers * both <= capacity / 10 + 1e-6
    assert (running.drivers + 1) * both > capacity / 10 - 1e-6 or running.drivers == 300


@given(st.integers(1, 30), sizes, sizes, st.sampled_from([1.0, 1.1e9]))
def test_exact_fit_is_a_fit_in_cores_and_in_bytes(count: int, driver: float, task: float, unit: float) -> None:
    """Rounding of sums never costs a driver, whatever the unit."""
    running = RunningMeans()
    list(drain([cores(driver * unit, task * unit)] * 40, running, Resources(cpu=count * (driver + task) * unit)))
    assert running.drivers == count


@given(driver=vectors, task=vectors, spare=vectors, orphans=st.lists(vectors, max_size=5))
def test_first_feasible_app_always_starts(
    driver: Resources, task: Resources, spare: Resources, orphans: list[Resources]
) -> None:
    """With no driver running, whatever fits the cluster is let in, even beside tasks of lost drivers."""
    running = RunningMeans.of(tasks=orphans)
    assert admit(WaitingDriver("first", driver, task), running, driver + task + spare).admitted


@given(apps=st.lists(st.tuples(vectors, vectors), max_size=8), tasks=st.lists(vectors, max_size=8), data=st.data())
def test_listing_order_of_what_runs_does_not_matter(
    apps: list[tuple[Resources, Resources]], tasks: list[Resources], data: st.DataObject
) -> None:
    """The budget is the same however the pods are listed."""
    capacity = Resources(cpu=100, memory=100)
    one = budget(capacity, RunningMeans.of(apps, tasks))
    other = budget(capacity, RunningMeans.of(data.draw(st.permutations(apps)), data.draw(st.permutations(tasks))))
    for kind in ("cpu", "memory"):
        assert other.reserved[kind] == pytest.approx(one.reserved[kind])
        assert other.left[kind] == pytest.approx(one.left[kind], abs=1e-9)


@given(apps=st.lists(st.tuples(vectors, vectors), max_size=12), tasks=st.lists(vectors, max_size=12))
def test_what_ends_leaves_no_trace(apps: list[tuple[Resources, Resources]], tasks: list[Resources]) -> None:
    """After any number of starts and ends the sums are back where they were, exactly."""
    running = RunningMeans.of(apps, tasks)
    for driver, task in apps:
        running.end_driver(driver, task)
    for task in tasks:
        running.end_task(task)
    assert (running.drivers, running.charged, running.kinds()) == (0, NOTHING, set())


@given(capacity=vectors | st.just(NOTHING), driver=vectors | st.just(NOTHING), task=vectors | st.just(NOTHING))
def test_reservation_stays_within_the_capacity(capacity: Resources, driver: Resources, task: Resources) -> None:
    """Nothing raises on empty input, and R is between 0 and C."""
    for count in (0, 1, 40):
        held = admit(WaitingDriver("a", driver, task), RunningMeans.of([(driver, task)] * count), capacity).budget
        for kind in ("cpu", "memory"):
            assert 0 <= held.reserved[kind] <= capacity[kind]
