"""`slackwater simulate WORKLOAD --live`: the workload as pods in a real cluster, beside what was predicted."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from slackwater.errors import InvalidInput, UnknownName
from slackwater_cli.printing import Format, console, data, jsonable
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_lab.live.comparison import Compared, Forecast, Summary
    from slackwater_lab.live.drivers import Course
    from slackwater_lab.live.namespace import Machine
    from slackwater_lab.live.workload import Play, Size
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Job, Request, Usage, Workload

# What is predicted → (the scheduler that plays it, whether the namespace is managed).
SCHEDULERS = {"slackwater": ("slackwater", True), "kube": ("default-scheduler", False)}
SHOWN = 20  # jobs in the table; JSON has them all
# Simulated nodes start a container as soon as they hear of it.
PACE: dict[str, object] = {"startup": 0.2, "bind": 0.1, "usage_period": 2.0}
# A kubelet makes a sandbox and a container first.
REAL_PACE: dict[str, object] = {**PACE, "startup": 1.5}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asked for."""

    policy: str
    scale: float
    namespace: str
    kubeconfig: Path | None
    selector: dict[str, str]
    limit: float
    seed: int
    options: dict[str, object]
    image: str = ""  # set: real containers of this image instead of annotations for simulated nodes
    burn: float = 1.0  # the share of the workload's use that real containers take

    def __post_init__(self) -> None:
        if self.policy not in SCHEDULERS:
            raise UnknownName("--policy with --live", self.policy, SCHEDULERS)
        if not 0 < self.scale < math.inf:
            raise InvalidInput("--scale", f"{self.scale} is not a speed", "write a positive number, 10 for ten times")
        if not 0 < self.limit < math.inf:
            raise InvalidInput("--limit", f"{self.limit} is not a time", "write a positive number of seconds")
        if not 0 < self.burn <= 1:
            raise InvalidInput("--burn", f"{self.burn} is not a share", "write a number above 0 and at most 1")


def labels(selector: str) -> dict[str, str]:
    """`pool=batch,disk=ssd` by key; what is no pair is refused, because without it all nodes would be taken."""
    found = {}
    for pair in filter(None, map(str.strip, selector.split(","))):
        key, is_pair, value = pair.partition("=")
        if not (is_pair and key) or value.startswith("=") or key.endswith("!"):
            raise InvalidInput("--selector", f"{pair!r} is not a label", "write key=value, by commas")
        found[key] = value
    return found


def perform(workload: Workload, wish: Wish, output: Format) -> None:
    """Predict, play, compare, print."""
    from slackwater_lab.live.comparison import compare, summary

    quick = lighter(faster(workload, wish.scale), wish.burn)
    with bars() as tick:
        nodes, terms, courses = asyncio.run(_played(plays(quick), wish, tick(f"live, {wish.policy}")))
        rows = compare(courses, _forecasts(quick, cluster(nodes), wish, terms, tick("predicted")))
    jobs = jsonable(rows)
    if not data(jobs if output in (Format.CSV, Format.MARKDOWN) else {"summary": summary(rows), "jobs": jobs}, output):
        _print(rows, summary(rows), wish)


async def _played(
    scripts: list[Play], wish: Wish, progress: Callable[[float], None]
) -> tuple[list[Machine], dict[str, float], list[Course]]:
    """The nodes, the terms of the policy that acts on them, and what happened."""
    from slackwater_cluster.api.endpoint import endpoint
    from slackwater_cluster.api.session import Session
    from slackwater_lab.live.containers import ACCOUNT
    from slackwater_lab.live.namespace import entrust, house, machines, terms
    from slackwater_lab.live.play import Player
    from slackwater_lab.live.pods import Stage

    scheduler, managed = SCHEDULERS[wish.policy]
    where = endpoint(wish.kubeconfig)
    async with Session(where) as session:
        nodes = await machines(session, wish.selector)
        policy = await terms(session) if managed else {}
        async with house(session, wish.namespace, managed=managed):
            if wish.image:
                await entrust(session, wish.namespace, ACCOUNT)
            stage = Stage(wish.namespace, wish.namespace, scheduler, wish.selector, wish.image, where.url)
            return nodes, policy, await Player(where, stage, progress).play(scripts, wish.limit)


def _forecasts(
    workload: Workload, machines: Cluster, wish: Wish, terms: dict[str, float], progress: Callable[[float], None]
) -> dict[str, Forecast]:
    from slackwater_lab.live.comparison import Forecast
    from slackwater_simulator.simulation import run

    options = (REAL_PACE if wish.image else PACE) | terms | wish.options
    outcome = run(workload, machines, wish.policy, seed=wish.seed, world="kubernetes", progress=progress, **options)
    times = zip(outcome.jobs.start.tolist(), outcome.jobs.end.tolist(), strict=True)
    return {_name(job.id): Forecast(*pair) for job, pair in zip(workload.jobs, times, strict=True)}


def faster(workload: Workload, scale: float) -> Workload:
    """The same workload in 1/scale of the time, for both worlds alike."""
    jobs = tuple(
        replace(
            job,
            submit=job.submit / scale,
            stages=tuple(
                replace(s, durations=s.durations / scale, delay=s.delay / scale, shuffle=s.shuffle / scale)
                for s in job.stages
            ),
            driver=replace(job.driver, startup=job.driver.startup / scale) if job.driver else None,
        )
        for job in workload.jobs
    )
    return replace(workload, jobs=jobs)


def lighter(workload: Workload, share: float) -> Workload:
    """The same workload with this share of its use: requests stay, so that few cores can play a large cluster."""
    if share == 1.0:
        return workload
    return replace(workload, jobs=tuple(_lighter_job(job, share) for job in workload.jobs))


def _lighter_job(job: Job, share: float) -> Job:
    stages = tuple(replace(stage, usage=_less(stage.usage, share, stage.tasks)) for stage in job.stages)
    driver = replace(job.driver, usage=_less(job.driver.usage, share, 1)) if job.driver else None
    return replace(job, stages=stages, driver=driver)


def _less(usage: Usage | None, share: float, tasks: int) -> Usage:
    import numpy as np

    from slackwater_simulator.workload.workload import Usage

    if usage is None:
        return Usage(np.full(tasks, share), np.full(tasks, share))
    return replace(usage, cpu=usage.cpu * share, memory=usage.memory * share)


def plays(workload: Workload) -> list[Play]:
    """The workload as the live driver reads it."""
    from slackwater_lab.live.workload import Part, Play

    return [
        Play(
            id=_name(job.id),
            submit=job.submit,
            parts=tuple(
                Part(
                    _name(stage.name),
                    _size(stage.request, stage.usage),
                    tuple((stage.durations + stage.shuffle).tolist()),
                    tuple(_name(parent) for parent in stage.parents),
                    stage.start_after,
                    stage.delay,
                )
                for stage in job.stages
            ),
            driver=_size(job.driver.request, job.driver.usage) if job.driver else None,
            startup=job.driver.startup if job.driver else 0.0,
            strict=job.strict,
            gang=job.gang,
        )
        for job in workload.jobs
    ]


def cluster(nodes: list[Machine]) -> Cluster:
    """The machines of the real cluster, for the prediction."""
    from slackwater_simulator.workload.cluster import Cluster, Node

    if not nodes:
        raise InvalidInput("--selector", "no Ready node without taints has these labels", "name labels of such nodes")
    return Cluster(
        f"{len(nodes)} real nodes", tuple(Node(name, (cores, memory)) for name, cores, memory in sorted(nodes))
    )


def _size(request: Request, usage: Usage | None) -> Size:
    """Use is the mean over the stage's tasks; without a usage model a pod uses what it asks for."""
    from slackwater_lab.live.workload import Size

    cpu, memory = (float(usage.cpu.mean()), float(usage.memory.mean())) if usage is not None else (1.0, 1.0)
    return Size(request[0], request[1], request[0] * cpu, request[1] * memory)


def _name(text: str) -> str:
    """A name Kubernetes takes."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return plain.strip("-")[:40] or "x"


def _print(rows: list[Compared], total: Summary, wish: Wish) -> None:
    from slackwater_simulator.charts.amounts import count

    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0), title=f"{wish.policy}, {wish.scale:g} times as fast")
    for column in ("job", "submitted", "first task, predicted", "observed", "end, predicted", "observed", "error"):
        table.add_column(column, justify="left" if column == "job" else "right")
    for row in rows[:SHOWN]:
        moments = (row.submit, row.predicted.first, row.observed.first, row.predicted.end, row.observed.end)
        table.add_row(row.job, *(_seconds(moment) for moment in moments), _percent(row.error))
    out.print(table)
    if len(rows) > SHOWN:
        out.print(f"… and {count(len(rows) - SHOWN, 'more job')} (-o json shows all)", style="dim")
    out.print(
        f"{total.finished} of {count(total.jobs, 'job')} finished\n"
        f"makespan         predicted {_seconds(total.predicted_makespan)} s, observed "
        f"{_seconds(total.observed_makespan)} s ({_percent(total.makespan_error)})\n"
        f"mean completion  predicted {_seconds(total.predicted_completion)} s, observed "
        f"{_seconds(total.observed_completion)} s\n"
        f"mean wait        predicted {_seconds(total.predicted_wait)} s, observed {_seconds(total.observed_wait)} s"
    )


def _seconds(value: float) -> str:
    return "never" if math.isnan(value) else f"{value:.1f}"


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.0%}"
