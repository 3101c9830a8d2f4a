"""Every workload under every scheduler in turn, round after round. What was played is kept, and not played again."""

from __future__ import annotations

import gzip
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slackwater.errors import Unavailable
from slackwater_lab.league.play import played
from slackwater_lab.league.tracefile import from_trace
from slackwater_lab.league.workloads import Workload, workload
from slackwater_lab.peers import sources
from slackwater_lab.peers.catalogue import peer
from slackwater_lab.programs.build import Report

RESULTS = "results.jsonl"


@dataclass(frozen=True, slots=True)
class Turn:
    """One play that is wanted."""

    round: int
    workload: str
    scheduler: str
    size: float = 1.0  # of a log: how many times as fast
    seed: int = 1

    @property
    def jobs(self) -> Workload:
        """What is played: one of the league's workloads, or a log if a file is named."""
        if is_log(self.workload):
            return from_trace(Path(self.workload), self.size)
        return workload(self.workload, self.size, self.seed)

    @property
    def name(self) -> str:
        """For files of this play."""
        return f"{Path(self.workload).name.partition('.')[0]}-{self.scheduler}-{self.round}"


def is_log(name: str) -> bool:
    """Whether a workload is a file."""
    return ".jsonl" in name


def turns(rounds: int, workloads: Sequence[str], schedulers: Sequence[str], size: float, seed: int) -> list[Turn]:
    """Schedulers take turns within a workload, and every second round in the other order: no one is always first."""
    return [
        Turn(number, each, scheduler, size, seed + number - 1)
        for number in range(1, rounds + 1)
        for each in workloads
        for scheduler in (schedulers if number % 2 else list(reversed(schedulers)))
    ]


def results(folder: Path) -> list[dict[str, Any]]:
    """The lines that were kept; one that is cut off is left out."""
    path = folder / RESULTS
    return list(_read(path.read_text().splitlines())) if path.exists() else []


def _read(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def missing(wanted: Sequence[Turn], known: Iterable[dict[str, Any]]) -> list[Turn]:
    """What is still to be played."""
    done = {tuple(line["turn"].items()) for line in known}
    return [turn for turn in wanted if tuple(asdict(turn).items()) not in done]


def play_all(wanted: Sequence[Turn], folder: Path, report: Report, *, logs: bool = False) -> int:
    """Play what is missing; returns how many plays failed to be set up. A line is written after each play."""
    folder.mkdir(parents=True, exist_ok=True)
    todo, failed = missing(wanted, results(folder)), 0
    if len(todo) < len(wanted):
        report(f"{len(wanted) - len(todo)} of {len(wanted)} plays are there already")
    unbuilt = _build([turn.scheduler for turn in todo], report)
    for number, turn in enumerate(todo, 1):
        told = f"{number} of {len(todo)}  {turn.workload}, {turn.scheduler}, round {turn.round}"
        if turn.scheduler in unbuilt:
            failed += 1
            continue
        report(f"{told}: plays")
        try:
            line = _played(turn, folder, logs=logs)
        except Unavailable as problem:
            failed += 1
            report(f"{told}: not played: {problem}")
            continue
        with (folder / RESULTS).open("a") as file:
            file.write(json.dumps(line) + "\n")
        report(f"{told}: {_told(line['figures'])}")
    return failed


def _build(schedulers: Iterable[str], report: Report) -> set[str]:
    """Build what is missing, one at a time; those that do not build are left out, and told."""
    unbuilt = set()
    for name in dict.fromkeys(schedulers):
        try:
            sources.build(peer(name).sources, report)
        except Unavailable as problem:
            report(str(problem))
            unbuilt.add(name)
    return unbuilt


def _played(turn: Turn, folder: Path, *, logs: bool) -> dict[str, Any]:
    chosen, jobs, began = peer(turn.scheduler), turn.jobs, time.time()
    found = played(chosen, jobs, "league", lambda _: None, folder / "logs" / turn.name if logs else None)
    with gzip.open(folder / f"{turn.name}.json.gz", "wt") as file:
        json.dump(found.pop("times"), file)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(began))
    return {
        "turn": asdict(turn),
        "jobs": {"about": jobs.about, "count": len(jobs.plays), "pods": jobs.pods, "nodes": jobs.nodes},
        "when": when,
        "version": chosen.version,
        "machine": machine(),
        "figures": found,
    }


def machine() -> dict[str, object]:
    """Where it was played."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = models[0].partition(":")[2].strip() if models else platform.processor()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(memory), "system": platform.system()}


def _told(figures: dict[str, Any]) -> str:
    end = f"{figures['makespan']} s" if figures["makespan"] is not None else "not all"
    return f"{figures['finished']} of {figures['jobs']} jobs, {end}, load {figures['load']}"
