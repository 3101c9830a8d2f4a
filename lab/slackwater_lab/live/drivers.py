"""Who asks for what, and when: the drivers' part of the play as a state machine without clock or network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from slackwater_lab.live.workload import Part, Play

RUNNING, SUCCEEDED, FAILED, GONE = "Running", "Succeeded", "Failed", "Gone"
NEVER = math.nan


@dataclass(frozen=True, slots=True)
class Ask:
    """A pod that a job wants to exist; `part` is None for its driver."""

    name: str
    play: Play
    part: Part | None = None
    duration: float | None = None  # None: until it is told to end


@dataclass(slots=True)
class Course:
    """What became of one job, in seconds from the start of the play; NaN is never."""

    play: Play
    submitted: float = NEVER
    driver: float = NEVER  # its driver began to run
    first: float = NEVER  # its first task began to run
    ended: float = NEVER
    retries: int = 0

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return not math.isnan(self.ended)


@dataclass(slots=True)
class _Stage:
    part: Part
    ready: float = NEVER  # when it could ask
    asked: bool = False
    done: set[int] = field(default_factory=set)

    @property
    def tasks(self) -> int:
        return len(self.part.durations)


class Conductor:
    """Plays all drivers: told what pods do, it says which pods are wanted next and which drivers may end."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self.courses = [Course(play) for play in plays]
        self._stages = [{part.name: _Stage(part) for part in play.parts} for play in plays]
        self._pods: dict[str, tuple[int, str, int]] = {}  # pod → job, stage ("" for a driver), task
        self._attempts: dict[tuple[int, str, int], int] = {}

    @property
    def share(self) -> float:
        """The share of jobs that are over, 0 to 1."""
        return sum(course.over for course in self.courses) / max(1, len(self.courses))

    def seen(self, name: str, phase: str, now: float) -> list[Ask]:
        """A pod was seen in a phase; a task or driver that failed is asked for again."""
        if name not in self._pods:
            return []
        job, stage, task = self._pods[name]
        course = self.courses[job]
        if course.over:
            return []
        if phase == RUNNING:
            self._runs(course, stage, now)
        elif phase == SUCCEEDED:
            self._stages[job][stage].done.add(task) if stage else None
            del self._pods[name]
        elif phase in (FAILED, GONE):
            del self._pods[name]
            course.retries += 1
            course.driver = course.driver if stage else NEVER
            return [self._ask(job, stage, task)]
        return []

    def step(self, now: float) -> tuple[list[Ask], list[str]]:
        """The pods wanted now, and the drivers whose work is done."""
        asks: list[Ask] = []
        ends: list[str] = []
        for job, course in enumerate(self.courses):
            if course.over or now < course.play.submit:
                continue
            if math.isnan(course.submitted):
                course.submitted = now
                asks += [self._ask(job, "", 0)] if course.play.driver else []
            asks += self._tasks(job, course, now)
            if all(len(stage.done) == stage.tasks for stage in self._stages[job].values()) and self._led(course, now):
                course.ended = now
                ends += [name for name, place in self._pods.items() if place[0] == job and place[1] == ""]
        return asks, ends

    def _runs(self, course: Course, stage: str, now: float) -> None:
        if not stage and math.isnan(course.driver):
            course.driver = now
        if stage and math.isnan(course.first):
            course.first = now

    def _led(self, course: Course, now: float) -> bool:
        """Whether somebody is there to ask for tasks."""
        return course.play.driver is None or now >= course.driver + course.play.startup

    def _tasks(self, job: int, course: Course, now: float) -> Iterable[Ask]:
        if not self._led(course, now):
            return
        for name, stage in self._stages[job].items():
            if stage.asked or not self._due(job, stage):
                continue
            stage.ready = now if math.isnan(stage.ready) else stage.ready
            if now >= stage.ready + stage.part.delay:
                stage.asked = True
                yield from (self._ask(job, name, task) for task in range(stage.tasks))

    def _due(self, job: int, stage: _Stage) -> bool:
        parents = [self._stages[job][name] for name in stage.part.parents]
        wanted = sum(parent.tasks for parent in parents) * stage.part.start_after
        return sum(len(parent.done) for parent in parents) >= wanted - 1e-9

    def _ask(self, job: int, stage: str, task: int) -> Ask:
        place = (job, stage, task)
        attempt = self._attempts[place] = self._attempts.get(place, 0) + 1
        play = self.courses[job].play
        part = self._stages[job][stage].part if stage else None
        name = f"{play.id}-{stage or 'driver'}" + (f"-{task}" if stage else "") + (f"-{attempt}" if attempt > 1 else "")
        self._pods[name] = place
        return Ask(name, play, part, part.durations[task] if part else None)
