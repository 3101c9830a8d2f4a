"""Life in the YARN world: drivers first, stages in order, rounding, locality, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.errors import BadNumber, CyclicGraph, InvalidInput, UnknownName
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import CRASHED, DONE, DRIVER, FAILED, FINISHED, KILLED, LOST, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, Node, parse, uniform
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from support.builders.jobs import job, maps, stage, workload

POLICIES = ["fifo", "capacity", "fair", "drf", "ffd-dp"]


def play(jobs: Workload, nodes: tuple[int, float, float] = (2, 8, 8), policy: str = "fifo", **more: Any) -> Outcome:
    """A run on equal nodes."""
    return run(jobs, uniform(nodes[0], nodes[1], nodes[2] * GIBI), policy, **more)


def of(outcome: Outcome, number: int) -> np.ndarray[Any, Any]:
    """Rows of a stage."""
    return np.flatnonzero(outcome.containers.stage == number)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_finishes_a_mixed_workload(policy: str) -> None:
    """Nothing is lost: each task runs exactly once and each job ends."""
    jobs = workload(*(maps(f"j{n}", 3 + n, 5.0 + n, submit=float(n), gigabytes=1.0 + n % 3) for n in range(12)))
    outcome = play(jobs, (4, 8, 8), policy)
    rows = outcome.containers
    tasks = [
        (j, t) for j, s, t in zip(rows.job.tolist(), rows.stage.tolist(), rows.task.tolist(), strict=True) if s >= 0
    ]
    assert sorted(tasks) == [(n, task) for n in range(12) for task in range(3 + n)]
    assert np.isfinite(outcome.jobs.end).all()


def test_the_driver_comes_first_and_leaves_last() -> None:
    """A job's driver holds its container around all its tasks."""
    outcome = play(workload(maps("j", 4, 5.0)))
    driver, tasks, rows = of(outcome, DRIVER)[0], of(outcome, 0), outcome.containers
    assert rows.allocated[driver] < rows.allocated[tasks].min()
    assert rows.released[driver] > rows.released[tasks].max()
    assert outcome.jobs.driver[0] <= outcome.jobs.start[0]


def test_progress_counts_tasks_as_apps_that_start_together_end_together() -> None:
    """It moves before the first app is over, never goes back, and ends at the whole, also where an app is refused."""
    seen: list[float] = []
    huge = maps("huge", 5, 4.0, gigabytes=99.0)
    outcome = play(workload(*(maps(f"j{n}", 5, 4.0) for n in range(4)), huge), (1, 6, 6), progress=seen.append)
    assert outcome.jobs.status.tolist() == [FINISHED] * 4 + [REFUSED]
    assert seen == sorted(set(seen))
    assert seen[-1] == 1
    assert len(seen) == 25  # a task at a time, each end, and the whole of the app that is refused


def test_tasks_start_and_are_reported_only_at_beats() -> None:
    """An allocation waits for a node's beat, the launch for the master's, the release for the node's next beat."""
    rows = play(workload(maps("j", 6, 4.5)), first_beats=(0.25, 0.75)).containers
    assert set((rows.allocated % 1.0).round(9).tolist()) <= {0.25, 0.75}
    assert set((rows.released % 1.0).round(9).tolist()) <= {0.25, 0.75}
    assert set((rows.start[rows.stage == 0] % 1.0).round(9).tolist()) == {0.0}


def test_idle_beats_are_not_executed() -> None:
    """A day with one task costs a handful of events, not one per beat and node."""
    outcome = play(workload(maps("early", 1, 10.0), maps("late", 1, 10.0, submit=86_000.0)), (100, 8, 8))
    assert outcome.events < 60


def test_requests_are_rounded_up_to_the_grid() -> None:
    """1.2 GB count as 2: four fit where six would."""
    outcome = play(workload(maps("j", 8, 10.0, gigabytes=1.2, driver=None)), (1, 8, 8), world="yarn")
    assert outcome.peak_tasks == 4


@pytest.mark.parametrize(("start_after", "earliest"), [(1.0, 40.0), (0.25, 10.0)], ids=["after all", "slow-start"])
def test_reduces_start_after_their_share_of_maps(start_after: float, earliest: float) -> None:
    """Slow-start lets reduces hold containers early, but they end after the last map."""
    jobs = workload(
        job(
            "j",
            stage("map", 4, 10.0),
            stage("reduce", 1, 5.0, parents=("map",), start_after=start_after, shuffle=2.0),
            driver=(0.0, 0.0),
        )
    )
    rows = run(jobs, uniform(1, 3 if start_after < 1 else 1, 8 * GIBI), "drf", world="ideal").containers
    reduce, last_map = rows.stage == 1, rows.end[rows.stage == 0].max()
    assert rows.start[reduce][0] == earliest
    assert rows.end[reduce][0] >= last_map + 5.0


def test_a_shuffling_reduce_ends_when_its_output_is_fetched_and_processed() -> None:
    """End = max(start + shuffle, last map's end) + duration."""
    jobs = workload(
        job(
            "j",
            Stage("map", (1.0, 0.0), np.array([4.0, 20.0])),
            Stage("reduce", (1.0, 0.0), np.array([5.0, 5.0]), parents=("map",), start_after=0.5, shuffle=3.0),
            driver=None,
        )
    )
    rows = run(jobs, uniform(1, 2, GIBI), "drf", world="ideal").containers
    assert sorted(rows.end[rows.stage == 1].tolist()) == [25.0, 28.0]


def test_reduces_that_lock_up_the_cluster_give_way_to_their_own_maps() -> None:
    """Both cores are held by reduces that wait for a map without a core: one of them is killed and runs later."""
    slow = Stage("map", (1.0, 0.0), np.array([1.0, 1.0, 1.0, 1.0]))
    eager = Stage("reduce", (1.0, 0.0), np.full(2, 5.0), parents=("map",), start_after=0.5)
    jobs = workload(job("j", slow, eager, driver=None))
    outcome = run(jobs, uniform(1, 2, GIBI), "ffd-dp", world="ideal", outages=(("node0", 1.5, 1.6),))
    assert not outcome.deadlock
    assert np.isfinite(outcome.jobs.end).all()


def test_iterations_run_one_after_another() -> None:
    """A chain of stages, as an iterative job has it, keeps its order."""
    chain = [stage(f"s{n}", 3, 2.0, parents=(f"s{n - 1}",) if n else (), iteration=n + 1) for n in range(4)]
    rows = play(workload(job("j", *chain))).containers
    for n in range(1, 4):
        assert rows.start[rows.stage == n].min() > rows.end[rows.stage == n - 1].max()


def test_a_circle_of_stages_is_refused() -> None:
    """Nobody could ever start."""
    circle = job("j", stage("a", 1, 1.0, parents=("b",)), stage("b", 1, 1.0, parents=("a",)))
    with pytest.raises(CyclicGraph, match="circle"):
        play(workload(circle))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"policy": "nonsense"}, UnknownName),
        ({"policy": "easy", "world": "yarn"}, InvalidInput),
        ({"world": "moon"}, UnknownName),
        ({"outages": (("nowhere", 1.0, 2.0),)}, UnknownName),
        ({"outages": (("node0", 2.0, 1.0),)}, BadNumber),
        ({"outages": (("node0", -1.0, 2.0),)}, BadNumber),
        ({"outages": (("node0", float("nan"), 2.0),)}, BadNumber),
        ({"outages": (("node0", 5.0, 6.0), ("node0", 1.0, 9.0))}, BadNumber),
        ({"first_beats": (0.1,)}, InvalidInput),
        ({"first_beats": (0.1, "x")}, BadNumber),
        ({"node_heartbeat": 0.0}, InvalidInput),
        ({"response_lag": -3}, BadNumber),
        ({"farewell_lag": 0.5}, BadNumber),
        ({"rack_delay": -2}, BadNumber),
        ({"system_cpu": float("inf")}, BadNumber),
        ({"system_memory": -1.0}, BadNumber),
        ({"policy": "capacity", "queues": {"a": {"capacity": 40.0}}}, InvalidInput),
        ({"policy": "capacity", "queues": {"a": {"capacity": 100.0}}}, UnknownName),
        ({"policy": "fair", "ordering": "size"}, UnknownName),
    ],
    ids=lambda value: next(iter(value.values())) if isinstance(value, dict) else None,
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], error: type[InvalidInput]) -> None:
    """The error says which field and what to write instead."""
    with pytest.raises(error):
        play(workload(maps("j", 1, 1.0)), **options)


def test_a_job_that_no_node_can_hold_is_refused() -> None:
    """It would wait for ever; the others go on."""
    outcome = play(workload(maps("huge", 1, 1.0, gigabytes=9.0), maps("small", 1, 1.0)))
    assert outcome.jobs.status.tolist() == [REFUSED, DONE]
    assert not outcome.deadlock


def racks() -> Cluster:
    """Four nodes in two racks."""
    return Cluster("racks", tuple(Node(f"n{n}", (2.0, 2 * GIBI), f"r{n // 2}") for n in range(4)))


@pytest.mark.parametrize("policy", ["fifo", "capacity", "fair"])
def test_tasks_go_where_their_data_is(policy: str) -> None:
    """A request waits some beats for the nodes it names."""
    hosts = (("n3",), ("n3",), ("n2",), ("n2",))
    data = Stage("map", (1.0, GIBI), np.full(4, 5.0), hosts=hosts)
    rows = run(workload(job("j", data, driver=None)), racks(), policy, world="yarn", rack_delay=20).containers
    tasks = rows.stage == 0
    assert {(t, n) for t, n in zip(rows.task[tasks].tolist(), rows.node[tasks].tolist(), strict=True)} == {
        (0, 3),
        (1, 3),
        (2, 2),
        (3, 2),
    }


def test_locality_is_given_up_after_its_delay() -> None:
    """The named node is full: after enough missed chances any node will do."""
    blocker = maps("blocker", 2, 300.0, driver=None)
    data = Stage("map", (1.0, GIBI), np.full(1, 5.0), hosts=(("n0",),))
    jobs = workload(blocker, job("j", data, submit=5.0, driver=None))
    outcome = run(jobs, racks(), "fifo", world="yarn", first_beats=(0.0, 0.1, 0.2, 0.3))
    assert outcome.containers.node[outcome.containers.job == 0].tolist() == [0, 0]
    assert 5.0 < outcome.jobs.start[1] < 20.0


def test_a_failed_node_takes_its_tasks_along_and_returns_empty() -> None:
    """Lost tasks run again elsewhere; the job still ends."""
    outcome = play(workload(maps("j", 8, 20.0)), outages=(("node1", 10.0, 60.0),), first_beats=(0.0, 0.5))
    rows = outcome.containers
    assert (rows.status == LOST).sum() > 0
    assert (rows.status == DONE).sum() == 9
    assert not ((rows.node == 1) & (rows.start > 10.0) & (rows.start < 60.0)).any()
    assert np.isfinite(outcome.jobs.end).all()


def test_outages_may_follow_one_another_in_any_order_of_listing() -> None:
    """The node is away until the second of them is over."""
    outages = (("node1", 40.0, 60.0), ("node1", 10.0, 40.0))
    rows = play(workload(maps("j", 40, 20.0)), outages=outages, first_beats=(0.0, 0.5)).containers
    assert not ((rows.node == 1) & (rows.start > 10.0) & (rows.start < 60.0)).any()


@pytest.mark.parametrize("policy", ["fair", "capacity"])
def test_a_lost_driver_is_charged_once(policy: str) -> None:
    """However often drivers are lost, the share of drivers is as it was: the last job starts when it is submitted."""
    outages = tuple((name, 20.0 * n, 20.0 * n + 3.0) for n in range(1, 9) for name in ("node0", "node1"))
    jobs = workload(maps("first", 4, 60.0), maps("last", 4, 60.0, submit=500.0))
    outcome = play(jobs, (2, 4, 4), policy, outages=outages)
    assert (outcome.containers.status == LOST).sum() >= 8
    assert outcome.jobs.start[1] < 510.0


def test_what_a_stuck_run_holds_is_told_by_the_nodes_of_the_cluster() -> None:
    """Whichever node beats first: the drivers are on the only node that is large enough."""
    jobs = workload(*(job(f"j{n}", stage("map", 1, 1.0, (8.0, 8 * GIBI)), driver=(8.0, 8 * GIBI)) for n in range(2)))
    for seed in range(4):
        held = run(jobs, parse("3x1c1Gi+1x16c16Gi"), "fifo?cores=true", seed=seed).held
        assert held is not None
        assert held.node.tolist() == [3, 3]


@pytest.mark.parametrize("taken", [{"system_cpu": 8.0}, {"system_memory": 9 * GIBI}])
def test_a_system_that_leaves_nothing_of_a_node_is_refused(taken: dict[str, Any]) -> None:
    """Its tasks would never end."""
    with pytest.raises(BadNumber, match="less than the smallest node has"):
        play(workload(job("j", greedy(1, 1.0))), **taken)


def test_a_lost_driver_starts_over_with_what_is_not_done() -> None:
    """A new driver is placed, running tasks are killed, finished ones are not repeated."""
    durations = np.array([5.0, 5.0, 30.0, 30.0])
    jobs = workload(job("j", Stage("map", (1.0, GIBI), durations)))
    outcome = play(jobs, outages=(("node0", 15.0, 300.0),), first_beats=(0.0, 0.5))
    rows = outcome.containers
    assert rows.status[(rows.stage == DRIVER)].tolist() == [LOST, DONE]
    done = rows.task[(rows.stage == 0) & (rows.status == DONE)]
    assert sorted(done.tolist()) == [0, 1, 2, 3]
    assert outcome.jobs.end[0] > 45.0


def greedy(count: int, level: float, curve: tuple[float, float] = (1.0, 1.0)) -> Stage:
    """Tasks that use more or less memory than they asked for."""
    use = Usage(np.ones(count), np.full(count, level), memory_shape=curve)
    return Stage("map", (1.0, 2 * GIBI), np.full(count, 20.0), usage=use)


def test_memory_that_runs_out_breaks_tasks_and_they_are_retried() -> None:
    """Two tasks hold 3 GB each; the third grows past the 8 GB of the node and breaks until the others are gone."""
    steady, growing = (
        job("steady", greedy(2, 1.5), driver=None),
        job("growing", greedy(1, 1.5, (0.1, 1.0)), driver=None),
    )
    outcome = play(workload(steady, growing), (1, 8, 8), world="ideal", attempts=0)
    rows = outcome.containers
    broken = rows.status == CRASHED
    assert set(rows.job[broken].tolist()) == {1}
    assert (rows.status == DONE).sum() == 3
    assert outcome.jobs.end[0] == 20.0
    assert outcome.used[1] > 0


def test_a_driver_and_its_task_may_break_in_the_same_look() -> None:
    """Where all of a full node break, a driver takes its tasks along: they are gone before their own turn (D13)."""
    jobs = workload(job("driven", greedy(1, 1.5), driver=(1.0, GIBI)), job("hungry", greedy(1, 3.0), driver=None))
    outcome = play(jobs, (1, 8, 8), world="ideal", victims="all")
    assert outcome.jobs.status.tolist() == [DONE, FAILED]
    rows = outcome.containers
    assert (rows.status[(rows.stage == DRIVER)] == CRASHED).sum() == 4


def test_a_task_that_breaks_too_often_fails_its_job() -> None:
    """Four attempts, as MapReduce has it, and everything the job holds is killed."""
    outcome = play(workload(job("j", greedy(1, 5.0), driver=None)), (1, 8, 8), world="ideal")
    assert outcome.jobs.status.tolist() == [FAILED]
    assert (outcome.containers.status == CRASHED).sum() == 4
    assert KILLED not in outcome.containers.status.tolist()


def test_shared_cores_slow_everybody_down_and_lose_no_work() -> None:
    """Eight tasks of 10 s that want 8 cores on 4 need 20 s."""
    use = Usage(np.ones(8), np.full(8, 0.1))
    tasks = Stage("map", (1.0, GIBI), np.full(8, 10.0), usage=use)
    outcome = play(workload(job("j", tasks, driver=None)), (1, 4, 8), "fifo", world="ideal")
    assert outcome.jobs.end[0] == pytest.approx(20.0, abs=1e-6)
    assert outcome.used[0] == pytest.approx(1.0, abs=0.06)


def test_a_slowed_task_speeds_up_when_it_is_alone_again() -> None:
    """Work conserved: 10 s shared by two, then the rest alone."""
    use = Usage(np.ones(2), np.full(2, 0.1))
    tasks = Stage("map", (1.0, GIBI), np.array([5.0, 15.0]), usage=use)
    outcome = play(workload(job("j", tasks, driver=None)), (1, 1, 8), "fifo", world="ideal")
    assert sorted(outcome.containers.end.tolist()) == pytest.approx([10.0, 20.0], abs=1.01)


def test_use_of_cpu_shakes_by_the_second_where_the_workload_says_so() -> None:
    """A factor of mean 1, drawn each second from the seed: four cores' worth on the average, never the same twice."""
    use = Usage(np.ones(4), np.full(4, 0.1), noise=0.35)
    jobs = workload(job("j", Stage("map", (1.0, GIBI), np.full(4, 600.0), usage=use), driver=None))
    first, again = (play(jobs, (1, 16, 8), world="ideal", seed=seed).series["used_cpu"].value for seed in (1, 1))
    assert first.tolist() == again.tolist()
    assert first[:-1].mean() == pytest.approx(4.0, rel=0.05)
    assert first[:-1].std() == pytest.approx(4**0.5 * 0.36, rel=0.2)


@pytest.mark.parametrize("driver", [None, (1.0, GIBI)], ids=["without driver", "at the master's tick"])
def test_a_stage_with_a_request_delay_asks_that_much_later(driver: tuple[float, float] | None) -> None:
    """The delay counts from the moment the stage could have asked: its parent's end, as the master sees it."""

    def start(delay: float) -> float:
        stages = stage("map", 1, 10.0), stage("after", 1, 5.0, parents=("map",), delay=delay)
        outcome = play(workload(job("j", *stages, driver=driver)))
        return float(outcome.containers.start[of(outcome, 1)][0])

    assert start(7.0) == pytest.approx(start(0.0) + 7.0)
    assert start(0.5) == pytest.approx(start(0.0) + (0.5 if driver is None else 1.0), abs=1.0)


def test_a_node_that_fails_after_the_driver_s_goodbye_ends_the_job_all_the_same() -> None:
    """All tasks were done at 6 s; the driver's container was lost before its node told of its end."""
    jobs = workload(maps("j", 1, 4.0, driver=(1.0, GIBI)))
    before = play(jobs, (1, 8, 8), first_beats=(0.9,))
    fails = float(before.jobs.end[0]) + 0.5
    outcome = play(jobs, (1, 8, 8), first_beats=(0.9,), outages=(("node0", fails, fails + 20.0),))
    assert outcome.containers.status.tolist() == [DONE, LOST]
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([FINISHED], False)
    assert outcome.jobs.end[0] == before.jobs.end[0]


@pytest.mark.parametrize("world", ["yarn", "ideal", "kubernetes"])
def test_a_driver_that_breaks_wherever_it_runs_fails_its_job(world: str) -> None:
    """It asks for 4 GB and uses twice what a node has; it was started anew without end."""
    usage = Usage(np.ones(1), np.full(1, 4.0))
    hungry = Job("j", 0.0, (stage("map", 1, 5.0),), Driver((1.0, 4 * GIBI), usage=usage))
    outcome = play(workload(hungry), (1, 8, 8), "kube" if world == "kubernetes" else "fifo", world=world)
    assert outcome.jobs.status.tolist() == [FAILED]
    assert outcome.containers.status[of(outcome, DRIVER)].tolist() == [CRASHED] * 5


@pytest.mark.parametrize("policy", POLICIES)
def test_whoever_hopes_for_a_better_node_does_not_hope_for_ever(policy: str) -> None:
    """Without heartbeats nothing happens by itself: where no task runs, those that name hosts take any node."""
    wide = Stage("map", (4.0, GIBI), np.full(3, 5.0), hosts=(("node1",),) * 3)
    outcome = play(workload(job("j", wide, driver=None)), (2, 4, 8), policy, world="ideal")
    assert outcome.jobs.status.tolist() == [FINISHED]
    assert outcome.containers.node[0] == 1


@pytest.mark.parametrize("world", ["yarn", "ideal", "kubernetes"])
def test_a_node_is_whole_again_after_fractions_of_it(world: str) -> None:
    """A third and other parts of its bytes came and went; the sum is a hair off, and the whole of it still fits."""
    size = 8 * GIBI
    parts = [Stage(f"s{n}", (0.1, size / n), np.full(n, 1.0)) for n in (3, 7, 9, 11, 13)]
    whole = Stage("whole", (1.0, size), np.full(1, 1.0), tuple(part.name for part in parts))
    exact = {"memory_step": 0, "min_memory": 0}
    for policy in {"kubernetes": ["kube", "slackwater", "oracle"], "yarn": ["fifo", "slackwater"]}.get(world, POLICIES):
        outcome = play(
            workload(job("j", *parts, whole, driver=(0.1, size / 17))), (2, 8, 8), policy, world=world, **exact
        )
        assert outcome.jobs.status.tolist() == [FINISHED], policy
