"""Slackwater whole in the YARN world: alive whatever comes, inside its ceilings, and the same every time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from slackwater.cycle.cycle import decide
from slackwater.errors import InvalidInput, UnknownName
from slackwater_simulator.policies.registry import create
from slackwater_simulator.policies.slackwater.snapshot import QUEUE
from slackwater_simulator.policies.slackwater.yarn import SlackwaterOnYarn
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DONE, FINISHED, KILLED, LOST
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from slackwater_simulator.worlds.yarn.settings import Settings
from slackwater_simulator.worlds.yarn.usage import STANDSTILL
from slackwater_simulator.worlds.yarn.world import YarnWorld

IDLE = Usage(cpu=np.full(400, 0.25), memory=np.full(400, 0.25))


def job(name: str, tasks: int, seconds: float = 30.0, at: float = 0.0, usage: Usage | None = None) -> Job:
    """A driver of one core that asks for equal tasks of one core."""
    stage = Stage("map", (1.0, GIBI), np.full(tasks, seconds), usage=usage)
    return Job(name, at, (stage,), Driver((1.0, GIBI), startup=3.0))


def play(jobs: list[Job], cluster: str = "4x4c8Gi", world: str = "yarn", **options: Any) -> Outcome:
    """One run under Slackwater."""
    return run(Workload("apps", tuple(jobs)), parse(cluster), "slackwater", world=world, **options)


def mixed(seed: int) -> list[Job]:
    """Random jobs: some with reduces, some that use more CPU than they asked for."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(24):
        maps, reduces = int(rng.integers(1, 30)), int(rng.integers(0, 4))
        usage = Usage(cpu=rng.uniform(0.05, 2.0, 40), memory=rng.uniform(0.05, 1.0, 40))
        cores, memory = float(rng.choice([0.5, 1.0, 2.0])), float(rng.choice([0.5, 1.0, 3.0])) * GIBI
        stages = [Stage("map", (cores, memory), rng.uniform(2.0, 60.0, maps), usage=usage)]
        if reduces:
            stages.append(Stage("reduce", (1.0, GIBI), rng.uniform(2.0, 60.0, reduces), parents=("map",), usage=usage))
        submit = float(rng.uniform(0.0, 120.0))
        jobs.append(Job(f"job{number}", submit, tuple(stages), Driver((1.0, GIBI), startup=3.0)))
    return jobs


def large(name: str, at: float, shape: tuple[float, float], *seconds: float, driver: bool = True) -> Job:
    """Tasks of so many cores and GiB, of which they use a half; they take most of a node."""
    half = Usage(cpu=np.array([0.5]), memory=np.array([0.5]))
    stage = Stage("map", (shape[0], shape[1] * GIBI), np.array(seconds), usage=half)
    return Job(name, at, (stage,), Driver((1.0, 2 * GIBI)) if driver else None)


def test_a_driver_is_kept_off_the_node_that_tasks_need() -> None:
    """A driver on each of two nodes would leave no whole one for tasks of either; the round says which to avoid."""
    jobs = [
        large("early", 3.2, (4.0, 2.0), 32.3),
        large("second", 4.2, (4.0, 29.0), 48.1, 48.1),
        large("third", 11.7, (2.0, 32.0), 32.7),
        large("plain", 15.1, (1.0, 27.0), 31.7, driver=False),
    ]
    assert not play(jobs, "2x4c32Gi").deadlock


def test_what_ended_leaves_the_estimates_though_nobody_runs() -> None:
    """The last tasks ended and only large ones wait: looking goes on until the nodes are seen to be empty."""
    whole = Stage("map", (3.0, 31 * GIBI), np.full(3, 33.9))
    jobs = [large("first", 11.7, (2.0, 31.0), 31.9), Job("second", 18.9, (whole,))]
    outcome = play(jobs, "2x4c32Gi")
    assert not outcome.deadlock
    assert (outcome.jobs.status == FINISHED).all()


def test_forty_drivers_on_sixteen_cores_all_finish() -> None:
    """Admission keeps room for tasks beside every driver."""
    outcome = play([job(f"app{number:02}", 4) for number in range(40)])
    assert not outcome.deadlock
    assert (outcome.jobs.status == FINISHED).all()


def test_without_admission_and_pools_the_same_drivers_deadlock() -> None:
    """What the parts are worth."""
    jobs = [job(f"app{number:02}", 4) for number in range(40)]
    assert play(jobs, admission=False, pools=False, allowance=1.0).deadlock


def test_measured_slack_is_used_up_to_the_ceiling() -> None:
    """Tasks that use a quarter of their request: more run at once than cores are there, never more than twice."""
    outcome = play([job("app", 200, seconds=120.0, usage=IDLE)])
    assert 16 < outcome.peak_tasks <= 32
    assert (outcome.containers.status == DONE).all()


@pytest.mark.parametrize("pools", [False, True], ids=["alone", "with pools"])
def test_without_overcommit_requests_stay_inside_the_nodes(pools: bool) -> None:
    """Sixteen cores, sixteen containers, the driver among them; a pool keeps nothing back while nobody waits for it."""
    outcome = play([job("app", 64, usage=IDLE)], overcommit=False, allowance=1.0, pools=pools)
    assert outcome.peak_tasks + outcome.peak_drivers == 16


def test_a_small_job_does_not_wait_for_all_of_a_large_one() -> None:
    """The large job wants every slot for eight minutes; the small ones are through in a few of its tasks' time."""
    small = [job(f"small{number}", 1, 10.0, at=100.0) for number in range(4)]
    outcome = play([job("large", 600, 30.0), *small], "10x4c8Gi")
    waits = (outcome.jobs.end - outcome.jobs.submit)[1:]
    assert waits.max() < 100.0 < outcome.jobs.end[0] - 300.0


def test_small_jobs_keep_their_pool_where_ceilings_bind() -> None:
    """Tasks that use next to nothing: room is plenty, but twice the cores is all; the owner keeps a share."""
    lazy = Usage(cpu=np.full(900, 0.02), memory=np.full(900, 0.02))
    small = [job(f"small{number}", 1, 10.0, at=200.0 + 30.0 * number, usage=lazy) for number in range(8)]
    outcome = play([job("large", 800, 120.0, usage=lazy), *small], "10x4c8Gi", delta_minimum=0.05)
    assert (outcome.jobs.start - outcome.jobs.submit)[1:].mean() < 40.0
    assert outcome.jobs.end[0] > 1000.0


@pytest.mark.parametrize(("order", "first"), [(True, 1), (False, 0)], ids=["by preference", "first come"])
def test_without_order_tasks_go_first_come_first_served(order: bool, first: int) -> None:
    """When the first wave ends, HaSTE takes the larger tasks of the second job, FIFO those of the first."""
    wide = Job("wide", 0.5, (Stage("map", (2.0, 2 * GIBI), np.full(40, 60.0)),), Driver((1.0, GIBI), startup=3.0))
    outcome = play([job("thin", 80, 60.0), wide], "2x8c16Gi", order=order, pools=False, overcommit=False, allowance=1.0)
    rows = outcome.containers
    tasks = (rows.stage == 0) & (rows.allocated > 30.0) & (rows.allocated < 100.0)
    assert np.bincount(rows.job[tasks], minlength=2).argmax() == first


@pytest.mark.parametrize("world", ["yarn", "kubernetes"])
@pytest.mark.parametrize("seed", range(3))
def test_nobody_starves_though_nodes_fail_and_return(world: str, seed: int) -> None:
    """Random jobs on nodes of which two fail: everything ends, nothing deadlocks."""
    outages = (("node1", 40.0, 200.0), ("node3", 90.0, 150.0))
    outcome = play(mixed(seed), "5x4c8Gi", world, seed=seed, outages=outages, attempts=0)
    assert not outcome.deadlock
    assert (outcome.jobs.status == FINISHED).all()


def test_a_standstill_of_early_reduces_is_noticed_and_broken() -> None:
    """A node dies for good with four maps on it; reduces wait for these on all that is left.

    Samples go on stirring the gate, yet after ten minutes of nothing else four reduces give way; then use is looked at
    again, so that the estimates fall and the maps find room.
    """
    use = Usage(cpu=np.full(9, 0.5), memory=np.full(9, 0.5))
    maps = Stage("map", (1.0, GIBI), np.array([5.0] * 3 + [60.0] * 4), usage=use)
    reduces = Stage("reduce", (1.0, GIBI), np.full(7, 20.0), ("map",), start_after=0.0, reduce=True, usage=use)
    jobs = [Job("j", 0.0, (maps, reduces), Driver((1.0, GIBI), startup=3.0))]
    lost = ("node1", 30.0, float("inf"))
    outcome = play(jobs, "3x4c8Gi", outages=(lost,), overcommit=False, allowance=1.0, pools=False)
    assert not outcome.deadlock
    assert (outcome.containers.status == KILLED).sum() == 4
    assert STANDSTILL < outcome.jobs.end[0] < STANDSTILL + 200.0


def test_the_same_seed_gives_the_same_run() -> None:
    """Byte for byte."""
    first, second = (play(mixed(7)[:12], seed=3) for _ in range(2))
    assert first.containers.start.tobytes() == second.containers.start.tobytes()
    assert first.containers.node.tobytes() == second.containers.node.tobytes()


@pytest.mark.parametrize("world", ["yarn", "kubernetes"])
def test_reasons_are_kept_and_change_nothing(world: str) -> None:
    """Why jobs waited, by the names of jobs; the run is the same byte for byte."""
    jobs = [job(f"app{number:02}", 4, usage=IDLE) for number in range(16)]
    plain, told = (play(jobs, world=world, reasons=reasons) for reasons in (False, True))
    assert plain.containers.start.tobytes() == told.containers.start.tobytes()
    assert plain.containers.node.tobytes() == told.containers.node.tobytes()
    assert plain.decisions == told.decisions
    assert plain.holds == ()
    assert "behind-another-app" in {hold.reason for hold in told.holds}
    behind = next(hold for hold in told.holds if hold.reason == "behind-another-app")
    assert behind.sentence.startswith("waits behind app")
    assert [hold.time for hold in told.holds] == sorted(hold.time for hold in told.holds)


def test_nobody_is_said_to_wait_behind_an_app_that_has_begun() -> None:
    """The gate is asked again as soon as an app passes it, so each reason holds while it is the last one."""
    jobs = [job(f"app{number:02}", 4, usage=IDLE) for number in range(16)]
    outcome = play(jobs, world="kubernetes", reasons=True)
    begun = {each.id: at for each, at in zip(jobs, outcome.jobs.driver.tolist(), strict=True)}
    behind = [(at, hold) for at, hold in enumerate(outcome.holds) if hold.reason == "behind-another-app"]
    for at, hold in behind:
        later = [each.time for each in outcome.holds[at + 1 :] if each.job == hold.job]  # at the same time, too
        until = min([*later, begun[jobs[hold.job].id]])
        assert until <= begun[hold.sentence.split(",")[0].rpartition(" ")[2]], hold
    assert behind


def test_a_part_that_does_not_exist_is_refused() -> None:
    """With the names of those that do."""
    with pytest.raises(UnknownName, match="overcommit"):
        play([job("app", 1)], overcomit=False)


@pytest.mark.parametrize("world", ["yarn", "kubernetes"])
@pytest.mark.parametrize("later", [{"parents": ("a",)}, {"delay": 7.0}, {"parents": ("a",), "start_after": 0.05}])
def test_a_gang_whose_stages_follow_one_another_ends(later: dict[str, Any], world: str) -> None:
    """All tasks of a stage or none: what is done of an earlier stage is not waited for."""
    stages = (Stage("a", (1.0, GIBI), np.full(4, 5.0)), Stage("b", (1.0, GIBI), np.full(2, 5.0), **later))
    for driver in (None, Driver((1.0, GIBI), startup=1.0)):
        outcome = play([Job("gang", 0.0, stages, driver, gang=True)], world=world)
        assert outcome.jobs.status.tolist() == [FINISHED]


def test_a_task_of_a_gang_that_is_repeated_does_not_wait_for_those_that_are_done() -> None:
    """The node of the last one fails when the others have ended."""
    tasks = Stage("a", (4.0, GIBI), np.array([5.0, 5.0, 5.0, 60.0]))
    played = play([Job("gang", 0.0, (tasks,), gang=True)], world="kubernetes")
    last = int(played.containers.node[np.argmax(played.containers.end)])
    again = play([Job("gang", 0.0, (tasks,), gang=True)], world="kubernetes", outages=((f"node{last}", 20.0, 30.0),))
    assert (again.containers.status == LOST).sum() == 1
    assert again.jobs.status.tolist() == [FINISHED]


class Watched(SlackwaterOnYarn):
    """Slackwater that writes down HaSTE-A's factor: the gate's, and that of a round over the same snapshot."""

    seen: ClassVar[list[tuple[float, float]]] = []

    def round(self) -> None:
        """As ever."""
        expected = decide(self.gate.snapshot(self.world.engine.now)).alphas[QUEUE]
        super().round()
        self.seen.append((self.gate.alpha, expected))


def test_containers_compete_by_the_factor_that_the_round_chose() -> None:
    """An iterative app counts with the round that starts it, on nodes as in the line."""
    ordinary = job("ordinary", 4)
    rounds = tuple(Stage(f"r{n}", (1.0, GIBI), np.full(2, 9.0), iteration=n) for n in (1, 2))
    iterative = Job("iterative", 5.0, rounds, Driver((1.0, GIBI), startup=3.0), iterations=2)
    Watched.seen.clear()
    run(Workload("apps", (ordinary, iterative)), parse("4x4c8Gi"), f"{__name__}:Watched", world="yarn")
    assert {gate for gate, _ in Watched.seen} >= {0.0, 0.5}
    assert all(gate == expected for gate, expected in Watched.seen)


def test_the_depth_of_a_graph_costs_nothing() -> None:
    """Forty levels of two stages that both need the two before them: 2^40 ways, played in a moment."""
    stages = tuple(
        Stage(f"{level}{twin}", (1.0, GIBI), np.ones(1), (f"{level - 1}a", f"{level - 1}b") if level else ())
        for level in range(40)
        for twin in "ab"
    )
    outcome = play([Job("deep", 0.0, stages, Driver((1.0, GIBI)))])
    assert outcome.jobs.status.tolist() == [FINISHED]


def test_an_app_is_as_large_as_its_widest_stage() -> None:
    """By the operator's rule: nine joins of eight slots count 72, and the driver by its own size."""
    stages = (
        Stage("load", (1.0, 4 * GIBI), np.full(2, 10.0)),
        Stage("join", (8.0, 32 * GIBI), np.full(9, 30.0), ("load",)),
    )
    jobs = Workload("w", (Job("j", 0.0, stages, Driver((2.0, 4 * GIBI))),))
    policy = create("slackwater", "yarn", {})
    world = YarnWorld(jobs, parse("10x10c40Gi"), policy, 0, Settings())
    world.masters.begin()
    world.engine.run(until=5.0)
    assert [app.demand for app in policy.gate.views.all()] == [72.0 + 2.0]


@pytest.mark.parametrize("horizon", [0, -5.0])
def test_a_promise_must_hold_for_some_time(horizon: float) -> None:
    """The option is named before anything is played."""
    with pytest.raises(InvalidInput, match=r"risk_horizon: .* above 0"):
        play([job("a", 2)], risk=0.01, risk_horizon=horizon)


def test_a_risk_may_be_a_percentage() -> None:
    """As `slackwater risk` and a SlackPolicy read it."""
    stated, share = (play([job("a", 2)], risk=risk) for risk in ("1%", 0.01))
    assert stated.jobs.end.tolist() == share.jobs.end.tolist()
    with pytest.raises(InvalidInput, match="often"):
        SlackwaterOnYarn(risk="often")
