"""Freed slots, from times that are known."""

import pytest

from slackwater_lab.league.audit import PodTimes
from slackwater_lab.league.slots import slot_waits


def pod(created: float, bound: float | None, ended: float | None, node: str = "a") -> PodTimes:
    """A pod by its moments."""
    return PodTimes(created, bound, bound, ended, node if bound is not None else "")


def waits(*pods: PodTimes, cpu: float = 1.0, cores: float = 2.0) -> list[float]:
    """The waits of slots with pods of one size."""
    return slot_waits([(each, cpu) for each in pods], cores)


def test_a_freed_slot_waits_while_a_pod_does() -> None:
    """The first end is taken up 2 s later by a pod that waited; after the second nobody waited yet."""
    first, second = pod(0.0, 0.5, 10.0), pod(0.0, 0.5, 20.0)
    assert waits(first, second, pod(5.0, 12.0, 40.0), pod(30.0, 32.5, 40.0)) == [2.0]


def test_an_end_on_a_node_that_holds_more_than_it_has_frees_no_slot() -> None:
    """Three pods on two cores: the first end brings the node back to full, the second frees a slot."""
    crowd = [pod(0.0, 0.5, end) for end in (10.0, 20.0, 60.0)]
    assert waits(*crowd, pod(5.0, 21.5, 60.0)) == [1.5]


def test_a_slot_is_taken_by_the_next_binding_on_its_own_node() -> None:
    """A binding elsewhere leaves it empty."""
    ended = pod(0.0, 0.5, 10.0, "a")
    assert waits(ended, pod(1.0, 11.0, 60.0, "b"), pod(1.0, 14.0, 60.0, "a")) == [4.0]


def test_no_more_slots_count_than_pods_wait() -> None:
    """Of two slots that are freed, one pod takes one; the other is nobody's loss, also when a pod comes later."""
    ended = [pod(0.0, 0.5, 10.0), pod(0.0, 0.5, 10.0)]
    assert waits(*ended, pod(1.0, 11.0, 60.0), pod(50.0, 51.0, 60.0)) == [1.0]


@pytest.mark.parametrize(("cpu", "expected"), [(1.0, [2.0]), (1.5, [])], ids=["it fits", "it does not"])
def test_a_slot_that_no_waiting_pod_fits_into_is_none(cpu: float, expected: list[float]) -> None:
    """One core is free beside the other pod."""
    ended, other = (pod(0.0, 0.5, 10.0), 1.0), (pod(0.0, 0.5, 60.0), 1.0)
    assert slot_waits([ended, other, (pod(5.0, 12.0, 60.0), cpu)], 2.0) == expected


def test_a_pod_that_goes_before_it_is_bound_waits_no_longer() -> None:
    """It frees nothing, and nobody waits for the slot."""
    assert waits(pod(0.0, 0.5, 10.0), pod(1.0, None, 5.0), pod(20.0, 21.0, 60.0)) == []
