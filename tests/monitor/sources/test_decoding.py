"""When a pod waited and ran, as its status tells it: restarted, evicted, finished and not started ones too."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from slackwater_cluster.objects import wire
from slackwater_monitor.sources.decoding import bar
from slackwater_monitor.sources.views import Bar

CREATED = 1_800_000_000.0


def at(seconds: float) -> str:
    """A moment, so many seconds after the pod's creation."""
    return datetime.fromtimestamp(CREATED + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ran(begin: float, end: float | None = None) -> dict[str, Any]:
    """The state of a container that runs, or ran."""
    if end is None:
        return {"running": {"startedAt": at(begin)}}
    return {"terminated": {"startedAt": at(begin), "finishedAt": at(end)}}


def spell(phase: str, *containers: dict[str, Any], **status: Any) -> tuple[float | None, float | None]:
    """When a pod started and ended, in seconds after its creation."""
    body = {
        "metadata": {"name": "p", "creationTimestamp": at(0)},
        "status": {"phase": phase, "startTime": at(5), "containerStatuses": list(containers), **status},
    }
    found = bar(msgspec.convert(body, wire.Pod), "task", "")
    start, end = (None if moment is None else moment - CREATED for moment in (found.start, found.end))
    return start, end


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (spell("Running", {"state": ran(9)}, {"state": ran(12)}), (9, None)),
        (spell("Succeeded", {"state": ran(9, 50)}, {"state": ran(12, 70)}), (9, 70)),
        (spell("Running", {"state": ran(9, 50)}, {"state": ran(12)}), (9, None)),
    ],
    ids=["runs", "done", "one container of two is done"],
)
def test_a_pod_runs_from_its_first_container_to_the_end_of_its_last(found: object, expected: object) -> None:
    """And not before all have ended."""
    assert found == expected


def test_a_restarted_pod_ran_before_its_restart() -> None:
    """Of many restarts only the last two lives are told, so it counts from when its node took it."""
    assert spell("Running", {"state": ran(900), "lastState": ran(700, 800)}) == (5, None)
    assert spell("Running", {"state": {"waiting": {}}, "lastState": ran(700, 800)}, {"state": ran(9)}) == (5, None)


def test_a_pod_whose_containers_have_not_started_waits() -> None:
    """Its node has taken it, and pulls an image that may not exist."""
    assert spell("Pending", {"state": {"waiting": {"reason": "ImagePullBackOff"}}}) == (None, None)


def test_an_evicted_pod_has_ended() -> None:
    """Its containers tell nothing: its newest condition does, or else it ended as it started."""
    conditions = [{"type": kind, "lastTransitionTime": at(moment)} for kind, moment in (("Ready", 60), ("X", 30))]
    assert spell("Failed", conditions=conditions) == (5, 60)
    assert spell("Failed") == (5, 5)


def test_a_pod_that_failed_before_it_came_to_a_node_waited_and_never_ran() -> None:
    """Until it failed, not until now."""
    conditions = [{"type": "PodScheduled", "lastTransitionTime": at(30)}]
    assert spell("Failed", startTime=None, conditions=conditions) == (None, 30)
    assert spell("Failed", startTime=None) == (None, 0)


def test_how_long_a_pod_waited_ends_with_its_start_its_end_or_now() -> None:
    """In this order."""
    waits = Bar("p", "task", "", "", created=0.0, start=None, end=None)
    assert waits.waited_until(9.0) == 9.0
    assert replace(waits, end=5.0).waited_until(9.0) == 5.0
    assert replace(waits, start=3.0, end=5.0).waited_until(9.0) == 3.0
