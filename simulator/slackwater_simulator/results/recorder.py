"""What a world writes down of each container while it runs."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slackwater_simulator.results.outcome import Containers

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Row(NamedTuple):
    """One container, in whatever world it was."""

    job: int
    stage: int
    task: int
    node: int
    allocated: float
    start: float
    end: float
    released: float
    status: int


@dataclass(slots=True)
class Recorder:
    """Collects rows while a world runs; `array` keeps a container at 42 bytes."""

    job: array[int] = field(default_factory=lambda: array("i"))
    stage: array[int] = field(default_factory=lambda: array("h"))
    task: array[int] = field(default_factory=lambda: array("i"))
    node: array[int] = field(default_factory=lambda: array("i"))
    allocated: array[float] = field(default_factory=lambda: array("d"))
    start: array[float] = field(default_factory=lambda: array("d"))
    end: array[float] = field(default_factory=lambda: array("d"))
    released: array[float] = field(default_factory=lambda: array("d"))
    status: array[int] = field(default_factory=lambda: array("b"))

    def add(self, row: Row) -> None:
        """One container whose resources are back."""
        self.job.append(row.job)
        self.stage.append(row.stage)
        self.task.append(row.task)
        self.node.append(row.node)
        self.allocated.append(row.allocated)
        self.start.append(row.start)
        self.end.append(row.end)
        self.released.append(row.released)
        self.status.append(row.status)

    def containers(self) -> Containers:
        """The rows as numpy arrays that share the recorder's memory."""
        return Containers(
            job=_view(self.job, np.int32),
            stage=_view(self.stage, np.int16),
            task=_view(self.task, np.int32),
            node=_view(self.node, np.int32),
            allocated=_view(self.allocated, np.float64),
            start=_view(self.start, np.float64),
            end=_view(self.end, np.float64),
            released=_view(self.released, np.float64),
            status=_view(self.status, np.int8),
        )


def _view(values: array[int] | array[float], kind: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(values, dtype=kind) if len(values) else np.zeros(0, dtype=kind)
