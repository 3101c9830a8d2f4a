"""Kinds of resources beyond cpu and memory meet by name, in every world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, Node, uniform
from slackwater_simulator.workload.kinds import aligned
from slackwater_simulator.workload.workload import GIBI
from support.builders.jobs import job, stage, workload

POLICIES = [("kube", "kubernetes"), ("slackwater", "kubernetes"), ("slackwater", "yarn"), ("fair", "yarn")]
POLICIES += [("capacity", "yarn"), ("fifo", "ideal"), ("static-reservation?reserve=1&base=fifo", "yarn")]
POLICIES += [("drf", "yarn"), ("ffd-dp", "ideal"), ("fcfs", "ideal"), ("easy", "ideal"), ("dress", "ideal")]
JOBS = replace(
    workload(
        job("gpu", stage("map", 2, 5.0, (1.0, GIBI, 4.0)), driver=None),
        job("plain", stage("map", 2, 5.0, (1.0, GIBI, 0.0)), driver=None),
    ),
    kinds=("cpu", "memory", "nvidia"),
)


def machines(**extra: float) -> Cluster:
    """Two nodes with so much of further kinds."""
    capacity = (8.0, 16 * GIBI, *extra.values())
    return Cluster("gpus", (Node("a", capacity), Node("b", capacity)), ("cpu", "memory", *extra))


@pytest.mark.parametrize(("policy", "world"), POLICIES)
@pytest.mark.parametrize("extra", [{"amd": 8.0, "nvidia": 1.0}, {"amd": 8.0}, {}])
def test_what_no_node_has_of_a_kind_is_refused(extra: dict[str, float], policy: str, world: str) -> None:
    """Eight of another kind do not serve four of this one; who asks for none of it runs."""
    outcome = run(JOBS, machines(**extra), policy, world=world)
    assert outcome.jobs.status.tolist() == [REFUSED, FINISHED]
    assert measure(outcome).finished == 1


@pytest.mark.parametrize(("policy", "world"), POLICIES)
def test_what_is_there_of_a_kind_serves_wherever_it_stands(policy: str, world: str) -> None:
    """The cluster names another kind before it."""
    outcome = run(JOBS, machines(amd=0.0, nvidia=4.0), policy, world=world)
    assert outcome.jobs.status.tolist() == [FINISHED, FINISHED]


def test_kinds_in_one_order_are_left_alone() -> None:
    """Nothing is copied where cluster and workload agree."""
    cluster = uniform(1, 4, GIBI)
    jobs = workload(job("a", stage("map", 1, 5.0)))
    assert aligned(jobs, cluster) == (jobs, cluster)
    assert aligned(jobs, cluster)[0] is jobs
