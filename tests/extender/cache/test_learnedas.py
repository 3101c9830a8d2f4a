"""Under which name the use of a pod is learned: runs of one app teach each other, stages and other apps do not."""

from __future__ import annotations

import pytest

from support.builders import objects
from support.fakes.extender import world


def learned_as(**labels: str) -> str:
    """The name for a pod with such labels (`__` stands for `.io/`)."""
    made = world(objects.node("n"))
    made.show(objects.pod("p", labels={key.replace("__", ".io/"): value for key, value in labels.items()}))
    return made.parts.cache.claim(made.parts.cache.index.pods["uid-batch-p"]).app


@pytest.mark.parametrize(
    ("first", "second"),
    [("nightly-28912345", "nightly-28913785"), ("etl-2026-01-30", "etl-2026-01-31"), ("report-x7k2p", "report-q9zvb")],
)
def test_runs_of_an_app_teach_each_other(first: str, second: str) -> None:
    """What changes from run to run is not part of the name."""
    assert learned_as(slackwater__app=first) == learned_as(slackwater__app=second)


def test_stages_and_other_apps_are_learned_apart() -> None:
    """A map tells nothing about a reduce, and a report nothing about an import."""
    names = {
        learned_as(slackwater__app="nightly"),
        learned_as(slackwater__app="nightly", slackwater__stage="reduce"),
        learned_as(slackwater__app="import"),
    }
    assert len(names) == 3


def test_explain_names_the_run() -> None:
    """What is shown is the app itself, not the name its runs share."""
    made = world(objects.node("n"))
    made.show(objects.pod("p", node="n", labels={"slackwater.io/app": "nightly-28912345"}))
    (pod,) = made.get("/v1/nodes/n")["pods"]
    assert pod["app"] == "batch/nightly-28912345"
