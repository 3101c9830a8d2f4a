"""Plays one small world under several policies and says what is wrong with it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from support.search.plan import Failure
from support.simsearch.checks import faults, greedy
from support.simsearch.world import SmallWorld

# In every world: what others finish slackwater finishes, in the same world and with the same kinds counted.
COMPARED = {
    "kubernetes:slackwater": ("kubernetes:kube",),
    "yarn:slackwater": ("yarn:fifo?cores=true", "yarn:capacity?calculator=dominant"),
}
ALWAYS = ("kubernetes:oracle",)
LIMIT = 6.0  # seconds of a run, after which it is called endless


@dataclass
class Played:
    """What came of one world."""

    seed: int
    failures: list[Failure]
    runs: int
    jobs: int


class EndlessError(Exception):
    """A run took too long."""


def play(world: SmallWorld) -> Played:
    """Every policy of the world, one after the other."""
    failures: list[Failure] = []
    outcomes: dict[str, Outcome] = {}
    names = dict.fromkeys(
        (*COMPARED, *(name for names in COMPARED.values() for name in names), *ALWAYS, *world.policies)
    )
    for name in names:
        try:
            outcomes[name] = once(world, name)
        except EndlessError:
            failures.append(Failure(f"endless: {name}", LIMIT, "the run does not end"))
        except Exception as problem:  # noqa: BLE001 - whatever breaks
            failures.append(Failure(f"exception: {name}", 0.0, f"{type(problem).__name__}: {problem}"))
        else:
            failures += (Failure(f"{kind}: {name}", at, text) for kind, at, text in faults(world, outcomes[name]))
    failures += _worse(outcomes) if not any(map(greedy, world.jobs)) else ()
    failures += _unlike(world, outcomes)
    return Played(world.seed, failures, len(outcomes), len(world.jobs))


def once(world: SmallWorld, name: str) -> Outcome:
    """One run."""
    place, _, policy = name.partition(":")
    outages: dict[str, Any] = {"outages": world.outages} if place != "transfer" else {}
    with _limited():
        return run(world.workload, world.cluster, policy, world=place, seed=world.seed, **outages)


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _worse(outcomes: dict[str, Outcome]) -> Iterator[Failure]:
    """Jobs that another policy finishes and slackwater does not."""
    for ours, others in COMPARED.items():
        for theirs in others:
            if ours in outcomes and theirs in outcomes:
                mine, stock = outcomes[ours].jobs.status, outcomes[theirs].jobs.status
                lost = [
                    f"{row} ({mine[row]})"
                    for row in range(len(mine))
                    if stock[row] == FINISHED and mine[row] not in (FINISHED, REFUSED)
                ]
                if lost:
                    yield Failure(f"worse: {ours}", 0.0, f"{theirs} finishes jobs {', '.join(lost)}")


def _unlike(world: SmallWorld, outcomes: dict[str, Outcome]) -> Iterator[Failure]:
    """The same again gives the same; and so do the jobs written in another order, where no two come at once."""
    submits = [job.submit for job in world.jobs]
    for name in [*COMPARED, *world.policies[:1]]:
        if name not in outcomes:
            continue
        if _moments(outcomes[name]) != _moments(once(world, name)):
            yield Failure(f"not the same again: {name}", 0.0, "two runs of one seed differ")
        if len(set(submits)) == len(submits) > 1:
            turned = replace(world, jobs=world.jobs[::-1])
            if _moments(outcomes[name]) != _moments(once(turned, name)):
                yield Failure(f"order of lines: {name}", 0.0, "the jobs written in reverse end otherwise")


def _moments(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    jobs = outcome.jobs
    rows = zip(jobs.driver.tolist(), jobs.start.tolist(), jobs.end.tolist(), jobs.status.tolist(), strict=True)
    return {job.id: tuple(map(repr, row)) for job, row in zip(outcome.workload.jobs, rows, strict=True)}
