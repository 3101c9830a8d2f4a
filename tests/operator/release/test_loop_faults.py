"""Evictions and resizes fail in turn, in every way: one eviction for each stall, no request raised twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from slackwater.resources import CPU, MEMORY, Resources
from slackwater_cluster import names
from slackwater_lab.faults import requests
from slackwater_lab.faults.rules import Fault, Watch
from slackwater_operator.learning.usage import ENOUGH
from support.fakes.cluster import World, node, owned
from support.fakes.faultyloop import FaultyLoopWorld
from support.fakes.memoryapi import GIB

BAD = [each for each in Watch if each is not Watch.PROMPT]
SHRUNK = {names.SHRUNK: "400/400"}


def _standing(made: World, app: str, where: str, cpu: float) -> None:
    """A driver on a node that a Job brings back; admission would not have let it in beside the others."""
    driver = made.create(f"{app}-driver", app=app, role=names.DRIVER, cpu=cpu, owners=[owned("Job", app)])
    made.change(driver.uid, node=where, gates=(), phase="Running", started=made.now, scheduled=made.now)


def in_each_others_way(made: World, step: int) -> None:
    """Two drivers fill the only node, and a task of each waits: the younger one is given up for the older one's."""
    if step:
        return
    made.add_nodes(node("a", cpu=8))
    for app in ("older", "younger"):
        _standing(made, app, "a", cpu=4)
        made.now += 1
        made.create(f"{app}-task", app=app, cpu=4)


def in_its_own_way(made: World, step: int) -> None:
    """A driver sits where the last of its gang has to run, and another app waits for what the gang may get."""
    if step:
        return
    made.add_nodes(node("large", cpu=24), node("small", cpu=8))
    _standing(made, "gang", "small", cpu=4)
    for number in range(5):
        made.create(f"task-{number}", app="gang", cpu=5, annotations={names.GANG: "true", names.TASKS: "5"})
    made.create("other", app="other", cpu=24)


def in_the_way_until_others_end(made: World, step: int) -> None:
    """The tasks of a driver come and go with it. They would fit beside it, were it not for a pod of others."""
    if step == 0:
        made.add_nodes(node("a", cpu=8))
        other = made.create("foreign", app="foreign", role=names.DRIVER, cpu=3, gates=(), scheduler="default-scheduler")
        made.change(other.uid, node="a", phase="Running", started=made.now)
        _standing(made, "own", "a", cpu=5)
        made.now += 1
        made.create("other", app="other", cpu=4)
    if step == 60:
        made.finish(next(pod.uid for pod in made.pods.values() if pod.name == "foreign"))


def out_of_memory(made: World, step: int) -> None:
    """Two tasks come to use 15 of 32 GiB each; a third one keeps to its word."""
    if step == 0:
        made.add_nodes(node("a", cpu=64, memory=32))
    for at, app in ((0, "elder"), (3, "fat"), (6, "modest")):
        if step == at:
            made.create(app, app=app, owners=[owned("Job", app, group="batch")])


def learned(made: World, step: int) -> None:
    """Requests were lowered to a quarter. Six tasks use all that they declared; the next four are given that."""
    if step == 0:
        made.add_nodes(node("a", cpu=24), node("b", cpu=24))
    for name, at, count in (("teacher", 0, ENOUGH + 1), ("pupil", 30, 4)):
        for number in range(count if step == at else 0):
            pod = made.create(f"{name}-{number}", app="school", cpu=4, memory=2, annotations=SHRUNK)
            made.change(pod.uid, native=Resources(cpu=1.0, memory=0.5 * GIB))


@dataclass(frozen=True)
class Life:
    """Work that arrives, what must be switched on for it, and the writes that are struck."""

    arrive: Callable[[World, int], None]
    kind: str
    writes: int  # of that kind, without faults
    evicted: list[str] = field(default_factory=list)  # without faults, in order
    lasts: float = 4.0
    least: int = 6  # steps
    executors: dict[str, float] = field(default_factory=dict)
    hungry: dict[str, float] = field(default_factory=dict)

    def play(self, **faults: Any) -> FaultyLoopWorld:
        """From the first pod to the end of the last one."""
        made = FaultyLoopWorld(kind=self.kind, executors=self.executors, hungry=self.hungry, **faults)
        made.configure("SlackPolicy", "default", mode="enforce", reclaim={"enabled": True})
        made.configure(
            "AdmissionQueue",
            "default",
            stall={"afterSeconds": 10, "evictYoungestDriver": True},
            relief={"evictYoungestTask": True},
        )
        made.namespace("team")
        made.play(self.arrive, self.lasts, least=self.least)
        return made


LIVES = {
    "a stall of two apps": Life(in_each_others_way, requests.EVICTION, 1, ["younger driver"]),
    "a driver in its own way": Life(in_its_own_way, requests.EVICTION, 1, ["gang driver"]),
    "a driver in the way for a while": Life(
        in_the_way_until_others_end, requests.EVICTION, 1, ["own driver"], executors={"own": 3.0}
    ),
    "memory": Life(
        out_of_memory, requests.EVICTION, 1, ["fat task"], lasts=60.0, hungry={"elder": 15, "fat": 15.5, "modest": 1}
    ),
    "resizes": Life(learned, requests.RESIZE, 4, lasts=15.0, least=31),
}
every_life = pytest.mark.parametrize("name", list(LIVES))


def end(made: FaultyLoopWorld) -> list[tuple[str, str, str, tuple[str, ...], bool, str]]:
    """What the cluster looks like when all is over; a pod that was replaced has another name."""
    return sorted(
        (pod.labels[names.APP], pod.labels[names.ROLE], pod.phase, pod.gates, pod.parked, "" if pod.node else "no node")
        for pod in made.pods.values()
    )


@cache
def undisturbed(name: str) -> FaultyLoopWorld:
    """The same life without a fault."""
    return LIVES[name].play()


@every_life
def test_the_life_has_as_many_such_writes_as_are_disturbed(name: str) -> None:
    """Else the tests below would leave some out."""
    life, made = LIVES[name], undisturbed(name)
    assert made.attempts == life.writes
    assert made.evicted == life.evicted
    assert made.resizes == ({f"pupil-{number}": 1 for number in range(4)} if life.kind == requests.RESIZE else {})


@every_life
@pytest.mark.parametrize("fault", list(Fault), ids=str)
def test_after_a_fault_at_any_eviction_or_resize_the_end_is_the_same(name: str, fault: Fault) -> None:
    """Nothing stranded, no room twice, nobody given up twice; requests are as learned or as they were, never higher."""
    life, usual = LIVES[name], end(undisturbed(name))
    for at in range(1, life.writes + 1):
        made = life.play(fault=fault, at=at)
        assert end(made) == usual, f"write {at}"
        assert made.kills == (fault is Fault.KILLED)
        assert made.evicted == life.evicted, f"write {at}"
        _raised_once(made)


@every_life
@pytest.mark.parametrize("watch", BAD, ids=str)
def test_bad_watches_give_up_nobody_twice(name: str, watch: Watch) -> None:
    """Four seeds, each with a program that is killed at such a write, or whose answer is lost."""
    life, usual = LIVES[name], end(undisturbed(name))
    for seed in range(4):
        fault = Fault.KILLED if seed % 2 else Fault.LOST
        made = life.play(watch=watch, seed=seed, fault=fault, at=1 + seed % life.writes)
        assert end(made) == usual, f"seed {seed}"
        assert made.evicted == life.evicted, f"seed {seed}"
        _raised_once(made)


def _raised_once(made: FaultyLoopWorld) -> None:
    """A request that is raised again by the same factor would be above what was declared."""
    for pod in made.pods.values():
        assert pod.native.fits(pod.declared), pod.name
        assert pod.native[CPU] / pod.declared[CPU] == pytest.approx(pod.native[MEMORY] / pod.declared[MEMORY])
