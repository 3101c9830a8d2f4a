"""A scheduler that queues a PodGroup as one: nobody of it stays behind our gate while others of it are on their way."""

from __future__ import annotations

import pytest

from slackwater_cluster.objects.records import PodGroupRecord, PodRecord
from support.fakes.cluster import World, enforcing, node


def grouped(version: str, least: int, count: int, cpu: float = 4) -> tuple[World, list[PodRecord]]:
    """A node, and pods of one core that name a PodGroup; `least` 0 is one with the basic policy."""
    world = enforcing(node("a", cpu=cpu))
    world.cache.set_pod_groups(version, [PodGroupRecord(name="mpi", namespace="team", least=least)])
    return world, [world.create(f"m{number}", group="mpi") for number in range(count)]


def gated(world: World, pods: list[PodRecord]) -> list[str]:
    """The names of those that are behind our gate."""
    return [pod.name for pod in pods if world.pods[pod.uid].gated]


def parked(world: World, pods: list[PodRecord]) -> list[str]:
    """The names of those that our filter refuses."""
    return [pod.name for pod in pods if world.pods[pod.uid].parked]


@pytest.mark.parametrize("least", [3, 0], ids=["a gang", "no gang"])
def test_in_1_37_what_waits_leaves_the_gate_parked_with_those_that_go(least: int) -> None:
    """One pod behind a gate keeps kube-scheduler from all of its group; our filter keeps it back as well."""
    world, pods = grouped("v1beta1", least, count=5, cpu=4)
    operator = world.operator()
    going = operator.step()
    assert going == (least or 4)
    assert gated(world, pods) == []
    assert parked(world, pods) == [pod.name for pod in pods[going:]]
    for _ in range(3):
        world.schedule()
        operator.step()
    assert [world.pods[pod.uid].node for pod in pods] == ["a"] * 4 + [""]
    world.finish(pods[0].uid)
    operator.step()
    assert parked(world, pods) == []


def test_in_1_36_what_waits_stays_behind_its_gate() -> None:
    """There a gated pod is left out, and the others are looked at."""
    world, pods = grouped("v1alpha2", 3, count=5, cpu=3)
    operator = world.operator()
    assert operator.step() == 3
    assert gated(world, pods) == ["m3", "m4"]


def test_nobody_leaves_the_gate_before_the_first_of_its_group_goes() -> None:
    """A gang that is not complete is held as ever, and so is one that has gone to its nodes."""
    world, pods = grouped("v1beta1", 3, count=2)
    operator = world.operator()
    operator.step()
    assert gated(world, pods) == ["m0", "m1"]
    pods.append(world.create("m2", group="mpi"))
    operator.step()
    world.schedule()
    world.create("other", cpu=1, app="other")
    operator.step()
    world.schedule()
    pods.append(world.create("late", group="mpi"))
    operator.step()
    assert gated(world, pods) == ["late"]


def test_pods_of_other_groups_stay_where_they_are() -> None:
    """Only a PodGroup of the same namespace and name is queued with them."""
    world, pods = grouped("v1beta1", 0, count=5, cpu=4)
    operator = world.operator()
    operator.step()
    other = world.create("other", group="other")
    alone = world.create("alone")
    operator.step()
    assert gated(world, pods) == []
    assert gated(world, [other, alone]) == ["other", "alone"]


def test_a_pod_that_cannot_be_written_is_tried_again() -> None:
    """The API server is away for a moment."""
    world, pods = grouped("v1beta1", 3, count=4, cpu=3)
    world.broken = lambda path: path.endswith("/m3")
    operator = world.operator()
    operator.step()
    assert gated(world, pods) == ["m3"]
    world.broken = lambda _: False
    operator.step()
    assert parked(world, pods) == ["m3"]
