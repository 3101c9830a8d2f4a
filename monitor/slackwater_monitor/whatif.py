"""One's own past under other policies, with the error of replaying what did happen beside it.

The policy that was in force is simulated too. How far its makespan, completion and wait lie from what was observed is
the honest measure of everything else in the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slackwater.errors import InvalidInput, UnknownName
from slackwater_monitor.export import Happened, beside
from slackwater_simulator.policies.registry import POLICIES
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, parse
from slackwater_simulator.workload.workload import Workload

Progress = Callable[[float], None]
# People's words for policies.
ALIASES = {"stock": "kube"}
DEFAULT = ("kube", "slackwater", "capacity", "fair")


@dataclass(frozen=True, slots=True)
class WhatIfFigures:
    """What people compare, in seconds and shares."""

    makespan: float
    completion: float  # mean, submission to end
    wait: float  # mean, submission to the first task
    requested: tuple[float, ...] = ()  # share of the cluster, cpu and memory
    used: tuple[float, ...] = ()
    failures: int = 0
    finished: int = 0
    unfinished: int = 0
    deadlock: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer: what happened, what a replay makes of it, and what else could have been."""

    name: str
    jobs: int
    policies: Mapping[str, WhatIfFigures]
    outcomes: Mapping[str, Outcome]
    happened: WhatIfFigures | None = None
    was: str = ""  # the policy in force
    notes: Sequence[str] = ()

    @property
    def errors(self) -> dict[str, float]:
        """(replay − observed) / observed of makespan, completion and wait; empty where nothing was observed."""
        if self.happened is None or self.was not in self.policies:
            return {}
        replayed = self.policies[self.was]
        pairs = {
            name: (getattr(replayed, name), getattr(self.happened, name)) for name in ("makespan", "completion", "wait")
        }
        return {name: (got - seen) / seen for name, (got, seen) in pairs.items() if seen > 0}

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "trace": self.name,
            "jobs": self.jobs,
            "happened": asdict(self.happened) if self.happened else None,
            "was": self.was,
            "replay_error": self.errors,
            "policies": {name: asdict(each) for name, each in self.policies.items()},
            "notes": list(self.notes),
        }


def compare(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[str],
    *,
    happened: Sequence[Happened] = (),
    was: str = "kube",
    seed: int = 0,
    progress: Callable[[str], Progress] | None = None,
) -> Comparison:
    """Play the workload under each policy, the one in force first."""
    chosen = list(dict.fromkeys([*((named(was),) if happened else ()), *(named(policy) for policy in policies)]))
    if not chosen:
        raise InvalidInput("--policy", "no policy is named", f"use some of {', '.join(POLICIES)}")
    pace = paced(happened)
    outcomes = {
        policy: run(
            workload,
            cluster,
            policy,
            seed=seed,
            world=world(workload, policy),
            progress=progress(policy) if progress is not None else None,
            **(pace if world(workload, policy) == "kubernetes" else {}),
        )
        for policy in chosen
    }
    notes = [*workload.notes, *(note for outcome in outcomes.values() for note in outcome.notes)]
    return Comparison(
        workload.name,
        len(workload.jobs),
        {policy: figures(outcome) for policy, outcome in outcomes.items()},
        outcomes,
        observed(happened) if happened else None,
        named(was) if happened else "",
        list(dict.fromkeys(notes)),
    )


def paced(happened: Sequence[Happened]) -> dict[str, object]:
    """How long pods took from having a node to running, where that was seen: the replay's pods take as long."""
    known = [each.startup for each in happened if each.startup is not None]
    return {"startup": round(sum(known) / len(known), 3)} if known else {}


def named(policy: str) -> str:
    """A policy by any of its names."""
    name = ALIASES.get(policy, policy)
    if name not in POLICIES:
        raise UnknownName("--policy", policy, [*POLICIES, *ALIASES])
    return name


def world(workload: Workload, policy: str) -> str:
    """Kubernetes where the policy lives there; else YARN for apps with drivers, the ideal world for plain batch."""
    worlds = POLICIES[policy].worlds
    if "kubernetes" in worlds:
        return "kubernetes"
    led = any(job.driver is not None for job in workload.jobs)
    return "yarn" if led and "yarn" in worlds else worlds[-1]


def figures(outcome: Outcome) -> WhatIfFigures:
    """What a simulation came to."""
    found = measure(outcome)
    return WhatIfFigures(
        makespan=found.makespan,
        completion=found.completion.mean,
        wait=found.wait.mean,
        requested=found.allocated[:2],
        used=found.used[:2],
        failures=found.failures,
        finished=found.finished,
        unfinished=found.unfinished,
        deadlock=found.deadlock,
    )


def observed(happened: Sequence[Happened]) -> WhatIfFigures:
    """What did happen."""
    submit, start, end = (np.array([getattr(each, name) for each in happened]) for name in ("submit", "start", "end"))
    return WhatIfFigures(
        makespan=float(end.max() - submit.min()),
        completion=float((end - submit).mean()),
        wait=float((start - submit).mean()),
        finished=len(happened),
    )


def opened(path: Path, cluster: str | None, seed: int = 0) -> tuple[Workload, Cluster, list[Happened]]:
    """A trace with what lies beside it: its nodes and what did happen."""
    from slackwater_simulator.workload.loading import load  # noqa: PLC0415 - readers are heavy

    workload = load(str(path), seed=seed)
    nodes, happened = beside(path)
    if cluster is None and not nodes.exists():
        raise InvalidInput("--cluster", f"{nodes.name} is not beside the trace", "add --cluster, for example 500x4")
    machines = parse(cluster or str(nodes))
    seen = [Happened(**each) for each in json.loads(happened.read_text(encoding="utf-8"))] if happened.exists() else []
    return workload, machines, seen if cluster is None else []
