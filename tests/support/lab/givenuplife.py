"""Lives on a lab in which pods are evicted or resized, while the operator may be killed after any such write.

Whoever looks on is the controller that brings evicted pods back: a Job would wait ten seconds before it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_lab.processes.stealtime import Stopwatch
from support.lab.testnamespace import LABEL, PLAIN, QUEUES, Ground, Object, phase, until
from support.lab.troubledlife import End, TroubledLife

OWNER = "kube-root-ca.crt"  # any object that is there: what it controls is taken for brought back by somebody
STALL = {"afterSeconds": 10, "evictYoungestDriver": True}
RELIEF = {"evictYoungestTask": True, "memoryPercent": 90}
LOOK = 10.0  # seconds between two looks of the operator at use
SMALL, LARGE = ("50m", "100Mi"), ("50m", "7500Mi")  # use of a task that declares 1 GiB, on a node of 16


@dataclass
class ControlledLife(TroubledLife):
    """Pods of one controller: one that is evicted is made anew at once, by another name."""

    uids: dict[str, set[str]] = field(default_factory=dict)  # of the pods there were, by app and role

    def _arrive(self) -> None:
        self.uids.clear()

    def _owned(self, name: str, app: str, role: str, cpu: str, use: tuple[str, str] | None = None) -> Object:
        path = f"/api/v1/namespaces/{self.ground.name}/configmaps/{OWNER}"
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": OWNER, "controller": True}
        pod = self.ground.pod(name, app=f"{app}-{self._round}", role=role, cpu=cpu, use=use)
        pod["metadata"]["ownerReferences"] = [{**owner, "uid": self.arena.api.get(path)["metadata"]["uid"]}]
        return pod

    def _bring_back(self, pods: list[Object], app: str, role: str, cpu: str, **more: Any) -> None:
        """What a controller does; and note whom there was."""
        mine = [pod for pod in pods if _is(pod, f"{app}-{self._round}", role)]
        seen = self.uids.setdefault(f"{app} {role}", set())
        seen |= {pod["metadata"]["uid"] for pod in mine}
        if not any("deletionTimestamp" not in pod["metadata"] for pod in mine):
            self.ground.create([self._owned(f"{app}-{role}-{len(seen)}", app, role, cpu, **more)])

    def _finish(self, pods: list[Object]) -> None:
        """They have done what they were for."""
        for pod in pods:
            if phase(pod) == "Running":
                path = f"{self.ground.pods_path}/{pod['metadata']['name']}/status"
                self.arena.api.patch(path, {"status": {"phase": "Succeeded"}}, MERGE)

    def _end(self) -> End:
        """Names of pods tell how often they were made: whoever was evicted twice has another one."""
        return {**super()._end(), "made": {whose: len(uids) for whose, uids in self.uids.items()}}


@dataclass
class StallLife(ControlledLife):
    """A driver holds what its task and another app need, while a pod of others has the second node."""

    foreign: Ground | None = None  # where that pod is

    @property
    def _apps(self) -> tuple[str, ...]:
        return "own", "other"

    def _arrive(self) -> None:
        super()._arrive()
        assert self.foreign is not None
        self.arena.api.patch(f"{QUEUES}/{self.ground.name}", {"spec": {"stall": STALL}}, MERGE)
        self.foreign.clear()
        chosen: dict[str, Any] = {
            "nodeSelector": {"kubernetes.io/hostname": self.ground.nodes[1]},
            "schedulerName": PLAIN,
        }
        self.foreign.create([self.foreign.pod("filler", role="", cpu="3500m", **chosen)])
        self.foreign.until_bound(1, 60)
        self._bring_back([], "own", "driver", "2")
        self.ground.until_bound(1, 90)
        self.ground.create([self._pod("task", "own", "3"), self._pod("other", "other", "3")])

    def _over(self) -> bool:
        """The filler goes once the other app has got on; then the driver that was given up gets on, too."""
        assert self.foreign is not None
        pods = self.ground.pods()
        self._no_room_twice(pods)
        self._bring_back(pods, "own", "driver", "2")
        over = {pod["metadata"]["name"] for pod in pods if phase(pod) == "Succeeded"}
        if "other" in over and self.foreign.pods():
            self.foreign.clear()
        if "task" in over:
            self._finish(pods)
        return len(pods) == 3 == len(over)


@dataclass
class MemoryLife(ControlledLife):
    """Two tasks outgrow what they declared until their node nears its limit: the younger one goes, alone."""

    _calm: Stopwatch | None = None  # since the one that was evicted is back

    @property
    def _apps(self) -> tuple[str, ...]:
        return "elder", "fat"

    def _arrive(self) -> None:
        super()._arrive()
        self._calm = None
        self.arena.api.patch(f"{QUEUES}/{self.ground.name}", {"spec": {"relief": RELIEF}}, MERGE)
        for app in self._apps:
            self._bring_back([], app, "task", "100m", use=SMALL)
            name = f"{app}-task-0"
            until(f"{name} runs", lambda name=name: phase(self.ground.get(name)) == "Running", 90, 0.2)  # type: ignore[misc]
            later = Stopwatch()
            until("the next one is younger", lambda later=later: later.seconds > 1.1)  # type: ignore[misc]
        for app in self._apps:
            self.ground.use(f"{app}-task-0", *LARGE)

    def _owned(self, name: str, app: str, role: str, cpu: str, use: tuple[str, str] | None = None) -> Object:
        """All on one node."""
        pod = super()._owned(name, app, role, cpu, use)
        pod["spec"]["nodeSelector"] = {LABEL: self.ground.name, "kubernetes.io/hostname": self.ground.nodes[0]}
        return pod

    def _over(self) -> bool:
        """Over once two more looks gave up nobody else."""
        pods = self.ground.pods()
        for app in self._apps:
            self._bring_back(pods, app, "task", "100m", use=SMALL)
        running = [pod for pod in pods if phase(pod) == "Running" and "deletionTimestamp" not in pod["metadata"]]
        if self._calm is None and len(running) == 2 and len(self.uids["fat task"]) > 1:
            self._calm = Stopwatch()
        if self._calm is not None and self._calm.seconds > 2 * LOOK + 2:
            self._finish(pods)
        return len(pods) == 2 and all(phase(pod) == "Succeeded" for pod in pods)


@dataclass
class ResizeLife(TroubledLife):
    """Tasks use what they declared, although their requests were lowered: the next ones are given that again."""

    teachers: int = 6
    pupils: int = 3
    learning: float = 14.0  # seconds of a teacher: more than a look at use

    @property
    def _apps(self) -> tuple[str, ...]:
        return ("school",)

    def _arrive(self) -> None:
        self.arena.policy("default", {"mode": "enforce", "reclaim": {"enabled": True}})
        use = ("400m", "200Mi")
        self.ground.create(self._task(f"teacher-{number}", use, self.learning) for number in range(self.teachers))
        self.ground.until_done(self.teachers, 120)
        learned = Stopwatch()
        until("what they used is learned", lambda: learned.seconds > LOOK + 3, 60)
        self.ground.create(self._task(f"pupil-{number}", use, self.lasts) for number in range(self.pupils))

    def _task(self, name: str, use: tuple[str, str], lasts: float) -> Object:
        """Of a stage of its own in each life: what was learned in the one before it says nothing of this one."""
        app, stage = f"school-{self._round}", {"slackwater.io/stage": f"lesson-{self._round}"}
        return self.ground.pod(name, app=app, cpu="400m", memory="200Mi", use=use, lasts=lasts, labels=stage)

    def _over(self) -> bool:
        pods = self.ground.pods()
        self._no_room_twice(pods)
        for pod in pods:
            asked, declared = _cpu(pod), _declared(pod["metadata"]["annotations"])
            assert declared / 2 <= asked <= declared, f"{pod['metadata']['name']} asks for {asked} of {declared}"
        return len(pods) == self.teachers + self.pupils and all(phase(pod) == "Succeeded" for pod in pods)


def _is(pod: Object, app: str, role: str) -> bool:
    labels = pod["metadata"]["labels"]
    return bool(labels["slackwater.io/app"] == app and labels["slackwater.io/role"] == role)


def _cpu(pod: Object) -> float:
    return parse_quantity(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _declared(marks: Mapping[str, str]) -> float:
    return parse_quantity(marks["slackwater.io/declared-cpu"])
