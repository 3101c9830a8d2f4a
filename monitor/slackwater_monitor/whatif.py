"""One's own past under other policies, with the error of replaying what did happen beside it.

The policy that was in force is simulated too. How far its makespan, completion and wait lie from what was observed is
the honest measure of everything else in the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from slackwater.errors import InvalidInput, UnknownName
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_monitor.export import Happened, beside
from slackwater_simulator.charts.amounts import count, seconds
from slackwater_simulator.policies.registry import policies as described
from slackwater_simulator.policies.registry import variant, worlds_of
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, parse
from slackwater_simulator.workload.workload import Workload

Progress = Callable[[float], None]
# People's words for policies.
ALIASES = {"stock": "kube"}
KUBERNETES = "kubernetes"
DEFAULT = ("kube", "slackwater", "capacity", "fair")
# Use is looked at about so many times in a replay; each costs about half a millisecond under slackwater.
SAMPLES = 6000
USUAL, COARSEST = 5.0, 60.0  # seconds between two looks: on a cluster, and at most
# A replay that is further from what happened says little about what else could have been.
MISMATCH = 0.2
# … but a wait is short where nothing is contended, and then a share of it says nothing: so many seconds are let pass.
SHORT_WAIT = 60.0


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
        return {name: (got - seen) / seen for name, (got, seen) in pairs.items() if seen > 0 and not math.isnan(got)}

    @property
    def error_words(self) -> str:
        """The errors of the replay for people: none is told as -0.0."""
        return ", ".join(f"{name} {round(100 * error, 1) + 0.0:+.1f} %" for name, error in self.errors.items())

    @property
    def warning(self) -> str:
        """Said where the replay does not match history; empty where it does, or where nothing was observed."""
        off = {name: error for name, error in self.errors.items() if abs(error) > MISMATCH and self._matters(name)}
        if not off:
            return ""
        words = " and ".join(f"{name} is {100 * error:+.0f} % off" for name, error in off.items())
        return f"the replay does not match what happened ({words}): trust the order of the policies, not the numbers"

    def _matters(self, name: str) -> bool:
        """Whether the replay of this is off by more than seconds, where it is about waits."""
        seen = self.happened.wait if self.happened is not None else 0.0
        return name != "wait" or abs(self.policies[self.was].wait - seen) > SHORT_WAIT

    @property
    def base(self) -> str:
        """The policy that others are compared with: the one in force, or else the first."""
        return self.was or next(iter(self.policies), "")

    def elsewhere(self, policy: str) -> str:
        """The world of a policy where that is not the base's, whose delays are others; else empty."""
        world = self.outcomes[policy].world
        return "" if world == self.outcomes[self.base].world else world

    @property
    def verdict(self) -> str:
        """What the best other policy of the same world would have changed, beside the replay of the one in force."""
        base = self.base
        others = [name for name in self.policies if name != base and not self.elsewhere(name)]
        if not others:
            return ""
        best = min(others, key=lambda name: _rank(self.policies[name]))
        return _verdict(base, self.policies[base], best, self.policies[best], self.outcomes[best].cluster.total[0])

    def jsonable(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "verdict": self.verdict,
            "warning": self.warning,
            "trace": self.name,
            "jobs": self.jobs,
            "happened": asdict(self.happened) if self.happened else None,
            "was": self.was,
            "replay_error": self.errors,
            "policies": {
                name: {"world": self.outcomes[name].world} | asdict(each) for name, each in self.policies.items()
            },
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
    ruled = named(was, "--was")  # a wrong name is told also where nothing was observed
    chosen = list(dict.fromkeys([*((ruled,) if happened else ()), *(named(policy) for policy in policies)]))
    if not chosen:
        raise InvalidInput("--policy", "no policy is named", f"use some of {', '.join(described())}")
    pace, period = paced(happened), sample_period(workload, happened)
    outcomes = {
        policy: run(
            workload,
            cluster,
            policy,
            seed=seed,
            world=world(workload, policy),
            progress=progress(policy) if progress is not None else None,
            **(pace if world(workload, policy) == KUBERNETES else {}),
            **sampled(policy, period),
        )
        for policy in chosen
    }
    coarse = (
        [f"use is looked at every {period:.0f} s in these replays, as the period is long"] if period > USUAL else []
    )
    played = (note for outcome in outcomes.values() for note in outcome.notes)
    notes = [*workload.notes, *coarse, *_apart(chosen[0], outcomes), *played]
    return Comparison(
        workload.name,
        len(workload.jobs),
        {policy: figures(outcome) for policy, outcome in outcomes.items()},
        outcomes,
        observed(happened) if happened else None,
        ruled if happened else "",
        list(dict.fromkeys(notes)),
    )


def _apart(base: str, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Which policies the verdict leaves out: a world has delays of its own, which are not a policy's merit."""
    here = outcomes[base].world
    worlds = dict.fromkeys(outcome.world for outcome in outcomes.values() if outcome.world != here)
    listed = {world: ", ".join(name for name, each in outcomes.items() if each.world == world) for world in worlds}
    return [
        f"the world {world} has other delays than {here}, that of {base}: the verdict leaves out {names}"
        for world, names in listed.items()
    ]


def paced(happened: Sequence[Happened]) -> dict[str, object]:
    """How long pods took from having a node to running, where that was seen: the replay's pods take as long."""
    known = [each.startup for each in happened if each.startup is not None]
    return {"startup": round(sum(known) / len(known), 3)} if known else {}


def sample_period(workload: Workload, happened: Sequence[Happened]) -> float:
    """Seconds between two looks at use: as on a cluster, or more where jobs ran for days."""
    spans = sorted((each.submit, each.end) for each in happened) or [_span(workload)]
    busy, until = 0.0, -math.inf
    for begin, end in spans:
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    return min(COARSEST, max(USUAL, float(math.ceil(busy / SAMPLES))))


def _span(workload: Workload) -> tuple[float, float]:
    """From the first submission to the end of the longest task after the last one."""
    submits = [job.submit for job in workload.jobs] or [0.0]
    longest = max(
        (float(stage.durations.max(initial=0.0)) for job in workload.jobs for stage in job.stages), default=0.0
    )
    return min(submits), max(submits) + longest


def sampled(policy: str, period: float) -> dict[str, object]:
    """The settings of world and policy that say how often use is looked at; none where it is as usual."""
    if period <= USUAL:
        return {}
    learns = policy.partition("?")[0] == "slackwater"
    return dict.fromkeys(("usage_period", *(("heartbeat",) if learns else ())), period)


def _rank(each: WhatIfFigures) -> tuple[bool, int, float]:
    return each.deadlock, each.unfinished, each.completion


def _verdict(base: str, was: WhatIfFigures, name: str, new: WhatIfFigures, cores: float) -> str:
    if new.deadlock or was.deadlock:
        stuck = [policy for policy, each in ((base, was), (name, new)) if each.deadlock]
        return f"under {' and '.join(stuck)} the work would have come to a standstill"
    if new.unfinished != was.unfinished:
        more = was.unfinished - new.unfinished
        jobs = count(abs(more), "more job" if more > 0 else "fewer job")
        return f"under {name} {jobs} would have finished than under {base}"
    if math.isnan(new.completion):
        return f"neither under {name} nor under {base} would a job have finished"
    earlier = 1 - new.completion / was.completion if was.completion > 0 else 0.0
    if abs(earlier) < 0.01:
        words = f"under {name} jobs would have finished as early as under {base} (mean {seconds(new.completion)})"
    else:
        words = (
            f"under {name} jobs would have finished {100 * abs(earlier):.0f} % {'earlier' if earlier > 0 else 'later'} "
            f"on average than under {base} ({seconds(new.completion)} instead of {seconds(was.completion)})"
        )
    saved = (was.requested[0] - new.requested[0]) * cores if was.requested and new.requested else 0.0
    if not abs(saved) > 0.5:
        return words
    freed = count(round(abs(saved)), "core")
    return f"{words}, with {freed} {'fewer' if saved > 0 else 'more'} reserved on average"


def named(policy: str, option: str = "--policy") -> str:
    """A policy by any of its names, with the options it was given; also one's own, `module:Class`."""
    name, mark, options = policy.partition("?")
    known = ALIASES.get(name, name)
    if ":" not in known and known not in described():
        raise UnknownName(option, name, [*described(), *ALIASES])
    variant(f"{known}{mark}{options}")
    return f"{known}{mark}{options}"


def world(workload: Workload, policy: str) -> str:
    """Kubernetes where the policy lives there; else YARN for apps with drivers, the ideal world for plain batch."""
    worlds = worlds_of(policy)
    if KUBERNETES in worlds:
        return KUBERNETES
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
    return workload, machines, _seen(happened) if cluster is None and happened.exists() else []


def _seen(path: Path) -> list[Happened]:
    """What did happen, as `slackwater export` wrote it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Happened])
    except UNREADABLE as problem:
        remedy = "run `slackwater export` again, or move the file away: then nothing is compared with what happened"
        raise InvalidInput(str(path), f"this is not what an export wrote ({problem})", remedy) from problem
