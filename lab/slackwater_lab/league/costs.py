"""What the processes of a lab took: CPU seconds and the most memory each held."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slackwater_lab.processes.processes import Processes

TICKS = os.sysconf("SC_CLK_TCK")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Taken:
    """By name of the process."""

    cpu: Mapping[str, float]  # seconds since its start
    memory: Mapping[str, float]  # MiB, the most it ever held

    def since(self, before: Taken) -> dict[str, float]:
        """CPU seconds of each process after an earlier look; one that was started in between began at nothing."""
        return {name: value - before.cpu.get(name, 0.0) for name, value in self.cpu.items()}


def taken(processes: Processes) -> Taken:
    """The sums of all processes that run, each with the workers it started."""
    alive = {started.pid: started.name for started in processes.all() if started.alive}
    groups: dict[str, list[int]] = {name: [] for name in alive.values()}
    for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        if (name := alive.get(session(pid))) is not None:
            groups[name].append(pid)
    return Taken(
        {name: sum(map(cpu_seconds, pids)) for name, pids in groups.items()},
        {name: sum(map(peak_mebibytes, pids)) for name, pids in groups.items()},
    )


def session(pid: int) -> int:
    """The first process of the session that a process is in: the lab starts each program in a session of its own."""
    fields = _stat(pid)
    return int(fields[3]) if fields else 0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and of its children that ended."""
    return sum(int(ticks) for ticks in _stat(pid)[11:15]) / TICKS


def peak_mebibytes(pid: int) -> float:
    """The most memory a process held at a time."""
    found = _PEAK.search(_file(pid, "status"))
    return int(found[1]) / 1024 if found else 0.0


def _stat(pid: int) -> list[str]:
    """Fields from the state on: the program's name before it may hold spaces."""
    return _file(pid, "stat").rpartition(")")[2].split()


def _file(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
