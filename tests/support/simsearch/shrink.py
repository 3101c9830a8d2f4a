"""A smaller world with the same failure: leave out jobs, nodes, outages, stages and tasks for as long as it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater_simulator.workload.workload import Job
from support.search.shrink import smallest, without_one
from support.simsearch.play import play
from support.simsearch.world import SmallWorld


def shrunk(world: SmallWorld, kind: str) -> SmallWorld:
    """The smallest world found that fails in the same way."""
    return smallest(world, _smaller, lambda each: kind in {failure.kind for failure in play(each).failures})


def _smaller(world: SmallWorld) -> Iterator[SmallWorld]:
    """Worlds that are simpler by one thing, the largest steps first."""
    if world.policies:
        yield from (replace(world, policies=rest) for rest in without_one(world.policies))
    if len(world.jobs) > 1:
        yield from (replace(world, jobs=rest) for rest in without_one(world.jobs))
    yield from (replace(world, outages=rest) for rest in without_one(world.outages))
    for rest in without_one(world.hosts) if len(world.hosts) > 1 else ():
        there = {host.name for host in rest}
        yield replace(world, hosts=rest, outages=tuple(each for each in world.outages if each[0] in there))
    for number, job in enumerate(world.jobs):
        for simpler in _simpler(job):
            yield replace(world, jobs=(*world.jobs[:number], simpler, *world.jobs[number + 1 :]))


def _simpler(job: Job) -> Iterator[Job]:
    if len(job.stages) > 1:
        yield replace(job, stages=job.stages[:-1])
    for number, stage in enumerate(job.stages):
        fewer = stage.tasks // 2
        if fewer and stage.usage is None and not stage.hosts:
            less = replace(stage, durations=stage.durations[:fewer])
            yield replace(job, stages=(*job.stages[:number], less, *job.stages[number + 1 :]))
        plain = replace(stage, usage=None, hosts=(), delay=0.0, shuffle=0.0, reduce=False)
        if any((stage.usage, stage.hosts, stage.delay, stage.shuffle, stage.reduce)):
            yield replace(job, stages=(*job.stages[:number], plain, *job.stages[number + 1 :]))
    if job.driver is not None:
        yield replace(job, driver=None)
    if job.submit:
        yield replace(job, submit=0.0)
    bare = Job(job.id, job.submit, job.stages, job.driver, gang=job.gang)
    if bare != job:
        yield bare
