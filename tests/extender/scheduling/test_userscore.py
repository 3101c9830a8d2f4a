"""A score of somebody else in mode observe: remembered, never in force, never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from slackwater.errors import InvalidInput
from slackwater_extender.scheduling.userscore import UserScore
from support.builders import objects
from support.fakes.extender import World, world

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def observed(score: Any, mode: str = "observe") -> World:
    """Two nodes, of which ours packs the smaller one; the score is the example's, or the given function."""
    settings = {"decisions": {"score": score}} if isinstance(score, str) else {}
    made = world(objects.node("large", cpu="32"), objects.node("small", cpu="4"), mode=mode, settings=settings)
    if not isinstance(score, str):
        object.__setattr__(made.parts.verbs, "own", UserScore("test", score))
    made.sample({"large": (0.0, 0.0), "small": (0.0, 0.0)})
    return made


def decided(made: World, *names: str) -> dict[str, Any]:
    """What is remembered of a filter request."""
    pod = objects.pod("t", cpu="1", annotations=objects.declared("2", "1Gi"))
    made.filter(pod, *(names or ("large", "small")))
    (found,) = made.get("/v1/decisions")["decisions"]
    return dict(found)


def test_the_example_is_remembered_beside_our_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emptiest node is the large one."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = decided(observed("emptiest_first:score"))
    assert (found["result"], found["own"]) == ("observed", "large")


def test_it_is_asked_in_observe_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where decisions are in force, nobody else is asked."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    assert decided(observed("emptiest_first:score", mode="enforce"))["own"] == ""


def test_a_node_that_does_not_serve_is_not_chosen() -> None:
    """However much the score likes it."""
    made = observed(lambda table, ask: np.arange(len(table)))
    pod = objects.pod("t", cpu="8", annotations=objects.declared("8", "1Gi"))
    made.filter(pod, "large", "small")
    assert made.get("/v1/decisions")["decisions"][0]["own"] == "large"


@pytest.mark.parametrize(
    "score",
    [lambda table, ask: 1 / 0, lambda table, ask: [1.0], lambda table, ask: [np.nan] * len(table), lambda: 0],
    ids=["raises", "too-few", "nan", "wrong-arguments"],
)
def test_a_score_that_fails_is_told_once_and_changes_nothing(score: Any) -> None:
    """The scheduler is answered as ever."""
    made = observed(score)
    with capture_logs() as logs:
        first = decided(made)
        made.filter(objects.pod("u", cpu="1", annotations=objects.declared("2", "1Gi")), "large", "small")
    assert first["own"] == ""
    assert [each["event"] for each in logs].count("own score failed") == 1


@pytest.mark.parametrize("name", ["nonesuch:score", "math:nonesuch", "math:pi", "math"])
def test_a_score_that_cannot_be_loaded_stops_the_start(name: str) -> None:
    """With the setting's name."""
    with pytest.raises(InvalidInput, match=r"decisions\.score"):
        observed(name)
