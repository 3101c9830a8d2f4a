"""Apps for a lab without end: as many pods wait as are asked for, whatever happens to them; what is over is deleted.

So the lab itself sets the rate: the next pods come when it has bound those before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from support.lab.testnamespace import Ground, Object, bound, gated, phase

SERIES = 30  # recurring apps
SUCCEEDED = {"fieldSelector": "status.phase=Succeeded", "gracePeriodSeconds": "0"}


@dataclass
class LabLoad:
    """Small apps of one to four tasks that use less than they declare."""

    ground: Ground
    waiting: int  # pods that shall wait at any time
    rng: Random = field(default_factory=lambda: Random(0))
    created: int = 0
    refused: int = 0
    over: int = 0  # seen to their end
    pods: list[Object] = field(default_factory=list)  # as last seen
    _runs: int = 0

    def turn(self) -> None:
        """Look, delete what is over, create what is missing."""
        self.look()
        missing = self.waiting - sum(gated(pod) for pod in self.pods)
        wanted: list[Object] = []
        while len(wanted) < missing:
            wanted += self._app()
        made = self.ground.create(wanted)
        self.created += len(made)
        self.refused += len(wanted) - len(made)

    def look(self) -> None:
        """List the pods; those that have succeeded are counted and deleted."""
        self.pods = self.ground.pods()
        done = sum(phase(pod) == "Succeeded" for pod in self.pods)
        if done:
            self.ground.api.delete(self.ground.pods_path, SUCCEEDED)
            self.over = self.created - sum(phase(pod) != "Succeeded" for pod in self.pods)

    def held_room(self) -> dict[str, set[str]]:
        """Pods that are bound and not over, by node."""
        found: dict[str, set[str]] = {name: set() for name in self.ground.nodes}
        for pod in bound(self.pods):
            if phase(pod) in ("Pending", "Running"):
                found.setdefault(pod["spec"]["nodeName"], set()).add(pod["metadata"]["uid"])
        return found

    def _app(self) -> list[Object]:
        self._runs += 1
        series = self.rng.randrange(SERIES)
        kind = Random(series)
        tasks, cores, lasts = kind.randint(1, 4), kind.choice((500, 1000, 2000)), kind.choice((3.0, 5.0, 10.0))
        use = (f"{cores * kind.randint(3, 9) // 10}m", "300Mi")
        app = f"etl{series}-{28_000_000 + self._runs}"
        return [
            self.ground.pod(f"{app}-{number}", app=app, cpu=f"{cores}m", memory="500Mi", use=use, lasts=lasts)
            for number in range(tasks)
        ]
