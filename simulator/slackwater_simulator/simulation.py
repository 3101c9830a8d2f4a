"""Entry point: plays a workload on a cluster under a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from slackwater.errors import BadNumber, InvalidInput, UnknownName
from slackwater.validation import once
from slackwater_simulator.policies.registry import policies, variant, worlds_of
from slackwater_simulator.workload.imputation import with_memory_by_cores
from slackwater_simulator.workload.kinds import aligned

if TYPE_CHECKING:
    from slackwater_simulator.results.outcome import Outcome
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload

__all__ = ["WORLDS", "Progress", "policies", "run"]

# Called now and then with the share of jobs that are over, 0 to 1.
Progress = Callable[[float], None]
# World → module with `simulate(workload, cluster, policy, seed, progress, options) -> Outcome`.
WORLDS = {
    "yarn": "slackwater_simulator.worlds.yarn.world",
    "ideal": "slackwater_simulator.worlds.yarn.ideal",
    "kubernetes": "slackwater_simulator.worlds.kubernetes.world",
    "transfer": "slackwater_simulator.worlds.transfers.world",
}


def run(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    *,
    seed: int = 0,
    world: str = "auto",
    progress: Progress | None = None,
    **options: object,
) -> Outcome:
    """Play the workload. Options are the settings of the world and of the policy, by name.

    The policy may bring options of its own, `capacity?calculator=dominant`, which win; it is called so in the outcome.

    World `auto` is YARN for applications with drivers and the ideal world (no heartbeats, no delays) for plain batch
    logs, whose jobs nobody would ask containers for; where the policy does not live there, the first world it does.
    """
    chosen = choose(workload, [policy]) if world == "auto" else world
    if chosen not in WORLDS:
        raise UnknownName("world", chosen, WORLDS)
    name, own = variant(policy)
    settings = {**options, **own}
    # Batch policies, which live in the ideal world alone, count every kind by itself; the others look at memory first.
    told, nodes = aligned(workload, cluster)
    if worlds_of(name) != ("ideal",):
        told = with_memory_by_cores(told, nodes)
    outcome: Outcome = import_module(WORLDS[chosen]).simulate(told, nodes, name, seed, progress, settings)
    return outcome if policy == outcome.policy else replace(outcome, policy=policy)


def seed_numbers(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds: so many from 0 on, or those of a list. One that stands there twice would count twice in every mean."""
    listed = seeds if isinstance(seeds, Iterable) and not isinstance(seeds, str) else range(_whole(seeds))
    numbers = tuple(_whole(seed) for seed in listed)
    if not numbers:
        raise InvalidInput("seeds", "there is none", "give a list such as [0, 1], or how many")
    once("seeds", numbers)
    return numbers


def _whole(seed: object) -> int:
    """A whole number from 0 on, of any library."""
    number = -1 if isinstance(seed, bool) or not isinstance(seed, SupportsIndex) else index(seed)
    if number < 0:
        raise BadNumber("seeds", seed, "give whole numbers from 0 on")
    return number


def choose(workload: Workload, names: Sequence[str] = ()) -> str:
    """The world that suits a workload and that all these policies live in.

    Jobs with a driver or with stages run task by task, as in YARN; others all at once. Outcomes of different worlds
    cannot be compared, so policies that have no world in common are refused.
    """
    by_task = any(job.driver is not None or len(job.stages) > 1 for job in workload.jobs)
    preferred = "yarn" if by_task else "ideal"
    common = [world for world in (preferred, *WORLDS) if all(world in worlds_of(name) for name in names)]
    if not common:
        lists = "; ".join(f"{name}: {', '.join(worlds_of(name))}" for name in names)
        raise InvalidInput("policy", f"{', '.join(names)} have no world in common ({lists})", "play them apart")
    return common[0]
