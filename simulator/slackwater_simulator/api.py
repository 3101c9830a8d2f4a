"""The simulator as a library: play a workload under some policies, and look at the results as data frames.

import slackwater_simulator as sim

results = sim.run("gen:hour", policies=["kube", "slackwater"])
results.to_pandas()          # a row per policy
results.jobs()               # a row per policy and job
results.report("report")     # a page of figures
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.validation import once
from slackwater_simulator import simulation
from slackwater_simulator.policies.registry import policies as list_policies
from slackwater_simulator.reports.rows import full_row
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import CONTAINER_ENDS, JOB_ENDS
from slackwater_simulator.workload import loading
from slackwater_simulator.workload.cluster import Cluster, parse
from slackwater_simulator.workload.loading import load
from slackwater_simulator.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "list_policies", "load", "parse", "run"]

# What the command line calls otherwise, and where it is given here.
ARGUMENTS = {"seed": "seeds", "policy": "policies"}


@dataclass(frozen=True, slots=True)
class Results:
    """What came out, policy by policy and seed by seed. Times are seconds, shares lie between 0 and 1."""

    outcomes: tuple[Outcome, ...]

    def to_pandas(self) -> pd.DataFrame:
        """A row per policy and seed with every metric that `slackwater simulate -o json` prints."""
        return _frame([full_row(outcome) for outcome in self.outcomes])

    def jobs(self) -> pd.DataFrame:
        """A row per policy, seed and job: when it was submitted, started and ended, and how."""
        return _joined([_jobs(outcome) for outcome in self.outcomes])

    def containers(self) -> pd.DataFrame:
        """A row per policy, seed and container: whose it was, where it ran, from when to when."""
        return _joined([_containers(outcome) for outcome in self.outcomes])

    def report(self, folder: str | Path) -> Path:
        """Write the page of figures that `slackwater simulate --report` writes; gives its path."""
        from slackwater_simulator.reports.page import write  # noqa: PLC0415 - figures are drawn only on request

        return write(list(self.outcomes), Path(folder))

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        return str(self.to_pandas().to_html(index=False))


def run(
    workload: str | Path | Workload,
    cluster: str | Path | Cluster | None = None,
    policies: str | type | Iterable[str | type] = ("kube", "slackwater"),
    *,
    seeds: int | Iterable[int] = (0,),
    world: str = "auto",
    progress: Callable[[str, float], None] | None = None,
    **options: object,
) -> Results:
    """Play the workload under each policy and seed.

    `workload` is a trace file, a generator (`gen:hour?apps=90`) or a Workload; `cluster` is `10x16c64Gi`, a YAML file
    or a Cluster, and may be left out where a generator knows its own. `progress` is called with the policy and the
    share that is done. Options are settings of world and policy, as `--set` takes them. One policy may be named without
    a list, and one of your own may be its class; `seeds=5` are the seeds 0 to 4.
    """
    for name, argument in ARGUMENTS.items():
        if name in options:
            raise InvalidInput(name, "is no setting of world or policy", f"write {argument}=[…]")
    named = _names(policies)
    numbers = simulation.seed_numbers(seeds)
    machines = cluster if isinstance(cluster, Cluster) else parse(str(cluster or _default(workload)))
    outcomes = []
    for seed in numbers:
        jobs = workload if isinstance(workload, Workload) else load(str(workload), seed=seed)
        chosen = simulation.choose(jobs, named) if world == "auto" else world
        for policy in named:
            tick = None if progress is None else _tick(progress, policy)
            outcomes.append(simulation.run(jobs, machines, policy, seed=seed, world=chosen, progress=tick, **options))
    return Results(tuple(outcomes))


def _names(policies: object) -> tuple[str, ...]:
    """The policies by name; a class is named by its module."""
    listed = policies if isinstance(policies, Iterable) and not isinstance(policies, str | type) else (policies,)
    named = tuple(_name(policy) for policy in listed)
    if not named:
        raise InvalidInput("policies", "none is named", 'name at least one, for example policies=["slackwater"]')
    once("policies", named)
    return named


def _name(policy: object) -> str:
    if isinstance(policy, type):
        return f"{policy.__module__}:{policy.__qualname__}"
    if not isinstance(policy, str):
        raise InvalidInput("policies", f"{policy!r} is no policy", "name it, or give the class itself")
    return policy


def _tick(progress: Callable[[str, float], None], policy: str) -> Callable[[float], None]:
    return lambda share: progress(policy, share)


def _default(workload: str | Path | Workload) -> str:
    if isinstance(workload, Workload):
        raise InvalidInput("cluster", "a Workload does not name its machines", 'add cluster="10x16c64Gi"')
    return loading.default_cluster(str(workload))


def _jobs(outcome: Outcome) -> pd.DataFrame:
    jobs = outcome.jobs
    columns: dict[str, Any] = {
        **_about(outcome, len(jobs.submit)),
        "job": [job.id for job in outcome.workload.jobs],
        "name": [job.name for job in outcome.workload.jobs],
        "submit": jobs.submit,
        "driver": jobs.driver,
        "start": jobs.start,
        "end": jobs.end,
        "tasks": jobs.tasks,
        "status": np.array(JOB_ENDS)[jobs.status],
    }
    return _frame(columns)


def _containers(outcome: Outcome) -> pd.DataFrame:
    rows = outcome.containers
    columns: dict[str, Any] = {
        **_about(outcome, len(rows.job)),
        "job": np.array([job.id for job in outcome.workload.jobs], dtype=object)[rows.job],
        "stage": rows.stage,
        "task": rows.task,
        "node": rows.node,
        "allocated": rows.allocated,
        "start": rows.start,
        "end": rows.end,
        "status": np.array(CONTAINER_ENDS)[rows.status],
    }
    return _frame(columns)


def _about(outcome: Outcome, count: int) -> dict[str, list[Any]]:
    return {"policy": [outcome.policy] * count, "seed": [outcome.seed] * count}


def _frame(data: Any) -> pd.DataFrame:
    made: pd.DataFrame = _frames().DataFrame(data)
    return made


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    made: pd.DataFrame = _frames().concat(frames, ignore_index=True)
    return made


def _frames() -> ModuleType:
    try:
        import pandas  # noqa: PLC0415, ICN001 - an extra: only those who want frames need it
    except ModuleNotFoundError as problem:
        raise InvalidInput(
            "pandas", "is not installed", "install it, or slackwater[frames], to get results as data frames"
        ) from problem
    return pandas
