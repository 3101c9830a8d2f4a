"""A rolling upgrade of extender and operators while pods are created, behind an address that follows readiness.

Without samples no node may hold more than it declares: room that is given twice would show.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from slackwater.errors import SlackwaterError
from slackwater_lab.controlplane.front import Front
from slackwater_lab.controlplane.schedulers import Extender
from slackwater_lab.controlplane.services import EXTENDERS, OPERATORS
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.processes.stealtime import Stopwatch
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, Object, bound, declared_cpu, gated, phase, states, until

pytestmark = pytest.mark.lab
Tell = Callable[[str], None]
CORES = 8
NODE = Shape(cpu=str(CORES), memory="32Gi")
EVERY = 0.25  # seconds between two creations
BACKLOG = 40  # pods that wait from the beginning, so that something could be released at any moment
GOODBYE = 3.0  # seconds between the last new connection and the word to stop: the chart's preStop


@pytest.fixture
def front(arena: Field) -> Iterator[Front]:
    """Operators and our scheduler reach the extender through one address; nothing is measured."""
    lab = arena.own_lab()
    lab.processes.kill("prometheus")
    with Front({name: lab.site.ports[name] for name in EXTENDERS}) as made:
        lab.call_extender(Extender(made.url))
        for name in OPERATORS:
            _upgrade_operator(lab, name, made)
        yield made
        lab.restart("extender")
        lab.processes.stop("extender-2")
        for name in OPERATORS:
            lab.processes.stop(name)
            lab.restart(name)
        lab.call_extender(Extender(lab.site.url("extender")))


def _upgrade_operator(lab: Lab, name: str, front: Front) -> None:
    lab.processes.stop(name)
    lab.restart(name, {"SLACKWATER_OPERATOR_EXTENDER_URL": front.url})


def _upgrade_extender(lab: Lab, front: Front, old: str, new: str) -> None:
    """As a Deployment with a surge of one: the next is ready before the one before it is told to stop."""
    lab.restart(new)
    until(f"{new} is ready", lambda: new in front.ready, 30)
    front.leave(old)
    time.sleep(GOODBYE)
    lab.processes.stop(old)
    front.join(old)


@dataclass
class Load:
    """Pods that are created all the time by somebody who notes what is refused, and what is seen of them meanwhile."""

    arena: Field
    ground: Ground
    refused: list[str] = field(default_factory=list)
    made: int = 0
    pause: float = 0.0  # the longest time of ours without a bind while pods were held
    bound: int = 0

    def play(self, change: Callable[[], None]) -> None:
        """Create and look while the change is made, and for some seconds more."""
        self.ground.create(self._pod(number) for number in range(BACKLOG))
        self.ground.until_bound(CORES, 60)
        over = threading.Event()
        with ThreadPoolExecutor(2) as pool:
            changing, creating = pool.submit(change), pool.submit(self._create, over)
            changing.add_done_callback(lambda _: over.set())
            try:
                self._look(over)
            finally:
                over.set()
            changing.result()
            creating.result()
        self.ground.until_done(BACKLOG + self.made, 180)

    def _pod(self, number: int) -> Object:
        return self.ground.pod(f"task-{number:04}", app=f"app-{number % 5}", lasts=2.0)

    def _create(self, over: threading.Event) -> None:
        with self.arena.own_lab().api() as api:
            while not over.wait(EVERY):
                try:
                    assert api.create(self.ground.pods_path, self._pod(BACKLOG + self.made)) is not None
                except (SlackwaterError, AssertionError) as problem:
                    self.refused.append(str(problem))
                self.made += 1

    def _look(self, over: threading.Event) -> None:
        watch, last, known, more = Stopwatch(), 0.0, 0, 3.0
        ended = 0.0
        while not ended or watch.seconds < ended + more:
            pods = self.ground.pods()
            _no_room_twice(pods)
            now, count = watch.seconds, len(bound(pods))
            if count > known or not any(gated(pod) for pod in pods):
                known, last = max(known, count), now
            self.pause, self.bound = max(self.pause, now - last), known
            ended = ended or (now if over.is_set() else 0.0)
            time.sleep(0.1)


def _no_room_twice(pods: Sequence[Object]) -> None:
    here = defaultdict(list)
    for pod in pods:
        node = pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName")
        if node and phase(pod) in ("Pending", "Running"):
            here[node].append(pod)
    for node, those in here.items():
        assert declared_cpu(those) <= CORES, f"room of {node} was given twice: {states(those)}"


@pytest.fixture
def load(arena: Field, front: Front) -> Iterator[Load]:
    """Two nodes without samples."""
    with arena.ground("upgrade", nodes=2, shape=NODE) as ground:
        until("samples are stale", lambda: all(arena.node(name)["stale"] for name in ground.nodes), 60, 0.5)
        yield Load(arena, ground)


def test_extenders_are_upgraded_one_after_the_other_without_a_gap(
    arena: Field, front: Front, load: Load, tell: Tell
) -> None:
    """Four times the next one is ready before the one before it goes."""
    lab = arena.own_lab()

    def change() -> None:
        for old, new in (EXTENDERS, EXTENDERS[::-1], EXTENDERS, EXTENDERS[::-1]):
            _upgrade_extender(lab, front, old, new)

    load.play(change)
    tell(f"4 upgrades, {load.made} pods created, longest time without a bind {load.pause:.1f} s, {load.bound} bound")
    assert load.refused == []
    assert load.pause < 5


def test_operators_are_upgraded_one_after_the_other_without_a_gap(
    arena: Field, front: Front, load: Load, tell: Tell
) -> None:
    """Each is told to stop and started anew, twice: the leader gives its Lease back."""
    lab = arena.own_lab()

    def change() -> None:
        for name in OPERATORS * 2:
            _upgrade_operator(lab, name, front)

    load.play(change)
    tell(f"4 upgrades, {load.made} pods created, longest time without a bind {load.pause:.1f} s, {load.bound} bound")
    assert load.refused == []
    assert load.pause < 5


def test_one_of_two_extenders_is_killed_and_the_other_goes_on(
    arena: Field, front: Front, load: Load, tell: Tell
) -> None:
    """Both serve at once, then either dies without a word: no room twice, and no long gap."""
    lab = arena.own_lab()
    lab.restart(EXTENDERS[1])
    until("both are ready", lambda: len(front.ready) == 2, 30)

    def change() -> None:
        for name in EXTENDERS:
            lab.processes.kill(name)
            time.sleep(6)
            lab.restart(name)
            until("both are ready", lambda: len(front.ready) == 2, 30)

    load.play(change)
    tell(f"2 kills, {load.made} pods created, longest time without a bind {load.pause:.1f} s, {load.bound} bound")
    assert load.refused == []
    assert load.pause < 5
