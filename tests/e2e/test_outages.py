"""Scenario 7, what stays away for a while: an extender that is dead, hangs or cannot be reached; all operators."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import PLAIN, Ground, bound, gated, until

pytestmark = pytest.mark.lab
AWAY = 6.0  # seconds; three times as long as our scheduler waits for an answer
NOWHERE = {"SLACKWATER_OPERATOR_EXTENDER_URL": "http://127.0.0.1:9", "SLACKWATER_OPERATOR_GRACE": "4"}
Tell = Callable[[str], None]


@pytest.mark.parametrize("how", ["dead", "hung"])
def test_without_an_extender_only_managed_pods_wait(arena: Field, tell: Tell, how: str) -> None:
    """Nothing of ours is placed, a stranger's pod runs as ever; when the extender is back, all go on."""
    crew = arena.crew()
    with arena.ground("away") as ground, arena.ground("stranger", nodes=1, managed=False) as other:
        (crew.kill if how == "dead" else crew.freeze)("extender")
        gone = time.monotonic()
        try:
            ground.create(ground.pod(f"task-{i}", app=f"app-{i % 2}") for i in range(8))
            other.create([other.pod("stranger", schedulerName=PLAIN)])
            other.until_bound(1, 20)
            until("the extender was away for a while", lambda: time.monotonic() - gone > AWAY, AWAY + 1)
            assert not bound(ground.pods())
        finally:
            crew.thaw("extender")
            crew.restart("extender")
        back = time.monotonic()
        ground.until_bound(8, 60)
        tell(f"all eight bound {time.monotonic() - back:.1f} s after the extender was back")


def test_an_operator_that_cannot_reach_the_extender_goes_by_declared_sums(arena: Field, tell: Tell) -> None:
    """After its grace time it lets as many go as 8 CPUs hold by declaration; reunited, as many as are really used."""
    lab = arena.own_lab()
    with arena.ground("cut", nodes=1) as ground:
        arena.until_measured(ground)
        ground.create(ground.pod(f"task-{i:02}", app="cut", use=("50m", "50Mi")) for i in range(3))
        ground.until_bound(3, 40)
        try:
            arena.stop_operators()
            lab.restart("operator", NOWHERE)
            cut = time.monotonic()
            ground.create(ground.pod(f"more-{i:02}", app="cut", use=("50m", "50Mi")) for i in range(12))
            ground.until_bound(7, 60)
            tell(f"released by declared sums {time.monotonic() - cut:.1f} s after the operator was cut off")
            until("the others are told why", lambda: _told(ground) >= 7, 30, 0.3)
            assert len(bound(ground.pods())) <= 8
        finally:
            arena.stop_operators()
            lab.repair()
        back = time.monotonic()
        ground.until_bound(15, 60)
        tell(f"all fifteen bound {time.monotonic() - back:.1f} s after operator and extender were reunited")


def test_without_an_extender_for_good_work_goes_on_by_declared_sums(arena: Field, tell: Tell) -> None:
    """After the grace time eight CPUs take eight tasks, bound without an extender; not one more until it is back."""
    lab, crew = arena.own_lab(), arena.crew()
    with arena.ground("gone", nodes=1) as ground:
        arena.until_measured(ground)
        try:
            arena.stop_operators()
            lab.restart("operator", {"SLACKWATER_OPERATOR_GRACE": "4"})
            crew.kill("extender")
            gone = time.monotonic()
            ground.create(ground.pod(f"task-{i:02}", app="gone", use=("50m", "50Mi")) for i in range(12))
            ground.until_bound(8, 60)
            tell(f"eight bound {time.monotonic() - gone:.1f} s after the extender was killed, grace 4 s")
            until("the others are told why", lambda: _told(ground) == 4, 30, 0.3)
            assert len(bound(ground.pods())) == 8
        finally:
            arena.stop_operators()
            crew.mend()
        back = time.monotonic()
        ground.until_bound(12, 60)
        tell(f"all twelve bound {time.monotonic() - back:.1f} s after the extender was back")


def test_gates_can_be_lifted_by_hand_while_no_operator_runs(arena: Field) -> None:
    """`slackwater release --all` frees what is held; the scheduler and the extender's filter do the rest."""
    crew = arena.crew()
    with arena.ground("byhand", nodes=1) as ground:
        arena.stop_operators()
        try:
            ground.create(ground.pod(f"task-{i}") for i in range(4))
            assert all(map(gated, ground.pods()))
            program = str(Path(sys.executable).with_name("slackwater"))
            command = [program, "release", "--all", "--yes", "-n", ground.name]
            environment = {**os.environ, "KUBECONFIG": str(arena.kubeconfig)}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)
            assert done.returncode == 0, done.stdout + done.stderr
            ground.until_bound(4, 30)
        finally:
            crew.mend()


def _told(ground: Ground) -> int:
    return sum("slackwater.io/reason" in pod["metadata"]["annotations"] for pod in ground.pods() if gated(pod))
