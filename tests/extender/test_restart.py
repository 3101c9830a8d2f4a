"""A restart in mid-traffic decides as if it had never happened, within a stated tolerance.

What a restart forgets, per node and kind, with keep = 1 − a and damping rescaled to tau0:

    Σ over pods that finished:  use · keep^(seconds since / tau0)
    Σ over pods that run:       RR · keep^(age / tau0) · (1 − keep^(heartbeat / tau0))

Equation 4 leaves in B what was learned of a pod, and nobody knows when within a heartbeat a pod began. Both fade with
the damping: at heartbeats of 5 s to a hundredth within 35 s for cpu and 17 minutes for memory.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from slackwater.estimation.growth import OLD
from support.builders import objects
from support.builders.ledgers import table_without
from support.fakes.extender import START, World, pod_record, world

KEEP, HEARTBEAT = 0.875, 5.0
TAU = np.array([1.0, 30.0])
REQUEST = np.array([2.0, 2.0 * 2**30])
NODES = 6


def node_name(index: int) -> str:
    return f"n{index}"


class Traffic:
    """Pods that come, run and go by a seed, shown to any number of worlds."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.pods: dict[str, dict[str, Any]] = {}
        self.use: dict[str, float] = {}
        self.number = 0
        self.ended: list[tuple[str, float, float]] = []  # node, cpu use, when

    def fresh(self) -> World:
        """An extender that has just started and listed what there is."""
        made = world(*[objects.node(node_name(index)) for index in range(NODES)])
        made.show(*self.pods.values())
        return made

    def step(self, made: World) -> None:
        """Some pods come and are bound as the world decides, some finish, everything is measured."""
        made.clock.now += 5
        for _ in range(self.rng.randrange(4)):
            self.arrive(made)
        for name in [name for name in self.pods if self.rng.random() < 0.02]:
            made.show({**self.pods[name], "status": {"phase": "Succeeded"}})
            self.ended.append((self.pods.pop(name)["spec"]["nodeName"], self.use[name], made.clock.now))
        self.measure(made)

    def arrive(self, made: World) -> None:
        """One pod is asked about on all nodes and bound on the first accepted one."""
        self.number += 1
        name = f"p{self.number}"
        pod = objects.pod(name, cpu="1", annotations=objects.declared("2", "2Gi"))
        nodes = sorted(made.filter(pod, *[node_name(index) for index in range(NODES)])["NodeNames"])
        if nodes:
            self.use[name] = self.rng.choice([0.2, 0.5, 1.0])
            started = START + made.clock.now - 1000.0 - 1.0
            status = {"containerStatuses": [{"name": "c", "state": {"running": {"startedAt": stamp(started)}}}]}
            bound = objects.pod(
                name, cpu="1", annotations=objects.declared("2", "2Gi"), node=nodes[0], phase="Running", status=status
            )
            self.pods[name] = bound
            made.show(bound)

    def measure(self, made: World) -> None:
        """Steady use, seen in full."""
        pods = {f"uid-batch-{name}": (self.use[name], 5e8) for name in self.pods}
        nodes = {}
        for index in range(NODES):
            here = [self.use[name] for name, pod in self.pods.items() if pod["spec"]["nodeName"] == node_name(index)]
            nodes[node_name(index)] = (0.3 + sum(here), 5e8 * (1 + len(here)))
        made.sample(nodes, pods)

    def tolerance(self, node: str, now: float) -> np.ndarray:
        """What a restart may forget on a node, by kind."""
        ended = [(use, now - when) for where, use, when in self.ended if where == node]
        here = [pod for pod in self.pods.values() if pod["spec"]["nodeName"] == node]
        ages = [START + now - 1000.0 - pod_record(pod).started for pod in here]
        left = sum(np.array([use, 5e8]) * KEEP ** (since / TAU) for use, since in ended)
        young = sum(REQUEST * KEEP ** (age / TAU) * (1 - KEEP ** (HEARTBEAT / TAU)) for age in ages)
        # A pod that had settled is watched anew, unless it is old enough to be taken at its word.
        settling = sum(age < 2 * OLD for age in ages) * REQUEST
        return np.asarray(left + young + settling + np.array([1e-6, 1.0]))


def stamp(seconds: float) -> str:
    return np.datetime_as_string(np.datetime64(int(seconds), "s")) + "Z"


@pytest.mark.parametrize("seed", range(6))
def test_a_restarted_extender_has_the_same_room(seed: int) -> None:
    """After its first sample, node by node."""
    traffic = Traffic(seed)
    made = traffic.fresh()
    traffic.measure(made)
    for _ in range(40):
        traffic.step(made)
    again = traffic.fresh()
    made.parts.cache.ledger.expire(1e12)
    made.clock.now += 5
    again.clock.now = made.clock.now
    for each in (made, again):
        traffic.measure(each)
    now = made.clock.now
    mine, theirs = made.parts.cache.ledger.table(now), again.parts.cache.ledger.table(now)
    assert mine.names == theirs.names
    np.testing.assert_allclose(mine.native, theirs.native, atol=1e-6)
    for row, name in enumerate(mine.names):
        assert (np.abs(mine.room[row] - theirs.room[row]) <= traffic.tolerance(name, now)).all()


@pytest.mark.parametrize("seed", range(4))
def test_traffic_goes_on_with_the_same_decisions(seed: int) -> None:
    """The same questions after a restart get the same answers, but for pods that fit by less than the tolerance."""
    traffic = Traffic(seed)
    made = traffic.fresh()
    traffic.measure(made)
    for _ in range(30):
        traffic.step(made)
    again = traffic.fresh()
    made.clock.now += 5
    again.clock.now = made.clock.now
    made.parts.cache.ledger.expire(1e12)
    for each in (made, again):
        traffic.measure(each)
    names = [node_name(index) for index in range(NODES)]
    for size in (1, 2, 4, 8):
        question = objects.pod(f"new-{size}", cpu=str(size))
        answers = [set(each.filter(question, *names)["NodeNames"]) for each in (made, again)]
        for node in answers[0] ^ answers[1]:
            table = table_without(made.parts.cache.ledger, f"uid-batch-new-{size}", made.clock.now)
            assert abs(table.room[table.index[node], 0] - size) <= traffic.tolerance(node, made.clock.now)[0]


def test_before_the_first_sample_a_restarted_extender_overcommits_nothing() -> None:
    """Stale means reservations: the room is what declared requests leave of the node, as stock would count it."""
    traffic = Traffic(1)
    made = traffic.fresh()
    traffic.measure(made)
    for _ in range(40):
        traffic.step(made)
    again = traffic.fresh()
    again.clock.now = made.clock.now
    assert again.parts.cache.ledger.table(made.clock.now).old().all()
    for node in again.get("/v1/nodes")["nodes"]:
        for kind in ("cpu", "memory"):
            left = max(0.0, node["allocatable"][kind] - node["declared"][kind])
            assert max(0.0, node["room"][kind]) <= left + 1e-6


def test_a_bind_shortly_before_the_restart_does_not_make_a_pod_young() -> None:
    """Age counts from the container's start in the API, not from when we first saw the pod."""
    started = objects.running("2025-12-31T23:00:00Z")
    made = world(objects.node("n"))
    made.show(objects.pod("old", cpu="8", node="n", phase="Running", status=started))
    made.sample({"n": (1.0, 1e9)}, {"uid-batch-old": (0.5, 1e8)})
    assert made.get("/v1/nodes/n")["resources"]["cpu"]["estimate"] == pytest.approx(1.0)
