"""Rounds of the release loop while no extender answers: what is released, by what, and how long that takes."""

import time

from slackwater_cluster.objects.records import Constraints, Requirement
from support.fakes.cluster import enforcing, node
from support.fakes.loop import Away


def test_extender_away_holds_then_releases_by_declared_sums() -> None:
    """Within the grace time nothing is released; afterwards declared sums decide, and nothing is overcommitted."""
    world = enforcing(node("a", cpu=4))
    for number in range(6):
        world.create(f"task-{number}", app="etl")
    operator = world.operator(grace=10)
    operator.releaser.places = operator.upkeep.places = Away()
    assert operator.step(5) == 0
    assert "extender" in operator.said("etl").sentence
    operator.step(6)
    operator.step()
    assert len(world.released) == 4


def test_without_the_extender_pods_of_long_affinities_hold_up_nobody() -> None:
    """Each was held against each node with room by itself: a round of these took four seconds, now half of one."""
    world = enforcing(*[node(f"n{number}", cpu=4) for number in range(1000)])
    unlike = tuple(Requirement(f"k{number}", "NotIn", ("v",)) for number in range(256))
    for number in range(64):
        world.create(f"task-{number}", app=f"a{number}", constraints=Constraints(terms=(unlike,)))
    operator = world.operator(grace=10)
    operator.releaser.places = operator.upkeep.places = Away()
    operator.step(5)
    began = time.process_time()
    operator.step(6)
    operator.step()
    assert time.process_time() - began < 2
    assert len(world.released) == 64
