"""The Kubernetes world: the stock scheduler deadlocks on drivers, Slackwater does not; nobody is placed twice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from slackwater.cycle.audit.idle import Cause
from slackwater_simulator.policies.kubescheduler import backoff
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DONE, DRIVER, LOST
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators.catalogue import generate
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from slackwater_simulator.worlds.kubernetes.corehours import CoreHours
from slackwater_simulator.worlds.kubernetes.settings import Pace
from support.builders.jobs import maps
from support.builders.jobs import workload as of


def apps(count: int, tasks: int = 4, seconds: float = 30.0, usage: Usage | None = None) -> Workload:
    """So many Spark-like apps at once: a driver of one core that asks for tasks of one core."""
    stage = Stage("map", (1.0, GIBI), np.full(tasks, seconds), usage=usage)
    driver = Driver((1.0, GIBI), startup=3.0)
    return Workload("apps", tuple(Job(f"app{number:02}", 0.0, (stage,), driver) for number in range(count)))


def play(workload: Workload, policy: str, cluster: str = "4x4c8Gi", **options: Any) -> Outcome:
    """One run in the Kubernetes world."""
    return run(workload, parse(cluster), policy, world="kubernetes", **options)


@cache
def quarter(policy: str) -> Outcome:
    """Four apps whose tasks use a quarter of what they ask for."""
    idle = Usage(cpu=np.full(64, 0.25), memory=np.full(64, 0.25))
    return play(apps(4, tasks=64, seconds=120.0, usage=idle), policy)


@cache
def standstill() -> Outcome:
    """Drivers of forty apps hold every core of a node."""
    return play(generate("gen:hour?case=nine&apps=40", seed=1), "kube", "1x16c64Gi")


@pytest.mark.parametrize("policy", ["kube", "kube-most"])
def test_the_stock_scheduler_fills_a_small_cluster_with_drivers(policy: str) -> None:
    """40 drivers on 16 cores: 16 of them run, no task ever does."""
    outcome = play(apps(40), policy)
    assert outcome.deadlock
    assert (outcome.peak_drivers, outcome.peak_tasks) == (16, 0)


def test_slackwater_finishes_them_all() -> None:
    """Admission keeps room for tasks beside every driver."""
    outcome = play(apps(40), "slackwater")
    assert not outcome.deadlock
    assert (outcome.jobs.end > 0).all()


def test_without_admission_drivers_deadlock_again() -> None:
    """What the part is worth: without 002 and 004 the gate lets every driver in that finds room."""
    assert play(apps(40), "slackwater", admission=False, pools=False, allowance=1.0).deadlock


def test_measured_slack_takes_more_pods_than_requests_allow() -> None:
    """Tasks that use a quarter of their request: more run at once than cores are reserved, and all ends sooner."""
    plain, ours = quarter("kube"), quarter("slackwater")
    assert plain.peak_tasks + plain.peak_drivers <= 16 < ours.peak_tasks
    assert ours.jobs.end.max() < plain.jobs.end.max()
    assert (ours.containers.status == DONE).all()


def test_stays_inside_the_ceiling() -> None:
    """Never more than twice the cores by declared requests."""
    idle = Usage(cpu=np.full(400, 0.01), memory=np.full(400, 0.01))
    outcome = play(apps(1, tasks=400, seconds=200.0, usage=idle), "slackwater")
    assert outcome.peak_tasks <= 2 * 16


@pytest.mark.parametrize("policy", ["kube", "slackwater"])
def test_the_same_seed_gives_the_same_run(policy: str) -> None:
    """Byte for byte."""
    first, second = (play(apps(3), policy, seed=3) for _ in range(2))
    assert first.containers.start.tobytes() == second.containers.start.tobytes()
    assert first.containers.node.tobytes() == second.containers.node.tobytes()


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1.0), (3, 4.0), (5, 10.0), (5000, 10.0)])
def test_backoff_doubles_up_to_its_limit_however_often_a_pod_is_refused(attempts: int, seconds: float) -> None:
    """kube-scheduler's 1 s to 10 s; a pod on a busy cluster may be refused thousands of times."""
    assert backoff(Pace(backoff=1.0, longest_backoff=10.0), attempts) == seconds


def alone(name: str, submit: float, *seconds: float) -> Job:
    """A job without a driver: pods of one core."""
    return Job(name, submit, (Stage("map", (1.0, GIBI), np.array(seconds)),))


PROMPT: dict[str, Any] = {"bind": 0.0, "startup": 0.0, "cycle": 0.001}


def test_a_loop_with_nothing_else_to_do_does_not_wait_for_a_backoff() -> None:
    """KEP-5142: refused at 10 s for the second time, a pod gets the room of 10.5 s at once and not at 12 s."""
    jobs = alone("a", 0.0, 10.0), alone("b", 0.0, 10.5), alone("c", 1.0, 5.0), alone("d", 1.0, 5.0)
    outcome = play(Workload("w", jobs), "kube", "1x2c8Gi", **PROMPT)
    assert outcome.jobs.start[2:] == pytest.approx([10.0, 10.5], abs=0.1)


def test_brothers_of_a_pod_that_went_keep_their_backoff() -> None:
    """Each pod counts its own refusals: a newcomer passes forty that were refused all the time."""
    jobs = alone("crowd", 0.0, *[0.5] * 60), alone("newcomer", 20.1, 0.5)
    outcome = play(Workload("w", jobs), "kube", "1x1c8Gi", **PROMPT)
    assert outcome.jobs.start[1] == pytest.approx(20.5, abs=0.2)


@pytest.mark.parametrize("policy", ["kube", "slackwater", "oracle"])
def test_core_hours_by_cause_add_up_to_the_run(policy: str) -> None:
    """From the first submission to the end of the last container."""
    outcome = quarter(policy)
    hours, end = outcome.core_hours, float(outcome.containers.released.max())
    assert list(hours) == [str(cause) for cause in Cause]
    assert 3600 * sum(hours.values()) == pytest.approx(16 * end)
    # Drivers use what they ask for: 4 cores as long as they live; tasks use a quarter of a core for 120 s.
    spent = outcome.containers.end - outcome.containers.start
    used = float(np.where(outcome.containers.stage == DRIVER, spent, spent / 4).sum())
    assert 3600 * hours[Cause.BUSY] == pytest.approx(used, rel=0.05)


@pytest.mark.parametrize("policy", ["kube", "slackwater", "oracle"])
@pytest.mark.parametrize("level", [0.5, 6.0], ids=["half", "hot"])
@pytest.mark.parametrize("later", [0.0, 12.3, 700.0])
def test_core_hours_end_with_the_last_container(policy: str, level: float, later: float) -> None:
    """Not with the look after it; also where tasks want more cores than there are, or nothing runs for a while."""
    first, second = (
        Job(name, at, (Stage("map", (1.0, GIBI), np.full(2, 8.0), usage=Usage(np.full(2, level), np.full(2, 0.5))),))
        for name, at in (("first", 3.0), ("second", 3.0 + later))
    )
    huge = replace(second, id="huge", stages=(replace(second.stages[0], request=(100.0, GIBI)),))
    outcome = play(of(first, second, huge), policy, "2x4c8Gi")
    end = float(outcome.containers.released.max())
    assert 3600 * sum(outcome.core_hours.values()) == pytest.approx(8 * (end - 3.0))
    assert min(outcome.core_hours.values()) >= 0.0


def test_core_hours_of_a_standstill_end_with_the_last_look() -> None:
    """Its containers never end."""
    outcome = standstill()
    last = outcome.idle[Cause.BUSY].time[-1]
    assert 3600 * sum(outcome.core_hours.values()) == pytest.approx(16 * (last - outcome.jobs.submit.min()))


def test_the_stock_scheduler_loses_to_requests_what_measurement_finds() -> None:
    """Tasks that use a quarter of what they ask for: stock's idle cores are requested, Slackwater's far fewer."""
    plain, ours = quarter("kube").core_hours, quarter("slackwater").core_hours
    assert plain[Cause.TASKS] > 0.5 * sum(plain.values())
    assert ours[Cause.TASKS] < 0.5 * plain[Cause.TASKS]
    assert plain[Cause.CEILING] == plain[Cause.KEPT_BACK] == 0


def test_cores_by_cause_over_time_add_up_to_the_cluster() -> None:
    """At every look; and their mean over time is what the core-hours say."""
    outcome = quarter("slackwater")
    assert list(outcome.idle) == [str(cause) for cause in Cause]
    assert sum(series.value for series in outcome.idle.values()) == pytest.approx(16.0)
    busy = outcome.idle[Cause.BUSY]
    assert float(busy.value.mean()) * busy.time[-1] == pytest.approx(3600 * outcome.core_hours[Cause.BUSY], rel=0.1)


def test_containers_that_never_end_are_kept_apart() -> None:
    """Drivers that hold every core of a standstill: they count as reserved, and are there to be shown."""
    outcome = standstill()
    assert outcome.deadlock
    assert outcome.held is not None
    assert len(outcome.held.job) == 16
    assert np.isinf(outcome.held.released).all()
    assert (outcome.held.stage == DRIVER).all()
    assert play(apps(1), "kube").held is None


def test_core_hours_are_not_counted_where_use_is_not_known() -> None:
    """Without a usage model nobody looks."""
    assert play(apps(2), "kube").core_hours == {}


@pytest.mark.parametrize("policy", ["kube", "slackwater", "oracle"])
def test_counting_core_hours_changes_no_decision(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every container is where and when it would have been."""
    workload = generate("gen:hour?apps=20", seed=2)
    counted = play(workload, policy, "4x16")
    monkeypatch.setattr(CoreHours, "look", lambda *_: None)
    plain = play(workload, policy, "4x16")
    assert counted.core_hours
    assert not plain.core_hours
    for column in ("job", "stage", "task", "node", "allocated", "start", "released", "status"):
        assert np.array_equal(getattr(counted.containers, column), getattr(plain.containers, column))


def test_pods_of_a_higher_priority_are_bound_first() -> None:
    """Ranks reach placement as from the operator: by fitness alone the larger pods would go first."""
    low = maps("low", 4, 10.0, cores=3.0, driver=None)
    high = maps("high", 4, 10.0, driver=None, priority=10)
    rows = play(of(low, high), "slackwater", "8x4c16Gi").containers
    assert rows.start[rows.job == 1].max() < rows.start[rows.job == 0].min()


def test_a_pod_whose_node_fails_before_it_starts_is_made_anew() -> None:
    """It was bound and no container ran yet; its job waited for it for ever."""
    jobs = of(maps("j", 1, 5.0, driver=None))
    outcome = play(jobs, "kube", "2x4c8Gi", seed=1, outages=(("node0", 0.5, 100.0), ("node1", 0.7, 3.0)))
    assert outcome.containers.status.tolist() == [LOST, LOST, DONE]
    assert not outcome.deadlock


def test_pods_that_no_node_took_are_tried_again_when_a_node_comes_back() -> None:
    """Nothing ended meanwhile that could have woken them."""
    outcome = play(of(maps("j", 1, 5.0, driver=None)), "kube", "1x4c8Gi", outages=(("node0", 0.0, 20.0),))
    assert outcome.jobs.end[0] == pytest.approx(20.0 + 1.05 + 5.0)


def test_use_between_two_looks_is_counted() -> None:
    """Twelve tasks of one core for 2 s each, on four cores: 24 core-seconds, though looks are 5 s apart."""
    usage = Usage(cpu=np.ones(12), memory=np.full(12, 0.5))
    stage = Stage("map", (1.0, GIBI), np.full(12, 2.0), usage=usage)
    outcome = play(Workload("short", (Job("j", 0.0, (stage,)),)), "kube", "1x4c8Gi")
    assert outcome.core_hours[Cause.BUSY] * 3600 == pytest.approx(24.0)
    span = outcome.jobs.makespan
    assert outcome.used == pytest.approx((24 / (4 * span), 12 / (8 * span)))


@pytest.mark.parametrize("period", [1.0, 5.0, 60.0])
def test_shares_do_not_depend_on_how_often_use_is_looked_at(period: float) -> None:
    """Four tasks that use half of their cores for 6 s: half of what is reserved, but for the moment of their start."""
    usage = Usage(cpu=np.full(1, 0.5), memory=np.ones(1))
    stage = Stage("map", (1.0, GIBI), np.full(4, 6.0), usage=usage)
    outcome = play(Workload("short", (Job("j", 0.0, (stage,)),)), "kube", "1x4c8Gi", usage_period=period, startup=0.0)
    found = measure(outcome)
    assert found.used == pytest.approx((12 / (4 * found.makespan), 24 / (8 * found.makespan)))
    assert found.efficiency == pytest.approx((0.5, 1.0), rel=0.02)


def test_use_that_rises_is_counted_between_two_looks_too() -> None:
    """A task of 4 s whose memory rises from nothing to 1 GiB uses 2 GiB-seconds of it."""
    usage = Usage(cpu=np.ones(1), memory=np.ones(1), memory_shape=(0.0, 1.0))
    stage = Stage("map", (1.0, GIBI), np.full(1, 4.0), usage=usage)
    outcome = play(Workload("short", (Job("j", 0.0, (stage,)),)), "kube", "1x4c8Gi")
    span = outcome.jobs.makespan
    assert outcome.used[1] == pytest.approx(2 / (8 * span))


def test_an_oracle_shares_cores_that_no_node_has() -> None:
    """A task that would use eight cores of a node of four runs half as fast; the oracle waited for eight."""
    stage = Stage("map", (4.0, GIBI), np.full(1, 10.0), usage=Usage(cpu=np.full(1, 2.0), memory=np.ones(1)))
    outcome = play(Workload("hungry", (Job("j", 0.0, (stage,)),)), "oracle", "1x4c8Gi")
    assert outcome.jobs.end[0] == pytest.approx(20.0, abs=2.0)
