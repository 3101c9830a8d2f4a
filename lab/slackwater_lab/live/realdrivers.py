"""A play with real drivers: they ask for tasks themselves, so only submitting and looking on is left."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slackwater_lab.live.drivers import FAILED, GONE, NEVER, RUNNING, SUCCEEDED, Ask, Conductor, Course
from slackwater_lab.live.workload import Play


class Director:
    """As the Conductor, for jobs whose drivers are programs. Jobs without a driver are still asked for by us."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self._alone = Conductor([play for play in plays if play.driver is None])
        self._driven = [Course(play) for play in plays if play.driver is not None]
        self._drivers: dict[str, Course] = {}
        self._tasks = {
            f"{course.play.id}-{part.name}-{number}": course
            for course in self._driven
            for part in course.play.parts
            for number in range(len(part.durations))
        }
        known = {course.play.id: course for course in (*self._alone.courses, *self._driven)}
        self.courses = [known[play.id] for play in plays]

    @property
    def share(self) -> float:
        """The share of jobs that are over, 0 to 1."""
        return sum(course.over for course in self.courses) / max(1, len(self.courses))

    def seen(self, name: str, phase: str, now: float) -> list[Ask]:
        """A pod was seen in a phase; a driver that failed is asked for again and finds the tasks of the first."""
        task, driver = self._tasks.get(name), self._drivers.get(name)
        if task is not None and phase == RUNNING and math.isnan(task.first):
            task.first = now
        if driver is not None and not driver.over:
            return self._driver(driver, name, phase, now)
        return [] if task is not None or driver is not None else self._alone.seen(name, phase, now)

    def step(self, now: float) -> tuple[list[Ask], list[str]]:
        """The pods wanted now; drivers end by themselves."""
        asks, _ = self._alone.step(now)
        for course in self._driven:
            if math.isnan(course.submitted) and now >= course.play.submit:
                course.submitted = now
                asks.append(self._ask(course))
        return asks, []

    def _driver(self, course: Course, name: str, phase: str, now: float) -> list[Ask]:
        if phase == RUNNING and math.isnan(course.driver):
            course.driver = now
        elif phase == SUCCEEDED:
            course.ended = now
        elif phase in (FAILED, GONE):
            del self._drivers[name]
            course.retries, course.driver = course.retries + 1, NEVER
            return [self._ask(course)]
        return []

    def _ask(self, course: Course) -> Ask:
        name = f"{course.play.id}-driver" + (f"-{course.retries + 1}" if course.retries else "")
        self._drivers[name] = course
        return Ask(name, course.play)
