"""Which pods belong to the present run of an app."""

import math

import pytest

from slackwater.admission.currentrun import IDLE, PodLife, began

ALIVE = math.inf
X, Y = frozenset({"x"}), frozenset({"y"})


@pytest.mark.parametrize(
    ("pods", "start"),
    [
        ([], 0.0),
        ([PodLife(10, ALIVE)], 10),
        ([PodLife(10, 20), PodLife(30, ALIVE)], 10),
        ([PodLife(10, 20), PodLife(20 + IDLE, ALIVE)], 10),
        ([PodLife(10, 20), PodLife(21 + IDLE, ALIVE)], 21 + IDLE),
        ([PodLife(10, 20, X), PodLife(21 + IDLE, ALIVE, X)], 10),
        ([PodLife(10, 20, X), PodLife(21 + IDLE, ALIVE, Y)], 21 + IDLE),
        ([PodLife(10, 20, X), PodLife(9000, ALIVE), PodLife(9000, ALIVE, X)], 10),
        ([PodLife(10, ALIVE), PodLife(9000, 9001), PodLife(90_000, ALIVE)], 10),
        ([PodLife(10, 20), PodLife(9000, 9001), PodLife(90_000, 90_001)], 90_000),
    ],
    ids=[
        "no pod",
        "one",
        "a stage after the other",
        "just within the pause of a run",
        "a night later",
        "a night later, by the same object",
        "a night later, by another object",
        "a night later, and one of them by the same object",
        "one that never ends",
        "three nights",
    ],
)
def test_a_run_begins_after_a_long_pause(pods: list[PodLife], start: float) -> None:
    """Or never, where one object makes the pods; in whatever order they are given."""
    assert began(pods) == start
    assert began(pods[::-1]) == start
