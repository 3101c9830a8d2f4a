"""The jobs of a play as apps, queues, and bars of a Gantt chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slackwater.admission.budget import Budget, RunningMeans, budget
from slackwater.resources import Resources
from slackwater_monitor.sources.simulated.play import Play
from slackwater_monitor.sources.views import App, Bar, Queue, Start
from slackwater_simulator.charts.amounts import count as counted
from slackwater_simulator.results.status import DRIVER, REFUSED
from slackwater_simulator.workload.workload import Job

NAMESPACE = "simulated"


def pod_name(job: Job, stage: int, task: int) -> str:
    """A name that no other pod of the play has."""
    return f"{job.id}-driver" if stage == DRIVER else f"{job.id}-{job.stages[stage].name}-{task}"


def apps(play: Play, now: float) -> list[App]:
    """Every job submitted so far."""
    jobs, rows = play.outcome.jobs, play.rows
    begun = np.bincount(rows.job[rows.allocated <= now], minlength=len(jobs.submit))
    active = play.active(now)
    running = np.bincount(rows.job[active], minlength=len(jobs.submit))
    asked, spent = play.per_job(play.requests, active), play.per_job(play.usage.at(now), active)
    waiting = np.bincount(play.pods.job[play.pods.waiting(now)], minlength=len(jobs.submit))
    line, made = 0, []
    for at in np.flatnonzero(jobs.submit <= now).tolist():
        job, held = play.jobs[at], int(waiting[at])
        waits = begun[at] == 0 and jobs.status[at] != REFUSED
        line += int(waits)
        said = play.hold(at, now) if held > 0 else None
        pods = {"held": held, "bound": int(running[at]), "finished": int(begun[at] - running[at])}
        made.append(
            App(
                namespace=NAMESPACE,
                name=job.id,
                phase=_phase(play, at, now, waits),
                queue=job.queue,
                category="small" if play.small[at] else "large",
                position=line if waits else None,
                reason=said.reason if said is not None else "",
                message=said.sentence if said is not None else play.outcome.refusals.get(at, _why(waits, line, held)),
                **(_expected(play, at, now) if waits else {}),
                begins=float(jobs.driver[at] - now) if waits and np.isfinite(jobs.driver[at]) else None,
                pods={state: max(number, 0) for state, number in pods.items()},
                declared=asked[at] if running[at] else {},
                used=spent[at] if running[at] else {},
                efficiency=Resources(spent[at]).share(Resources(asked[at])) if running[at] else None,
                submitted=float(jobs.submit[at]),
            )
        )
    return made


def _expected(play: Play, at: int, now: float) -> dict[str, Any]:
    """When an app that waits was expected to start, as the operator's status tells it of one on a cluster."""
    said = play.expected(at, now)
    if said is None:
        return {}
    told = said.told
    known = Start(unknown=told) if isinstance(told, str) else Start(told.low, told.middle, told.high, told.source.value)
    start = known.after(now - said.time)
    return {"start": start, "wait": start.middle, "wait_error": said.error}


def _phase(play: Play, at: int, now: float, waits: bool) -> str:
    jobs = play.outcome.jobs
    if jobs.status[at] == REFUSED:
        return "Refused"
    if waits:
        return "Waiting"
    if np.isfinite(jobs.end[at]) and jobs.end[at] <= now:
        return "Finished"
    return "Running" if jobs.start[at] <= now else "Started"


def _why(waits: bool, line: int, held: int) -> str:
    """What is known of a play whose gate's reasons were not kept, or whose scheduler has no gate."""
    if waits:
        return f"it is number {line} in line for its first pod"
    return f"{counted(held, 'task')} {'waits' if held == 1 else 'wait'} for room" if held > 0 else ""


def queues(play: Play, found: Sequence[App], now: float) -> list[Queue]:
    """Queues with who runs and who waits in them."""
    names = sorted({app.queue for app in found}) or ["default"]
    total = dict(zip(play.outcome.cluster.kinds, play.outcome.cluster.total, strict=True))
    held = _budget(play, now) if play.overcommits else None
    active = play.active(now) & (play.rows.stage == DRIVER)
    running = dict.fromkeys(names, 0)
    for job in play.rows.job[active].tolist():
        queue = play.jobs[job].queue
        running[queue] = running.get(queue, 0) + 1
    return [
        Queue(
            name,
            namespaces=(NAMESPACE,),
            capacity=total,
            reservation={kind: held.reserved[kind] for kind in total} if held is not None else {},
            budget={kind: max(0.0, held.left[kind]) for kind in total} if held is not None else {},
            drivers_running=running[name],
            drivers_waiting=sum(1 for app in found if app.queue == name and app.phase == "Waiting"),
            held=sum(app.pods["held"] for app in found if app.queue == name),
        )
        for name in names
    ]


def _budget(play: Play, now: float) -> Budget:
    """The test for the next driver of average size: all queues of a play share its nodes."""
    kinds, rows, means = play.outcome.cluster.kinds, play.rows, RunningMeans()
    for row in np.flatnonzero(play.active(now)).tolist():
        request = Resources.from_vector(kinds, play.requests[row].tolist())
        if rows.stage[row] != DRIVER:
            means.start_task(request)
        elif stages := play.jobs[rows.job[row]].stages:
            means.start_driver(request, Resources.from_vector(kinds, stages[0].request))
        else:
            means.start_driver(request)
    return budget(Resources.from_vector(kinds, play.outcome.cluster.total), means)


def bars(play: Play, number: int, now: float) -> list[Bar]:
    """The pods of one job up to a moment: those that had a node, then those that wait for one."""
    rows, pods = play.rows, play.pods
    ran = np.flatnonzero((rows.job == number) & (rows.allocated <= now))
    held = np.flatnonzero((pods.job == number) & pods.waiting(now))
    return [_ran(play, int(row), now) for row in ran] + [_waits(play, int(pod)) for pod in held]


def _ran(play: Play, row: int, now: float) -> Bar:
    rows = play.rows
    job, stage = play.jobs[rows.job[row]], int(rows.stage[row])
    driver = stage == DRIVER
    start, end = float(rows.start[row]), float(rows.end[row])
    return Bar(
        pod=pod_name(job, stage, int(rows.task[row])),
        role="driver" if driver else "task",
        stage="driver" if driver else job.stages[stage].name,
        node=play.outcome.cluster.nodes[int(rows.node[row])].name,
        created=float(play.pods.asked[play.pods.of[row]]),
        start=start if start <= now else None,
        end=end if end <= now else None,
        phase="Running" if end > now else "Succeeded",
    )


def _waits(play: Play, pod: int) -> Bar:
    job, stage, task = (int(column[pod]) for column in (play.pods.job, play.pods.stage, play.pods.task))
    found = play.jobs[job]
    role, name = ("driver", "driver") if stage == DRIVER else ("task", found.stages[stage].name)
    created = float(play.pods.asked[pod])
    return Bar(pod_name(found, stage, task), role, name, "", created, None, None, "Pending")
