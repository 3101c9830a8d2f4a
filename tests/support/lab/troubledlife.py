"""A small life of apps on a lab, played while programs meet faults: what must hold all the time, and in the end."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from slackwater.errors import Unavailable
from slackwater_lab.faults.behind import Behind
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.processes.stealtime import Stopwatch
from slackwater_operator.status.events import AGAIN, COMPONENT
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, Object, bound, declared_cpu, gated, phase, states

NODE = Shape(cpu="4", memory="16Gi")
CORES = 4.0
TRACKED = "/apis/slackwater.io/v1alpha1/namespaces/{}/trackedapps"
LASTS = 1.5  # seconds of a task
End = dict[str, Any]


@dataclass
class TroubledLife:
    """Two apps that ask for more than two nodes have. Without samples no node may hold more than it declares."""

    arena: Field
    ground: Ground
    programs: Sequence[Behind]
    each_look: Callable[[], None] = lambda: None
    kills: int = 0
    usual: End = field(default_factory=dict)  # the end of a life without faults
    limit: float = CORES  # of what pods of one node declare; with samples it is the ceiling that must be kept
    lasts: float = LASTS  # seconds of a task; long ones let others wait until that is worth an Event
    use: tuple[str, str] | None = None  # what a pod really takes, where it is measured
    late: int = 0  # further apps of one task each, that wait as wholes: their wait and their start are told in Events
    _round: int = 0

    def play(self, patience: float = 150.0) -> End:
        """From creation to the end of all pods; programs that were killed are started again."""
        self._round += 1
        self._revive()
        before = self.kills
        self.ground.clear()  # a play before this one may have failed and left its pods
        self._arrive()
        watch = Stopwatch()
        while not self._over():
            assert watch.seconds < patience, f"stranded: {states(self.ground.pods())}"
            self._revive()
            self.each_look()
            time.sleep(0.2)
        self._revive()
        found = self._settled(watch, patience)
        self._no_flood(1 + self.kills - before + int(watch.seconds / AGAIN))
        self.ground.clear()
        return found

    def _arrive(self) -> None:
        pods = [self._pod("driver", "etl", "1", role="driver", lasts=3 * self.lasts)]
        pods += [self._pod(f"batch-{number}", "batch", "2") for number in range(3)]
        pods += [self._pod(f"etl-{number}", "etl", "1500m") for number in range(4)]
        pods += [self._pod(f"late-{number}", f"late{number}", "2") for number in range(self.late)]
        self.ground.create(pods)

    def _pod(self, name: str, app: str, cpu: str, role: str = "task", lasts: float = 0.0) -> Any:
        whose, lasts = f"{app}-{self._round}", lasts or self.lasts
        return self.ground.pod(name, app=whose, role=role, cpu=cpu, use=self.use, lasts=lasts)

    @property
    def _apps(self) -> tuple[str, ...]:
        return ("etl", "batch", *(f"late{number}" for number in range(self.late)))

    def _over(self) -> bool:
        """Whether all are over; meanwhile no room is given twice, by what was declared."""
        pods = self.ground.pods()
        self._no_room_twice(pods)
        return len(pods) == 8 + self.late and all(phase(pod) == "Succeeded" for pod in pods)

    def _no_room_twice(self, pods: Iterable[Object]) -> None:
        here = defaultdict(list)
        for pod in pods:
            node = pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName")
            if node and phase(pod) in ("Pending", "Running"):
                here[node].append(pod)
        for node, those in here.items():
            assert declared_cpu(those) <= self.limit, f"room of {node} was given twice: {states(those)}"

    def _revive(self) -> None:
        for program in self.programs:
            if not program.alive:
                self.kills += 1
                with suppress(Unavailable):  # killed again before it served: by the write that its start begins with
                    program.start()

    def _settled(self, watch: Stopwatch, patience: float) -> End:
        """What is left once nothing is charged any more and the objects of both apps say so."""
        while (found := self._end())["charged"] or not found["told"]:
            assert watch.seconds < patience, f"left behind: {found}"
            self._revive()  # the last write may be the one that kills
            time.sleep(0.2)
        return found

    def _no_flood(self, most: int) -> None:
        """Each Event of ours is told once, and once more by each new process, which cannot know."""
        listed = self.arena.api.items(f"/api/v1/namespaces/{self.ground.name}/events")
        told = Counter(
            (each["involvedObject"]["uid"], each["involvedObject"]["name"], each["reason"])
            for each in listed
            if (each.get("source") or {}).get("component") == COMPONENT
        )
        assert max(told.values(), default=0) <= most, f"told more than {most} times: {told.most_common(3)}"

    def _end(self) -> End:
        pods = self.ground.pods()
        tracked = (self.arena.api.find(TRACKED.format(self.ground.name)) or {"items": []})["items"]
        mine = {each["spec"]["app"]: each.get("status", {}).get("phase") for each in tracked}
        return {
            "pods": {pod["metadata"]["name"]: (phase(pod), gated(pod), bool(bound([pod]))) for pod in pods},
            "parked": [
                pod["metadata"]["name"] for pod in pods if "slackwater.io/parked" in pod["metadata"]["annotations"]
            ],
            "charged": {name: cores for name in self.ground.nodes if (cores := self._charged(name))},
            "told": all(mine.get(f"{app}-{self._round}") == "Finished" for app in self._apps),
        }

    def _charged(self, node: str) -> float:
        """Cores that pods of a node declared, without what sums of fractions leave behind; unknown is not nothing."""
        return round(float(self.arena.node(node).get("declared", {}).get("cpu", math.inf)), 6)
