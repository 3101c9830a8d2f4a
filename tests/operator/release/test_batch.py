"""How many releases of a round are written at once, and which."""

from __future__ import annotations

from slackwater.cycle.queuepass import Release
from slackwater.cycle.snapshot import PodGroup
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_operator.release.batch import batch

GROUP = PodGroup("tasks", Role.TASK, Resources(cpu=1.0))


def releases(queue: str, count: int, *, gang: bool = False) -> list[Release]:
    """Pods of one app of a queue, in order."""
    return [Release(f"{queue}{number}", f"{queue}/app", GROUP, queue=queue, gang=gang) for number in range(count)]


def test_no_more_than_were_asked_for_go_at_once() -> None:
    """One from each queue in turn, so that none takes all the room before the others."""
    asked = releases("a", 100) + releases("b", 100)
    assert [each.uid for each in batch(asked, 4)] == ["a0", "b0", "a1", "b1"]
    assert len(batch(asked, 1000)) == 200


def test_a_gang_is_not_cut_in_two() -> None:
    """All of its pods go, though fewer were asked for."""
    assert [each.uid for each in batch(releases("a", 3, gang=True) + releases("b", 9), 2)] == ["a0", "a1", "a2"]
