"""Apps that live in a World: drivers that start tasks, jobs, gangs; lost pods come back where a controller exists."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from support.fakes.cluster import Operator, World, owned


@dataclass
class Life:
    """One app from submission to end."""

    world: World
    name: str
    tasks: int = 2
    cpu: float = 1.0
    driver_cpu: float = 0.0  # 0: the app has no driver
    seconds: float = 10.0
    gang: bool = False
    announces: bool = True  # says beforehand how many tasks there will be
    priority: int = 0
    namespace: str = "team"
    done: int = 0
    made: int = 0
    generation: int = 0
    driver: str = ""
    running: set[str] = field(default_factory=set)
    over: bool = False

    def begin(self) -> Life:
        """Submit it."""
        if self.driver_cpu:
            self._new_driver()
        else:
            self._fill()
        return self

    def step(self) -> None:
        """Live on: start tasks, end tasks, replace what was lost."""
        if self.over:
            return
        for uid in list(self.running):
            self._look(uid)
        if not self.driver_cpu:
            self._fill()
            self.over = self.done >= self.tasks
            return
        boss = self.world.pods.get(self.driver)
        if boss is None:
            self._orphaned()
        elif boss.node:
            self._fill()
            if self.done >= self.tasks:
                self.world.finish(boss.uid)
                self.over = True

    def _look(self, uid: str) -> None:
        pod = self.world.pods.get(uid)
        if pod is None:  # lost with its node, or evicted: a task that did not end is made again
            self.running.discard(uid)
            self.made -= 1
        elif pod.node and self.world.now - pod.started >= self.seconds:
            self.world.finish(uid)
            self.running.discard(uid)
            self.done += 1

    def _orphaned(self) -> None:
        """Tasks of a lost driver go with it; a new driver starts over with what is not done."""
        self.world.delete(*(pod for uid in self.running if (pod := self.world.pods.get(uid)) is not None))
        self.made -= len(self.running)
        self.running.clear()
        self._new_driver()

    def _new_driver(self) -> None:
        self.generation += 1
        annotations = {}
        if self.announces:
            annotations = {names.TASKS: str(self.tasks), names.TASK_CPU: f"{self.cpu:g}", names.TASK_MEMORY: "1Gi"}
        self.driver = self.world.create(
            f"{self.name}-driver-{self.generation}",
            cpu=self.driver_cpu,
            role="driver",
            app=self.name,
            annotations=annotations,
            owners=[owned("Controller", self.name)],
            priority=self.priority,
            namespace=self.namespace,
        ).uid

    def _fill(self) -> None:
        while self.made < self.tasks:
            self.made += 1
            self.running.add(self._task().uid)

    def _task(self) -> PodRecord:
        self.generation += 1
        annotations = {names.GANG: "true", names.TASKS: str(self.tasks - self.done)} if self.gang else {}
        return self.world.create(
            f"{self.name}-{self.generation}",
            cpu=self.cpu,
            app=self.name,
            annotations=annotations,
            priority=self.priority,
            namespace=self.namespace,
        )


def live(world: World, operator: Operator, lives: list[Life], seconds: int) -> int:
    """Let everything live until all is over or the time is up; returns the seconds it took."""
    for second in range(seconds):
        operator.step(0)
        world.schedule()
        world.now += 1
        for life in lives:
            life.step()
        if all(life.over for life in lives):
            return second
    return seconds


def play(world: World, operator: Operator, seconds: float) -> None:
    """Rounds and bindings for so long, every five seconds."""
    until = world.now + seconds
    while world.now < until:
        operator.step(5.0)
        world.schedule()
