"""Our own trace format, version 1, as typed entries: what a line of JSON Lines may hold and what it must.

docs/simulator/trace-format.md describes it for people. Fields at their default are left out when written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from slackwater_simulator.workload.readers.check import MOST_TASKS
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

FORMAT = "slackwater-trace"
VERSION = 1

Positive = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Entry(BaseModel):
    """A misspelt field is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid")


class Repeated(Entry):
    """The short form of many equal numbers."""

    value: Positive
    count: int = Field(ge=0, le=MOST_TASKS)


Numbers = list[Positive] | Repeated


class UsageEntry(Entry):
    """What tasks really use, as fractions of their request."""

    cpu: Numbers
    memory: Numbers
    at: list[Positive] = [0.0, 1.0]
    cpu_shape: list[Positive] = [1.0, 1.0]
    memory_shape: list[Positive] = [1.0, 1.0]
    noise: Positive = 0.0

    def build(self) -> Usage:
        """The usage the simulator plays."""
        shapes = (tuple(self.at), tuple(self.cpu_shape), tuple(self.memory_shape))
        return Usage(unpack(self.cpu), unpack(self.memory), *shapes, self.noise)


class StageEntry(Entry):
    """Equal tasks of a job."""

    name: str
    request: list[Positive]
    durations: Numbers
    parents: list[str] = []
    start_after: float = Field(default=1.0, ge=0, le=1)
    ramp: bool = False
    delay: Positive = 0.0
    shuffle: Positive = 0.0
    transfer: Positive = 0.0
    transfers: list[Positive] = []
    usage: UsageEntry | None = None
    hosts: list[list[str]] = []
    reduce: bool = False
    iteration: int = Field(default=0, ge=0)

    def build(self) -> Stage:
        """The stage the simulator plays."""
        plain = self.model_dump(exclude={"request", "durations", "parents", "transfers", "usage", "hosts"})
        return Stage(
            **plain,
            request=tuple(self.request),
            durations=unpack(self.durations),
            parents=tuple(self.parents),
            transfers=tuple(self.transfers),
            usage=self.usage.build() if self.usage else None,
            hosts=tuple(tuple(places) for places in self.hosts),
        )


class DriverEntry(Entry):
    """The first container of a job."""

    request: list[Positive]
    startup: Positive = 0.0
    usage: UsageEntry | None = None

    def build(self) -> Driver:
        """The driver the simulator plays."""
        return Driver(tuple(self.request), self.startup, self.usage.build() if self.usage else None)


class JobEntry(Entry):
    """One line after the header."""

    id: str
    submit: Positive
    stages: list[StageEntry]
    driver: DriverEntry | None = None
    user: str = "user"
    queue: str = "default"
    name: str = ""
    priority: int = 0
    gang: bool = False
    iterations: int = Field(default=0, ge=0)
    strict: bool = False
    estimate: Positive = 0.0

    def build(self) -> Job:
        """The job the simulator plays."""
        plain = self.model_dump(exclude={"stages", "driver"})
        stages = tuple(stage.build() for stage in self.stages)
        return Job(**plain, stages=stages, driver=self.driver.build() if self.driver else None)


class Header(Entry):
    """The first line: what the file is, and what of it was not measured."""

    format: Literal["slackwater-trace"]
    version: int = Field(ge=1)
    name: str = ""
    kinds: list[str] = Field(default=["cpu", "memory"], min_length=2)
    modelled: list[tuple[str, str]] = []
    skipped: int = Field(default=0, ge=0)
    notes: list[str] = []

    @field_validator("kinds")
    @classmethod
    def _known_first(cls, kinds: list[str]) -> list[str]:
        if kinds[:2] != ["cpu", "memory"] or len(set(kinds)) < len(kinds):
            raise ValueError("cpu and memory come first, and every kind once")
        return kinds


def header_of(workload: Workload) -> Header:
    """The header that describes a workload."""
    return Header(
        format=FORMAT,
        version=VERSION,
        name=workload.name,
        kinds=list(workload.kinds),
        modelled=list(workload.modelled),
        skipped=workload.skipped,
        notes=list(workload.notes),
    )


def with_header(header: Header, jobs: list[Job], skipped: int, quoted: list[str]) -> Workload:
    """The workload of a header and its jobs, put in order of submission."""
    return Workload(
        name=header.name,
        jobs=tuple(sorted(jobs, key=lambda job: job.submit)),
        kinds=tuple(header.kinds),
        modelled=tuple(header.modelled),
        skipped=header.skipped + skipped,
        notes=(*header.notes, *quoted),
    )


def job_entry(job: Job) -> dict[str, Any]:
    """A job as plain values, defaults left out."""
    entry = _changed(job, ("stages", "driver"))
    if job.driver is not None:
        entry["driver"] = _changed(job.driver, ("usage",)) | _usage_entry(job.driver.usage)
    entry["stages"] = [
        _changed(stage, ("durations", "usage")) | {"durations": pack(stage.durations)} | _usage_entry(stage.usage)
        for stage in job.stages
    ]
    return entry


def _changed(thing: Job | Stage | Driver | Usage, special: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a dataclass that differ from their default, or have none."""
    values = {name: (getattr(thing, name), known.default) for name, known in thing.__dataclass_fields__.items()}
    return {name: value for name, (value, usual) in values.items() if name not in special and value != usual}


def _usage_entry(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    arrays = {"cpu": pack(usage.cpu), "memory": pack(usage.memory)}
    return {"usage": arrays | _changed(usage, ("cpu", "memory"))}


def pack(values: NDArray[np.float64]) -> list[float] | dict[str, float]:
    """Numbers as a list, or as value and count when all are equal."""
    if len(values) > 2 and (values == values[0]).all():
        return {"value": float(values[0]), "count": len(values)}
    plain: list[float] = values.tolist()
    return plain


def unpack(numbers: list[float] | Repeated) -> NDArray[np.float64]:
    """The array behind either form."""
    if isinstance(numbers, Repeated):
        return np.full(numbers.count, numbers.value)
    return np.array(numbers, dtype=np.float64)
