"""The roles of a pod in its app: driver, task, unknown."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a pod is to its app. Only drivers are charged in full."""

    DRIVER = "driver"  # starts other pods: a Spark driver, a Ray head, an MPI launcher
    TASK = "task"  # does the work
    UNKNOWN = "unknown"  # not recognised: released like a task, never shrunk
