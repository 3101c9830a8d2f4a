"""Held pods while nobody leads, let go by a watchdog that may be killed after any of its writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from slackwater_cluster.admissionpolicies.mutating import HOLDING
from slackwater_lab.controlplane import access
from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.faults.behind import Behind, detour
from slackwater_lab.faults.proxy import FaultProxy
from slackwater_lab.lab import Lab
from slackwater_lab.processes.stealtime import Stopwatch
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, gated, phase, states
from support.lab.troubledlife import End

NAME = "watchdog"
PODS = 4
PATIENCE = 4.0  # seconds without a leader
SETTINGS = {
    "SLACKWATER_WATCHDOG_PATIENCE": f"{PATIENCE:g}",
    "SLACKWATER_WATCHDOG_PERIOD": "1",
    "SLACKWATER_WATCHDOG_RATE": "4",
}
SWITCH = f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{HOLDING}"


class WatchdogBehind(Behind):
    """The watchdog, which is no service of the lab, behind a proxy."""

    def start(self) -> None:
        """It serves nothing, so there is nothing to wait for."""
        way = detour(self.lab.site.kubeconfig, NAME, self.proxy.url)
        command = [sys.executable, "-m", "slackwater_operator.lease.watchdog"]
        self.lab.processes.start(NAME, command, {**self.settings, "SLACKWATER_WATCHDOG_KUBECONFIG": str(way)})


@contextmanager
def watchdog_behind(lab: Lab) -> Iterator[Behind]:
    """An impatient watchdog behind a proxy."""
    with FaultProxy(access.endpoint(lab.site), lambda: lab.processes.kill(NAME)) as proxy:
        program = WatchdogBehind(lab, NAME, proxy, SETTINGS)
        program.start()
        try:
            yield program
        finally:
            lab.processes.stop(NAME)


@dataclass
class RescueLife:
    """Every operator is killed, pods that are held are let go, and with a new operator pods are held again."""

    arena: Field
    ground: Ground
    program: Behind
    kills: int = 0
    usual: End = field(default_factory=dict)  # the end of a life without faults
    took: float = 0.0  # seconds from the death of the operators until no pod was held
    _turns: list[bool] = field(default_factory=list)  # what the switch was seen to be, one after the other

    def play(self, patience: float = 90.0) -> End:
        """From the death of the operators to the end of all pods; a watchdog that was killed is started again."""
        lab, watch = self.program.lab, Stopwatch()
        self._turns.clear()
        self.ground.clear()
        try:
            self._wait("pods are held", watch, patience, self._held)
            for name in OPERATORS:
                lab.processes.kill(name)
            dead = time.monotonic()
            self.ground.create(self.ground.pod(f"held-{number}", cpu="500m", lasts=1.0) for number in range(PODS))
            self._wait("all are let go", watch, patience, lambda: not any(map(gated, self.ground.pods())))
            self.took = time.monotonic() - dead
            self._wait("none is held any more", watch, patience, lambda: not self._held())
        finally:
            lab.restart("operator")
        self._wait("pods are held again", watch, patience, self._held)
        self._wait("all are over", watch, patience, lambda: {phase(pod) for pod in self.ground.pods()} == {"Succeeded"})
        found = {"pods": len(self.ground.pods()), "turns": list(self._turns)}
        self.ground.clear()
        return found

    def _wait(self, what: str, watch: Stopwatch, patience: float, probe: Callable[[], bool]) -> None:
        while not probe():
            assert watch.seconds < patience, f"{what}: not yet; {states(self.ground.pods())}; switch {self._turns}"
            self._look()
            time.sleep(0.1)
        self._look()

    def _look(self) -> None:
        """The switch goes off once, and on again once an operator leads."""
        if not self.program.alive:
            self.kills += 1
            self.program.start()
        on = bool((self.arena.api.find(SWITCH) or {}).get("subjects"))
        if self._turns[-1:] != [on]:
            self._turns.append(on)
        assert self._turns in ([True], [True, False], [True, False, True]), f"the switch went {self._turns}"

    def _held(self) -> bool:
        """Whether a pod that is created now would be held; a dry run leaves nothing behind."""
        made = self.arena.api.create(f"{self.ground.pods_path}?dryRun=All", self.ground.pod("canary"))
        return made is not None and gated(made)
