"""Everything of ours is gone under load, and comes back: what is created meanwhile runs, what was held is not lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.faults import requests
from slackwater_lab.faults.rules import Fault
from slackwater_lab.nodes.simulated import Shape
from support.lab.rescuelife import PODS, RescueLife, watchdog_behind
from support.lab.testcluster import Field
from support.lab.testnamespace import PLAIN, Ground, bound, gated, phase, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
# Seconds; SLACKWATER_REHEARSAL_PATIENCE=120 rehearses with the chart's own value, and SLACKWATER_REHEARSAL_AWAY=300.
PATIENCE = float(os.environ.get("SLACKWATER_REHEARSAL_PATIENCE", "12"))
AWAY = float(os.environ.get("SLACKWATER_REHEARSAL_AWAY", "40"))
OURS = (*OPERATORS, "extender", "slackwater-scheduler")
Tell = Callable[[str], None]


@pytest.fixture
def watchdog(arena: Field) -> Iterator[None]:
    """The watchdog as a process, as impatient as the rehearsal wants it."""
    settings = {"KUBECONFIG": str(arena.kubeconfig), "PATIENCE": f"{PATIENCE:g}", "PERIOD": "1", "RATE": "20"}
    environment = {**os.environ, **{f"SLACKWATER_WATCHDOG_{key}": value for key, value in settings.items()}}
    process = subprocess.Popen(
        [sys.executable, "-m", "slackwater_operator.lease.watchdog"], env=environment, stdout=subprocess.DEVNULL
    )
    yield
    process.send_signal(signal.SIGTERM)
    process.wait(20)


def test_without_anything_of_ours_new_pods_run_and_held_ones_are_not_lost(
    arena: Field, tell: Tell, watchdog: None
) -> None:
    """Operators, extender and our scheduler killed at once in mid-load, and back after a while."""
    assert watchdog is None
    crew = arena.crew()
    with arena.ground("deadman", nodes=2, shape=Shape(cpu="8", memory="32Gi")) as ground:
        _create(ground, "before", 60)
        ground.until_bound(12, 60)
        for name in OURS:
            crew.kill(name)
        gone = time.monotonic()
        try:
            waits = [_until_one_runs(ground, f"during-{number}", gone) for number in range(4)]
            tell(f"a pod created right after everything was killed ran after {waits[0]:.1f} s, patience {PATIENCE:g} s")
            tell(f"later ones after {', '.join(f'{each:.1f}' for each in waits[1:])} s, by the default scheduler")
            until("the gates are lifted", lambda: not any(map(gated, ground.pods())), 60 + PATIENCE, 0.3)
            tell(f"no pod was held any more {time.monotonic() - gone:.1f} s after everything was killed")
            until("everything was away for a while", lambda: time.monotonic() - gone > AWAY, AWAY + 1, 0.5)
        finally:
            crew.mend()
        back = time.monotonic()
        until("all are over", lambda: all(phase(pod) == "Succeeded" for pod in ground.pods()), 120, 0.5)
        tell(f"all {len(ground.pods())} pods over {time.monotonic() - back:.1f} s after everything was back")
        arena.until_held(ground)
        tell(f"pods were held again {time.monotonic() - back:.1f} s after everything was back")


def test_drivers_that_are_let_go_run_also_when_they_find_no_room_at_first(
    arena: Field, tell: Tell, watchdog: None
) -> None:
    """Only the operators die. What they wrote last, that drivers have no budget left, is no reason for ever."""
    assert watchdog is None
    crew = arena.crew()
    with arena.ground("frozen", nodes=1, shape=Shape(cpu="8", memory="32Gi")) as ground:
        # Longer than the extender counts on a pod that was let go: after that the filter looks at queues again.
        ground.create(ground.pod(f"d-{number}", role="driver", cpu="2", lasts=90.0) for number in range(6))
        ground.until_bound(1, 60)
        for name in OPERATORS:
            crew.kill(name)
        try:
            until("the gates are lifted", lambda: not any(map(gated, ground.pods())), 60 + PATIENCE, 0.3)
            ground.until_bound(6, 240)
        finally:
            crew.mend()
        arena.until_held(ground)  # else the watchdog could end before it has switched holding on for whoever comes next
        tell("drivers that were let go by the watchdog ran, the last ones when the first had ended")


def test_a_watchdog_that_dies_between_two_writes_lets_all_pods_go(arena: Field, tell: Tell) -> None:
    """It is started again while nobody leads: the switch stays off, and the rest goes without another patience."""
    with arena.ground("rescue", nodes=1) as ground, watchdog_behind(arena.own_lab()) as program:
        life = RescueLife(arena, ground, program)
        program.proxy.arm(requests.GATE, 1, Fault.KILLED)
        assert life.play() == {"pods": PODS, "turns": [True, False, True]}
        assert life.kills == 1
        tell(f"killed after its first gate: all pods were let go {life.took:.1f} s after the operators died")


def _create(ground: Ground, name: str, count: int) -> None:
    ground.create(
        ground.pod(f"{name}-{i:02}", app=f"{name}-{i % 3}", use=("900m", "100Mi"), lasts=3.0) for i in range(count)
    )


def _until_one_runs(ground: Ground, name: str, gone: float) -> float:
    """Create pods, one each second as a controller would, until one gets a node; seconds from the first creation."""
    began = time.monotonic()
    for number in range(round(PATIENCE) + 90):
        ground.create([ground.pod(f"{name}-{number:03}", cpu="100m", use=("50m", "10Mi"), lasts=1.0)])
        time.sleep(1.0)
        if any(pod["spec"]["schedulerName"] == PLAIN for pod in bound(ground.pods()) if _named(pod, name)):
            return time.monotonic() - began
    raise AssertionError(f"no pod {name} ran within {time.monotonic() - gone:.0f} s")


def _named(pod: dict[str, object], name: str) -> bool:
    meta = pod["metadata"]
    return isinstance(meta, dict) and str(meta["name"]).startswith(f"{name}-")
