"""A log as a workload of the league: a file in the project's trace format, played so many times as fast."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from slackwater.errors import InvalidInput
from slackwater_lab.league.workloads import Workload
from slackwater_lab.live.workload import Part, Play, Size, checked

LIMIT = 900.0  # seconds


def from_trace(path: Path, scale: float = 1.0) -> Workload:
    """The jobs of a trace in 1/scale of the time."""
    if scale <= 0:
        raise InvalidInput("--scale", f"{scale} is not a speed", "write a positive number, 10 for ten times as fast")
    lines = [json.loads(line) for line in _text(path).splitlines() if line.strip()]
    if not lines or lines[0].get("format") != "slackwater-trace":
        raise InvalidInput(str(path), "is no trace", "see docs/simulator/trace-format.md for how to write one")
    plays = tuple(_play(job, scale) for job in lines[1:])
    checked(plays)
    about = f"The log {lines[0].get('name') or path.name}, {scale:g} times as fast."
    return Workload(path.name.partition(".")[0].lower(), about, plays, LIMIT)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _play(job: Mapping[str, Any], scale: float) -> Play:
    driver = job.get("driver")
    return Play(
        id=_name(job["id"]),
        submit=job["submit"] / scale,
        parts=tuple(_part(stage, scale) for stage in job["stages"]),
        driver=_size(driver) if driver else None,
        startup=driver.get("startup", 0.0) / scale if driver else 0.0,
        strict=job.get("strict", False),
        gang=job.get("gang", False),
    )


def _part(stage: Mapping[str, Any], scale: float) -> Part:
    shuffle = stage.get("shuffle", 0.0)
    return Part(
        _name(stage["name"]),
        _size(stage),
        tuple((seconds + shuffle) / scale for seconds in _numbers(stage["durations"])),
        tuple(_name(parent) for parent in stage.get("parents", ())),
        stage.get("start_after", 1.0),
        stage.get("delay", 0.0) / scale,
    )


def _size(part: Mapping[str, Any]) -> Size:
    """Use is the mean over a stage's tasks; without a usage a pod uses what it asks for."""
    cpu, memory = part["request"][:2]
    usage = part.get("usage") or {}
    cpu_level, memory_level = (fmean(_numbers(usage[kind])) if kind in usage else 1.0 for kind in ("cpu", "memory"))
    return Size(cpu, memory, cpu * cpu_level, memory * memory_level)


def _numbers(values: Any) -> list[float]:
    """Equal ones may be written as a value and a count."""
    return [values["value"]] * values["count"] if isinstance(values, Mapping) else list(values)


def _name(text: str) -> str:
    """A name Kubernetes takes."""
    return re.sub(r"[^a-z0-9]", "-", text.lower()).strip("-")[:40] or "x"
