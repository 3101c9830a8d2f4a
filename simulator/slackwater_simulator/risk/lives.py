"""Usage series made of a generator's tasks: each series is one task's whole life.

The generator gives what a task uses of its request, how that comes about over its life (ramp, plateaus, late spike)
and how uneven its CPU is. How long it lives is the bench's own rule: the simulator's tasks live for a minute or two,
and samples are five minutes apart.

    sample j of n = 100 · level · shape((j + ½) / n) · noise        noise: log-normal of mean 1, CPU only
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_simulator.risk.machines import REQUEST, WHOLE_DAY, drawn_lengths
from slackwater_simulator.risk.series import STEP, UsageSeries
from slackwater_simulator.workload.loading import load
from slackwater_simulator.workload.workload import Usage, Workload

Floats = NDArray[np.float64]

MOST = 3000  # tasks that are played; of a larger workload so many are drawn
DAY = int(86_400 / STEP)  # samples


def live(text: str, *, memory: bool, seed: int = 0, whole_day: float = WHOLE_DAY) -> UsageSeries:
    """The lives of the tasks behind `gen:NAME?…`, or an error that says which generators tell what tasks use."""
    rng = np.random.default_rng((seed, MOST))
    usages = _usages(text, load(text, seed=seed))
    sizes = np.array([len(usage.cpu) for usage in usages])
    ends = np.cumsum(sizes)
    chosen = np.sort(rng.permutation(int(ends[-1]))[:MOST])
    lengths = drawn_lengths(rng, (len(chosen),), DAY, whole_day)
    samples: Floats = np.zeros((len(chosen), DAY))
    stages = np.searchsorted(ends, chosen, side="right")
    for row, (task, stage, length) in enumerate(zip(chosen, stages, lengths, strict=True)):
        number = int(task - ends[stage] + sizes[stage])
        samples[row, :length] = _course(usages[stage], number, int(length), memory, rng)
    return UsageSeries(text, samples.astype(np.float32), lengths)


def _usages(text: str, workload: Workload) -> list[Usage]:
    found = [stage.usage for job in workload.jobs for stage in job.stages if stage.usage is not None]
    if len(found) < sum(len(job.stages) for job in workload.jobs):
        problem, instead = f"{text} does not tell what its tasks use", "take gen:borg, gen:hour or gen:estimation"
        raise InvalidInput("series", problem, instead)
    return found


def _course(usage: Usage, task: int, length: int, memory: bool, rng: np.random.Generator) -> Floats:
    """What one task uses, sample by sample, in percent of its request."""
    level, shape = (usage.memory, usage.memory_shape) if memory else (usage.cpu, usage.cpu_shape)
    course: Floats = REQUEST * level[task] * np.interp((np.arange(length) + 0.5) / length, usage.at, shape)
    if memory or not usage.noise:
        return course
    return course * np.exp(usage.noise * rng.standard_normal(length) - usage.noise**2 / 2)
