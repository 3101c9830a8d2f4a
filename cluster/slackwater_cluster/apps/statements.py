"""What the pods of an app say about the whole of it, and what counts where they say different things.

Labels and annotations stand on pods, and pods come in any order: no rule here asks which was first.

    tasks       the largest number that any pod announces, and of what a task asks for the most of each kind
    pause       any pod that says so; `true` before `drain`
    gang        any pod that says so
    dag         strict, if any pod says so
    iterative   the largest number of stages; an app that does not know it (0) only where no pod does
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from slackwater.errors import InvalidInput
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.apps.resolver import own
from slackwater_cluster.apps.size import AppSize, announced
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods import metadata

_SIZE = (names.TASKS, names.TASK_CPU, names.TASK_MEMORY)


def says(pods: Iterable[PodRecord], key: str, value: str) -> bool:
    """Whether any pod states this value."""
    return any(own(pod, key) == value for pod in pods)


def pause(pods: Iterable[PodRecord]) -> str:
    """`true`, `drain`, or nothing."""
    said = {own(pod, names.PAUSE) for pod in pods}
    return next((value for value in ("true", "drain") if value in said), "")


def size(pods: Iterable[PodRecord]) -> tuple[AppSize | None, list[str]]:
    """The largest that pods announce, and a sentence about each that cannot be read."""
    written = {tuple(pod.annotations.get(key) for key in _SIZE) for pod in pods if names.TASKS in pod.annotations}
    found: list[AppSize] = []
    problems: list[str] = []
    for texts in sorted(written, key=str):
        stated = {key: text for key, text in zip(_SIZE, texts, strict=True) if text is not None}
        try:
            one = announced(stated)
        except InvalidInput as problem:
            problems.append(str(problem))
        else:
            found += [one] if one is not None else []
    return largest(found), problems


def largest(sizes: Sequence[AppSize]) -> AppSize | None:
    """The largest of several announced sizes; None where there is none.

    Number and amounts each by themselves: so one more pod never makes the app smaller than it was.
    """
    if not sizes:
        return None
    request = reduce(Resources.at_least, (each.request for each in sizes))
    return replace(sizes[0], tasks=max(each.tasks for each in sizes), request=request)


def stages(pods: Iterable[PodRecord]) -> tuple[int | None, list[str]]:
    """The number of stages of an iterative app, 0 where it does not say; None where it is not iterative."""
    texts = sorted({text for pod in pods if (text := own(pod, names.ITERATIVE))})
    numbers = [number for text in texts if (number := metadata.count(text)) is not None]
    problems = [
        f"{names.ITERATIVE}: {_quoted(text)} is not a number of stages; write 0 where it is not known"
        for text in texts
        if metadata.count(text) is None
    ]
    return max(numbers, default=None), problems


def _quoted(text: str) -> str:
    """A text in one line."""
    return metadata.shortened(" ".join(text.split())[: metadata.LONGEST_NAME])
