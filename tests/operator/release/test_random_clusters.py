"""Random clusters in virtual time: whatever is thrown at it, every app that can run does, and every hold adds up.

`SLACKWATER_RANDOM_CLUSTERS=2000 pytest tests/operator/release/test_random_clusters.py` plays that many of each kind.
"""

from __future__ import annotations

import asyncio
import os
import random

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from slackwater.cycle.appverdicts import WaitReason
from slackwater_cluster.objects.records import NodeRecord
from support.builders.apps import Life
from support.examples import examples
from support.fakes.cluster import Operator, World, enforcing, node

CLUSTERS = int(os.environ.get("SLACKWATER_RANDOM_CLUSTERS", examples(120)))
# A failing cluster takes seconds to play: it is shown as found, not searched for a smaller one.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)

# An app: tasks, cpu of a task, cpu of the driver (0: none), seconds, gang, announces its size, priority.
apps = st.lists(
    st.tuples(
        st.integers(1, 8),
        st.sampled_from([0.5, 1.0, 2.0, 3.0]),
        st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0]),
        st.integers(1, 15),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 0, 0, 10]),
    ),
    min_size=1,
    max_size=12,
)
# Found: of a gang (the tenth app) one member ended, its node was lost with it, and another leader took over.
REST_OF_A_GANG = [
    (7, 0.5, 0.0, 12, False, True, 0),
    (1, 3.0, 1.0, 12, False, False, 10),
    (4, 1.0, 0.0, 14, True, False, 10),
    (7, 1.0, 0.0, 9, False, False, 0),
    (3, 0.5, 2.0, 14, True, False, 0),
    (5, 3.0, 0.5, 3, False, True, 10),
    (2, 3.0, 0.0, 9, False, True, 0),
    (7, 0.5, 1.0, 12, True, False, 0),
    (8, 1.0, 0.0, 1, True, False, 0),
    (4, 3.0, 0.0, 7, True, False, 0),
    (3, 3.0, 2.0, 4, False, False, 0),
    (8, 2.0, 1.0, 2, False, False, 0),
]
nodes = st.lists(st.sampled_from([4.0, 8.0, 16.0]), min_size=2, max_size=5)


def check(world: World, operator: Operator) -> None:
    """What must hold after every round."""
    assert len(world.released) == len(set(world.released)), "a gate was lifted twice"
    result = operator.releaser.result
    assert result is not None
    queue = result.snapshot.queues[0]
    for verdict in result.round.verdicts.values():
        numbers = verdict.numbers
        assert verdict.sentence
        if verdict.reason is WaitReason.BUDGET:
            assert numbers["charged"] + numbers["ask"] > numbers["budget"] - 1e-6  # type: ignore[operator]
        if verdict.reason is WaitReason.ROOM:
            assert numbers["ask"] > numbers["free"] - 1e-6  # type: ignore[operator]
            assert numbers["free"] <= queue.free[str(numbers["kind"])] + 1e-6  # type: ignore[operator]
        if verdict.reason is WaitReason.WHOLE:
            assert numbers["ask"] > numbers["free"] - 1e-6  # type: ignore[operator]
        if verdict.reason is WaitReason.WINDOW:
            assert numbers["flight"] >= numbers["window"]  # type: ignore[operator]
    for name in world.nodes:
        assert world.left(name)["cpu"] >= -1e-6, "a node was filled past what it has"


def play(world: World, lives: list[Life], trouble: random.Random | None, limit: int = 3000) -> int:
    """Live until all is over; with trouble, nodes die and leaders change. Returns the seconds it took."""
    with asyncio.Runner() as runner:
        operator = world.operator()
        operator.run = runner.run
        spare: list[NodeRecord] = []
        for second in range(limit):
            operator.step(0)
            check(world, operator)
            world.schedule()
            world.now += 1
            for life in lives:
                life.step()
            if all(life.over for life in lives):
                return second
            if trouble is not None and second < 200 and trouble.random() < 0.05:
                operator = misfortune(world, operator, trouble, spare)
            if spare and (second % 40 == 39 or second >= 200):
                world.add_nodes(spare.pop())
        waiting = {life.name: operator.said(life.name).sentence for life in lives if not life.over}
        raise AssertionError(f"not over after {limit} s: {waiting}")


def misfortune(world: World, operator: Operator, trouble: random.Random, spare: list[NodeRecord]) -> Operator:
    """A node is lost with its pods, or another leader takes over; returns who leads now."""
    if len(world.nodes) > 1 and trouble.random() < 0.5:
        name = trouble.choice(sorted(world.nodes))
        spare.append(world.nodes[name])
        world.lose_node(name)
        return operator
    fresh = world.restart()
    fresh.run = operator.run
    fresh.take_over()
    return fresh


def submit(world: World, wanted: list[tuple[int, float, float, int, bool, bool, int]], biggest: float) -> list[Life]:
    """Apps that can run on this cluster, at least one driver and one task of each at a time."""
    lives = []
    for number, (tasks, cpu, driver, seconds, gang, announces, priority) in enumerate(wanted):
        fits = min(cpu, biggest / 2)
        whole = sum(each.allocatable["cpu"] for each in world.nodes.values())
        lives.append(
            Life(
                world,
                f"app-{number}",
                tasks=tasks,
                cpu=fits,
                driver_cpu=min(driver, biggest / 2),
                seconds=seconds,
                gang=gang and not driver and tasks * fits <= whole / 2,
                announces=announces,
                priority=priority,
            ).begin()
        )
    return lives


@settings(max_examples=CLUSTERS, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
@given(wanted=apps, sizes=nodes, pooled=st.booleans(), fair=st.booleans())
def test_every_app_runs_to_its_end(
    wanted: list[tuple[int, float, float, int, bool, bool, int]], sizes: list[float], pooled: bool, fair: bool
) -> None:
    """No deadlock, no pod gated for ever while room exists, no double release."""
    world = enforcing(*(node(f"n{number}", cpu=cpu) for number, cpu in enumerate(sizes)))
    world.configure("AdmissionQueue", "default", order="fair" if fair else "fifo")
    if pooled:
        world.configure("ReservationPool", "pool", queue="default")
    play(world, submit(world, wanted, min(sizes)), None)


@settings(max_examples=CLUSTERS, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
@given(wanted=apps, sizes=nodes, pooled=st.booleans(), seed=st.integers(0, 2**32))
@example(wanted=REST_OF_A_GANG, sizes=[16.0, 4.0, 16.0], pooled=False, seed=316)
def test_every_app_survives_lost_nodes_and_new_leaders(
    wanted: list[tuple[int, float, float, int, bool, bool, int]], sizes: list[float], pooled: bool, seed: int
) -> None:
    """Nodes die with their pods and come back, leaders change; what has a controller ends well all the same."""
    world = enforcing(*(node(f"n{number}", cpu=cpu) for number, cpu in enumerate(sizes)))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 60, "evictYoungestDriver": True})
    if pooled:
        world.configure("ReservationPool", "pool", queue="default")
    play(world, submit(world, wanted, min(sizes)), random.Random(seed))


@pytest.mark.parametrize("seed", range(3))
def test_a_few_hundred_apps_of_all_kinds(seed: int) -> None:
    """A larger mix, once per seed."""
    rng = random.Random(seed)
    world = enforcing(*(node(f"n{number}", cpu=rng.choice([8.0, 16.0])) for number in range(6)))
    world.configure("ReservationPool", "pool", queue="default")
    wanted = [
        (
            rng.randint(1, 6),
            rng.choice([0.5, 1.0, 2.0]),
            rng.choice([0.0, 0.5, 1.0]),
            rng.randint(1, 8),
            rng.random() < 0.2,
            rng.random() < 0.7,
            0,
        )
        for _ in range(100)
    ]
    play(world, submit(world, wanted, 8.0), rng)
