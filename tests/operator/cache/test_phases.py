"""Phases as the operator sees them: tasks only, with the size of their stage, by the terms of their pool."""

from __future__ import annotations

import pytest

from slackwater.pools.phases import Window
from slackwater_cluster import names
from slackwater_cluster.objects.records import NamespaceRecord
from support.fakes.cluster import World, enforcing, node


def world(**phases: float) -> World:
    """A queue with a pool whose owner wrote how phases are told apart."""
    made = enforcing(node("n0", cpu=64.0))
    made.configure("AdmissionQueue", "default", order="fifo")
    made.configure("ReservationPool", "pool", queue="default", phases=phases)
    return made


def run(made: World, name: str, role: str, at: float, **more: object) -> str:
    """A pod of the app `a` that runs since then."""
    pod = made.create(name, role=role, app="a", **more)  # type: ignore[arg-type]
    made.change(pod.uid, gates=(), node="n0", phase="Running", started=at)
    return pod.uid


def test_the_driver_is_no_task_of_any_phase() -> None:
    """Ten tasks 5 s after their driver are ten tasks over 0.9 s, not eleven over 5.9 s (D4)."""
    made = world()
    run(made, "driver", "driver", 1000.0)
    tasks = [run(made, f"t{n}", "task", 1005.0 + n * 0.1) for n in range(10)]
    made.cache.views.refresh()
    for number, uid in enumerate(tasks[:8]):
        made.now = 1060.0 + number * 0.1
        made.finish(uid)
    made.cache.views.refresh()
    wave = made.cache.views.phases.waves("team/a", 1061.0)[0]
    assert (wave.count, wave.running) == (10, 2)
    assert wave.spread == pytest.approx(0.9)


def test_the_size_of_a_stage_reaches_its_detector() -> None:
    """A stage of three is known to be one of three although three starts are below the threshold (D4)."""
    made = world()
    for number in range(3):
        run(made, f"t{number}", "task", 1000.0 + number)
    made.create("t3", app="a")
    made.cache.views.refresh()
    made.cache.views.phases.waves("team/a", 1003.0)
    phase = made.cache.views.phases._detectors["team/a"].phases[0]
    assert phase.size == 4
    run(made, "t4", "task", 1003.0)
    made.cache.views.refresh()
    made.cache.views.phases.waves("team/a", 1003.5)
    assert phase.size == 5


def test_an_announced_size_counts_before_the_pods_exist() -> None:
    """An app that says how many tasks it will have has phases of that size."""
    made = world()
    run(made, "t0", "task", 1000.0, annotations={names.TASKS: "7"})
    made.cache.views.refresh()
    made.cache.views.phases.waves("team/a", 1003.0)
    assert made.cache.views.phases._detectors["team/a"].phases[0].size == 7


def test_a_pools_owner_says_how_phases_are_told_apart() -> None:
    """`spec.phases` of the ReservationPool is read (D3)."""
    made = world(windowSeconds=3, startThreshold=1, endThreshold=2)
    run(made, "t0", "task", 1000.0)
    assert made.cache.views.phases._detectors["team/a"]._window == Window(3.0, 1, 2)


def test_the_last_round_of_an_iterative_app_is_all_of_it() -> None:
    """HaSTE-A's alignment is begun / m: 6 of 6 is 1, not 6/7 (D7)."""
    made = enforcing(node("n0", cpu=64.0))
    for number in range(6):
        run(made, f"t{number}", "task", 1000.0, stage=f"s{number}", annotations={names.ITERATIVE: "6"})
    made.cache.views.refresh()
    view = made.cache.views["team/a"]
    assert (view.stage, view.stages) == (6, 6)


def test_an_app_of_unknown_length_always_expects_one_more_stage() -> None:
    """`0` says that the number of stages is not known."""
    made = enforcing(node("n0", cpu=64.0))
    for number in range(2):
        run(made, f"t{number}", "task", 1000.0, stage=f"s{number}", annotations={names.ITERATIVE: "0"})
    made.cache.views.refresh()
    view = made.cache.views["team/a"]
    assert (view.stage, view.stages) == (2, 3)


def test_a_namespace_that_opts_out_gets_its_held_pods_back() -> None:
    """Removing the label frees what our gate holds there: the runbook's way out works (L5)."""
    made = enforcing(node("n0", cpu=1.0))
    held = [made.create(f"p{n}", cpu=4.0, app="a").uid for n in range(3)]
    operator = made.operator()
    operator.step()
    assert all(made.pods[uid].gated for uid in held)
    made.cache.set_namespaces([NamespaceRecord(name="team", labels={})], made.now)
    operator.step()
    assert all(made.pods[uid].gated for uid in held), "the label may only not have reached us yet"
    made.now += 6
    operator.step()
    assert not any(made.pods[uid].gates for uid in held)
    assert len(made.cache.in_flight) == 0
    assert operator.step() == 0


def test_a_label_that_comes_late_frees_nobody() -> None:
    """A pod whose namespace is not known as managed yet stays behind the gate for the moment."""
    made = World()
    made.configure("SlackPolicy", "default", mode="enforce")
    made.add_nodes(node("n0", cpu=1.0))
    pod = made.create("p0", cpu=4.0, app="a")
    operator = made.operator()
    operator.step()
    made.namespace("team")
    for _ in range(10):
        operator.step()
    assert made.pods[pod.uid].gated
