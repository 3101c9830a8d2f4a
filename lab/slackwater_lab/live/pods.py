"""The pods of a play: labels by which Slackwater knows apps, annotations by which simulated nodes know what to do.

With an image the pods are real: tasks burn what the workload says and drivers ask for them (containers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slackwater_cluster import names
from slackwater_lab.live import containers
from slackwater_lab.live.drivers import Ask
from slackwater_lab.live.workload import Part, Play, Size

PLAYED = "slackwater.io/lab-play"  # every pod of a play carries it, so that exactly these are removed


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a play is given: namespace, scheduler and nodes."""

    namespace: str
    play: str  # its name, in the label of all its pods
    scheduler: str = names.SCHEDULER
    selector: Mapping[str, str] = field(default_factory=dict)
    image: str = ""  # set: real containers of this image, which holds `burn` and `driver`
    server: str = ""  # the API server's address as we know it, for drivers that are programs


def manifest(ask: Ask, stage: Stage) -> dict[str, Any]:
    """The pod of one ask."""
    size = ask.part.size if ask.part else ask.play.driver
    assert size is not None  # noqa: S101 - only a job with a driver asks for one
    labels = {PLAYED: stage.play, names.APP: ask.play.id, names.ROLE: names.TASK if ask.part else names.DRIVER}
    if ask.part:
        labels[names.STAGE] = ask.part.name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": ask.name, "labels": labels, "annotations": _notes(ask, size)},
        "spec": {
            "schedulerName": stage.scheduler,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "nodeSelector": dict(stage.selector),
            **({"priorityClassName": ask.play.priority} if ask.play.priority else {}),
            **_content(ask, size, stage),
        },
    }


def _content(ask: Ask, size: Size, stage: Stage) -> dict[str, Any]:
    """The part of the specification that says what runs."""
    if not stage.image:
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "none"}]}
    elif ask.part is None:
        spec = containers.driver(stage.image, stage.server, ask.play, lambda part: _task(ask.play, part, stage))
    else:
        seconds = "$SECONDS" if ask.duration is None else f"{ask.duration:.3f}"
        spec = {"containers": [containers.task(stage.image, size, seconds)]}
    spec["containers"][0]["resources"] = {"requests": _requests(size)}
    return spec


def _task(play: Play, part: Part, stage: Stage) -> dict[str, Any]:
    return containers.owned(manifest(containers.placeholder(play, part), stage))


def _requests(size: Size) -> dict[str, str]:
    return {"cpu": _milli(size.cpu), "memory": str(round(size.memory))}


def _notes(ask: Ask, size: Size) -> dict[str, str]:
    notes = _size_notes(ask.play) if ask.part is None else {}
    if ask.part is not None and ask.part.parents:
        notes[names.PARENTS] = ",".join(ask.part.parents)
    if ask.play.strict:
        notes[names.DAG] = "strict"
    if ask.play.gang:
        notes[names.GANG] = "true"
    if ask.duration is not None:
        notes["slackwater.io/lab-duration"] = f"{ask.duration:.3f}"
    if size.used_cpu >= 0:
        notes["kwok.x-k8s.io/usage-cpu"] = _milli(size.used_cpu)
    if size.used_memory >= 0:
        notes["kwok.x-k8s.io/usage-memory"] = str(round(size.used_memory))
    return notes


def _size_notes(play: Play) -> dict[str, str]:
    """How large the job will be, told before its tasks exist."""
    if not play.parts:
        return {}
    widest = max(play.parts, key=lambda part: len(part.durations))
    return {
        names.TASKS: str(len(widest.durations)),
        names.TASK_CPU: _milli(widest.size.cpu),
        names.TASK_MEMORY: str(round(widest.size.memory)),
    }


def _milli(cores: float) -> str:
    return f"{max(0, round(cores * 1000))}m"
