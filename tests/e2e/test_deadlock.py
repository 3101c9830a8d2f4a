"""Scenario 4: many drivers at once fill a small cluster; the tasks they need do not fit any more."""

from collections.abc import Callable

import pytest

from support.field import Field
from support.ground import OURS, PLAIN
from support.troupe import job, perform

pytestmark = pytest.mark.lab
JOBS = 40


def test_the_plain_scheduler_deadlocks_on_drivers(arena: Field) -> None:
    """16 drivers take all 16 CPUs, and no task ever runs."""
    with arena.ground("stall", managed=False) as ground:
        courses = perform(ground, arena.where, [job(f"job-{i:02}", 2, 1) for i in range(JOBS)], 12, PLAIN)
        assert sum(course.driver == course.driver for course in courses) == 16
        assert not any(course.first == course.first for course in courses)


def test_slackwater_lets_all_forty_finish(arena: Field, tell: Callable[[str], None]) -> None:
    """The same 40 jobs on the same nodes."""
    with arena.ground("flow") as ground:
        courses = perform(ground, arena.where, [job(f"job-{i:02}", 2, 1) for i in range(JOBS)], 80, OURS)
        assert all(course.over for course in courses)
        tell(f"40 jobs of 1 driver and 2 tasks over after {max(course.ended for course in courses):.1f} s")
