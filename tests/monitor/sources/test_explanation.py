"""How the room of a node comes about, in a sentence whose numbers add up."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater.ledger.types import RoomLine
from slackwater_monitor.explain import lines
from slackwater_monitor.sources.explanation import Explanation, arithmetic
from slackwater_monitor.sources.views import App

GIB = 2.0**30
TERMS = dict.fromkeys(("capacity", "allocatable", "allowed", "real"), 60 * GIB) | dict.fromkeys(
    ("reserved", "known", "estimate", "declared"), 20 * GIB
)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        pytest.param({"room": 36.0}, "room 36 GiB = min(allowed 60, real 60) − estimate 20 − drivers 4", id="measured"),
        pytest.param({"room": 40.0, "requested": 40.0}, "room 40 GiB = allocatable 60 − asked for 20, as", id="floor"),
        pytest.param(
            {"room": 38.0, "requested": 40.0, "known": 18.0},
            "room 38 GiB = allocatable 60 − what its pods are known to use 18 − drivers 4, which is a floor",
            id="known",
        ),
        pytest.param(
            {"room": 5.0, "requested": 40.0, "bound": 5.0, "largest": 8.0},
            "room 5 GiB of 60: with more on the node, memory could run out while no task is the first that the kernel "
            "kills; a pod that was not lowered asks for 8",
            id="bound",
        ),
    ],
)
def test_the_sentence_has_the_term_that_decided(terms: dict[str, float], sentence: str) -> None:
    """Requests, use, or the order in which the kernel kills: which one, the ledger says."""
    assert arithmetic("memory", line(**terms)).startswith(sentence)


def test_an_extender_that_does_not_say_everything_is_shown_in_its_own_words() -> None:
    """While it is upgraded, one of before answers; its sentence has the numbers that it knows."""
    older = {name: value for name, value in line(room=36.0).items() if name != "uncovered"}
    assert arithmetic("memory", older | {"arithmetic": "room 3.9e+10 = …"}) == "room 3.9e+10 = …"


@pytest.mark.parametrize("waits", [True, False])
def test_a_pod_that_waits_of_a_started_app_is_told_that_no_start_is_forecast(waits: bool) -> None:
    """In place of nothing; of a pod that runs there is nothing to tell."""
    app = App("team-a", "etl", phase="Running", pods={"held": 3, "bound": 1})
    told = dict(lines(Explanation("team-a/etl-3", "…", waits=waits, phase="Pending", app=app)))
    said = "its app has started; when further pods of an app go is not forecast: they go as room comes"
    assert told.get("starts", "") == (said if waits else "")


def line(**gibs: float) -> dict[str, Any]:
    """The answer of an extender about memory: 60 GiB allowed, 20 believed to be used, 4 of drivers."""
    told: dict[str, Any] = {name: value * GIB for name, value in gibs.items()}
    fields = TERMS | dict.fromkeys(("used", "learned", "residual"), 10 * GIB) | {"drivers": 4 * GIB, "native": GIB}
    return RoomLine(**{**fields, "stale": False, **told}).told()
