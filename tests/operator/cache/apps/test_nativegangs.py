"""Kubernetes' own gangs at our gate: so many pods of a PodGroup start together, and the others come later."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slackwater_cluster.objects.records import PodGroupRecord, PodRecord
from support.fakes.cluster import World, enforcing, node

APP = "group/mpi"


def group(world: World, least: int, name: str = "mpi", namespace: str = "team") -> None:
    """The API server tells of a PodGroup; `least` 0 is one with the basic policy."""
    world.cache.set_pod_groups("v1alpha2", [PodGroupRecord(name=name, namespace=namespace, least=least)])


def members(world: World, *names: str, cpu: float = 1.0, **more: object) -> list[PodRecord]:
    """Pods that name the PodGroup `mpi`."""
    return [world.create(name, cpu=cpu, group="mpi", **more) for name in names]  # type: ignore[arg-type]  # of a pod


def test_a_gang_waits_until_as_many_pods_as_it_needs_exist() -> None:
    """Nobody wrote a label of ours: the PodGroup says how many."""
    world = enforcing(node("a", cpu=8))
    group(world, 3)
    members(world, "m0", "m1")
    operator = world.operator()
    assert operator.step() == 0
    assert operator.said(APP).reason == "gang-incomplete"
    assert operator.said(APP).sentence == "a gang starts with all of its 3 pods or none; there so far: 2"
    members(world, "m2")
    assert operator.step() == 3


def test_a_gang_goes_when_there_is_room_for_all_that_it_needs() -> None:
    """Two would fit, and wait for the third."""
    world = enforcing(node("a", cpu=4))
    other = world.create("other", cpu=2)
    operator = world.operator()
    operator.step()
    world.schedule()
    group(world, 3)
    members(world, "m0", "m1", "m2")
    assert operator.step() == 0
    assert operator.said(APP).reason == "gang-does-not-fit"
    world.finish(other.uid)
    assert operator.step() == 3


def test_pods_beyond_what_a_gang_needs_go_one_by_one_after_it() -> None:
    """A gang of three starts although five would not fit; the fourth and fifth go as room comes."""
    world = enforcing(node("a", cpu=4))
    group(world, 3)
    pods = members(world, "m0", "m1", "m2", "m3", "m4")
    operator = world.operator()
    assert operator.step() == 3
    assert world.released == [pod.uid for pod in pods[:3]]
    world.schedule()
    assert operator.step() == 1
    world.schedule()
    assert operator.step() == 0
    assert operator.said(APP).reason in {"no-room", "no-node-has-room"}
    world.finish(pods[0].uid)
    assert operator.step() == 1


def test_a_pod_that_is_made_anew_beside_a_running_gang_goes_alone() -> None:
    """With those that run it makes as many as the gang needs."""
    world = enforcing(node("a", cpu=4))
    group(world, 3)
    first = members(world, "m0", "m1", "m2")[0]
    operator = world.operator()
    operator.step()
    world.schedule()
    world.delete(first)
    members(world, "m0")
    assert operator.step() == 1


def test_a_gang_that_can_never_fit_is_refused_with_the_numbers() -> None:
    """Also before all of its pods exist."""
    world = enforcing(node("a", cpu=4))
    group(world, 9)
    members(world, "m0")
    operator = world.operator()
    operator.step()
    said = operator.said(APP)
    assert said.reason == "gang-larger-than-cluster"
    assert "all of its 9 pods or none" in said.sentence


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(lambda world: group(world, 0), id="a PodGroup without a gang policy"),
        pytest.param(lambda world: group(world, 3, namespace="other"), id="one of this name in another namespace"),
        pytest.param(lambda _: None, id="no API server that serves PodGroups"),
    ],
)
def test_pods_that_are_no_gang_go_one_by_one(told: Callable[[World], None]) -> None:
    """The group makes one app of them, and nothing more."""
    world = enforcing(node("a", cpu=2))
    told(world)
    members(world, "m0", "m1", "m2")
    operator = world.operator()
    assert operator.step() == 2
    assert operator.said(APP).held == 1


def test_pods_wait_for_a_group_that_does_not_exist_yet() -> None:
    """As kube-scheduler lets none of them in before."""
    world = enforcing(node("a", cpu=8))
    world.cache.pod_groups.served = lambda: True
    members(world, "m0", "m1")
    operator = world.operator()
    assert operator.step() == 0
    assert operator.said(APP).reason == "being-looked-up"
    assert "names PodGroup 'mpi', which does not exist" in operator.said(APP).sentence
    group(world, 2)
    assert operator.step() == 2


def test_a_smaller_number_lets_a_gang_go() -> None:
    """From 1.37 on it may be changed."""
    world = enforcing(node("a", cpu=8))
    group(world, 3)
    members(world, "m0", "m1")
    operator = world.operator()
    assert operator.step() == 0
    group(world, 2)
    assert operator.step() == 2


def test_a_driver_that_is_one_of_the_gang_goes_with_it() -> None:
    """kube-scheduler binds none of them alone: tasks that wait for their driver to run would wait for ever."""
    world = enforcing(node("a", cpu=8))
    group(world, 3)
    driver = members(world, "head", role="driver", app="ray")
    tasks = members(world, "w0", "w1", app="ray")
    operator = world.operator()
    assert operator.step() == 3
    assert set(world.released) == {pod.uid for pod in (*driver, *tasks)}


def test_an_app_with_two_gangs_starts_with_what_both_need() -> None:
    """The third of the first comes later."""
    world = enforcing(node("a", cpu=8))
    group(world, 2)
    group(world, 2, name="second")
    members(world, "m0", "m1", "m2", app="both")
    world.create("s0", group="second", app="both")
    operator = world.operator()
    assert operator.step() == 0
    assert operator.said("both").sentence == "a gang starts with all of its 4 pods or none; there so far: 3"
    world.create("s1", group="second", app="both")
    assert operator.step() == 4
    assert operator.step() == 1


def test_a_group_of_several_apps_is_left_to_kube_scheduler() -> None:
    """Each app has two of four pods and would wait for ever; while one app alone names the group, it is a gang."""
    world = enforcing(node("a", cpu=8))
    group(world, 4)
    members(world, "m0", "m1", app="one")
    operator = world.operator()
    assert operator.step() == 0
    world.delete(*members(world, "m2", app="two"))
    assert operator.step() == 0
    assert operator.said("one").reason == "gang-incomplete"
    members(world, "m2", "m3", app="two")
    assert operator.step() == 4
