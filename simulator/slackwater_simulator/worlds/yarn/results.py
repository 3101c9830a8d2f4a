"""From the world's books to an outcome."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater_simulator.results.outcome import Containers, Jobs, Outcome
from slackwater_simulator.results.recorder import Recorder
from slackwater_simulator.results.status import REFUSED

if TYPE_CHECKING:
    from slackwater_simulator.workload.workload import Workload
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, JobTimes


def _jobs(workload: Workload, times: JobTimes) -> Jobs:
    return Jobs(
        submit=np.array([job.submit for job in workload.jobs], dtype=np.float64),
        driver=np.array(times.driver, dtype=np.float64),
        start=np.array(times.first, dtype=np.float64),
        end=np.array(times.end, dtype=np.float64),
        tasks=np.array([job.tasks for job in workload.jobs], dtype=np.int64),
        status=np.array(times.status, dtype=np.int8),
    )


def gather(world: World, policy: str) -> Outcome:
    """Everything worth keeping of a finished run. Applications still there wait for something that never comes."""
    stuck = _stuck(world)
    stalled_at = world.engine.now if stuck else math.nan
    jobs = _jobs(world.workload, world.times)
    return Outcome(
        workload=world.workload,
        cluster=world.cluster,
        policy=policy,
        world=world.name,
        seed=world.seed,
        jobs=jobs,
        containers=world.records.containers(),
        deadlock=bool(stuck),
        events=world.engine.executed,
        decisions=world.decisions,
        decision_seconds=world.decision_seconds,
        peak_drivers=world.peak_drivers,
        peak_tasks=world.peak_tasks,
        stalled_at=stalled_at,
        used=world.usage.shares(jobs.span(stalled_at)) if world.usage is not None else (),
        series=world.series(),
        notes=world.masters.refusals.notes(),
        core_hours=world.core_hours(),
        idle=world.idle(),
        held=_held(world) if stuck else None,
        holds=world.scheduler.holds(),
        starts=world.scheduler.starts(),
        rooms=world.scheduler.seen_rooms(),
        refusals=world.masters.refusals.sentences,
    )


def _stuck(world: World) -> list[App]:
    """Applications that are still there; those which the policy refuses are refused, and keep nobody waiting."""
    left = list(world.masters.apps.values())
    refused = world.scheduler.refused() if left else {}
    for app in left:
        if app.index in refused and not app.held:
            app.status = REFUSED
            world.masters.refusals.note(app, refused[app.index])
        world.times.note(app)
    return [app for app in left if app.status != REFUSED]


def _held(world: World) -> Containers:
    """What the stuck applications hold for ever: it never ends."""
    kept, last = Recorder(), world.engine.now
    for app in world.masters.apps.values():
        for container in app.held:
            kept.add(container.row(world.order[container.node], last))
    rows = kept.containers()
    never = np.full(len(rows.job), np.inf)
    return replace(rows, start=np.where(np.isnan(rows.start), never, rows.start), end=never, released=never)
