"""Pods of managed namespaces that name another scheduler: nothing of ours keeps them."""

import pytest

from slackwater_cluster import names
from support.fakes.cluster import enforcing, node


def test_pods_of_another_scheduler_are_told_so() -> None:
    """Nobody keeps a gate on them: they wait for a scheduler that is not ours."""
    world = enforcing(node("a"))
    world.create("task", app="etl", gates=(), scheduler="volcano")
    operator = world.operator()
    operator.step()
    said = operator.said("etl")
    assert (said.reason, said.sentence.split(":")[0]) == ("another-scheduler", "another scheduler is named by 1 pod")


@pytest.mark.parametrize("namespace", ["team", "plain"])
def test_our_gate_is_lifted_from_pods_of_another_scheduler(namespace: str) -> None:
    """A copied manifest brought it: nobody else would ever lift it. Gates of others stay."""
    world = enforcing(node("a"))
    pod = world.create("task", app="etl", scheduler="volcano", namespace=namespace, gates=(names.GATE, "example.com/x"))
    operator = world.operator()
    for _ in range(8):
        operator.step()
    assert world.pods[pod.uid].gates == ("example.com/x",)
    assert len(world.cache.in_flight) == 0
