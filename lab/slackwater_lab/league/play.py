"""One play: a fresh lab, one scheduler, one workload; then the audit log is read and the lab is gone."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.timestamps import parse
from slackwater_lab.controlplane.control import AUDIT_LOG
from slackwater_lab.lab import Lab
from slackwater_lab.league import audit, costs
from slackwater_lab.league.measures import measures
from slackwater_lab.league.workloads import CORES, NODE_MEMORY, PRIORITIES, Workload
from slackwater_lab.live.namespace import house
from slackwater_lab.live.play import Player
from slackwater_lab.live.pods import Stage
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.peers.peer import Peer
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site

NAMESPACE = "league"
PATIENCE = 90.0  # seconds without any pod created, started or ended, after which a play is stopped
SETTLE = 3.0  # seconds between the start of everything and the first job
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
Progress = Callable[[float], None]


def played(peer: Peer, workload: Workload, name: str, progress: Progress, logs: Path | None = None) -> dict[str, Any]:
    """The figures of one play in a lab of this name; its logs are kept in a folder for who looks into a play."""
    plan = Plan(
        parts=peer.parts,
        nodes=workload.nodes,
        shape=Shape(f"{CORES:g}", f"{NODE_MEMORY:.0f}"),
        values=peer.values,
        gates=peer.gates,
        audit=True,
    )
    with Lab(open_site(name), plan) as lab:
        try:
            lab.up()
            return _in(lab, peer, workload, progress)
        finally:
            if logs is not None:
                _keep(lab, logs)


@dataclass(frozen=True, slots=True)
class _Span:
    """From the first job's submission to the end of the play, and what was taken in between."""

    begin: float
    end: float
    cpu: dict[str, float]
    memory: Mapping[str, float]
    load: float
    busy: float
    node_seconds: float  # how long nodes were there, summed over nodes
    most_nodes: int


def _in(lab: Lab, peer: Peer, workload: Workload, progress: Progress) -> dict[str, Any]:
    peer.start(lab)
    with lab.api() as api:
        for priority, value in PRIORITIES.items():
            api.create(CLASSES, {"metadata": {"name": priority}, "value": value})
    span = asyncio.run(_perform(lab, peer, workload, progress))
    with (lab.site.folder / AUDIT_LOG).open() as lines:
        times = audit.read((line for line in lines if span.begin <= _moment(line) <= span.end), NAMESPACE)
    figures = measures(workload, times, span.end)
    pods = max(1, int(str(figures["pods"])))
    return {
        **figures,
        "cpu_ms_per_pod": {name: round(1000 * seconds / pods, 2) for name, seconds in span.cpu.items()},
        "memory_mib": {name: round(mebibytes) for name, mebibytes in span.memory.items()},
        "load": round(span.load, 1),
        "machine_busy": round(span.busy, 2),
        "node_seconds": round(span.node_seconds),
        "most_nodes": span.most_nodes,
        "times": {name: asdict(pod) for name, pod in times.pods.items()},
    }


def _moment(line: str) -> float:
    """When a line of the log was written, without reading all of it; 0 of a line that is cut off."""
    _, _, rest = line.partition('"stageTimestamp":"')
    return parse(rest.partition('"')[0]) if '"' in rest else 0.0


async def _perform(lab: Lab, peer: Peer, workload: Workload, progress: Progress) -> _Span:
    where = endpoint(lab.site.kubeconfig)
    stage = Stage(NAMESPACE, NAMESPACE, peer.scheduler, {}, "", where.url)
    player = Player(where, stage, progress, peer.creates, patience=PATIENCE, clean=False)
    loads: list[float] = []

    async def look() -> None:
        while True:
            loads.append(os.getloadavg()[0])
            await asyncio.sleep(5)

    counts: list[tuple[float, int]] = []

    async def count() -> None:
        while True:
            answer = await session.get("/api/v1/nodes", {"resourceVersion": "0"})
            if answer.ok:
                counts.append((time.time(), len(answer.json()["items"])))
            await asyncio.sleep(1)

    async with Session(where) as session, house(session, NAMESPACE, managed=peer.managed):
        await asyncio.to_thread(_prepare, lab, peer, workload)
        await asyncio.sleep(SETTLE)
        looking, counting = asyncio.create_task(look()), asyncio.create_task(count())
        begin, before, idle = time.time(), costs.taken(lab.processes), _idle()
        try:
            await player.play(workload.plays, workload.limit)
        except ExceptionGroup as group:
            raise Unavailable(f"the play was cut off: {group.exceptions[0]}") from group
        finally:
            looking.cancel()
            counting.cancel()
        end, after = time.time(), costs.taken(lab.processes)
        busy, most = _share(idle, _idle()), max((number for _, number in counts), default=0)
        nodes = node_seconds(counts, end)
        return _Span(begin, end, after.since(before), after.memory, fmean(loads), busy, nodes, most)


def node_seconds(counts: Sequence[tuple[float, int]], end: float) -> float:
    """How long nodes were there, summed over nodes; each count holds until the next one."""
    moments = [at for at, _ in counts[1:]] + [end]
    return sum(number * (until - at) for (at, number), until in zip(counts, moments, strict=True)) if counts else 0.0


def _prepare(lab: Lab, peer: Peer, workload: Workload) -> None:
    with lab.api() as api:
        peer.prepare(api, NAMESPACE, workload.cores, workload.nodes * NODE_MEMORY)


def _idle() -> tuple[int, int]:
    """Ticks of all CPUs of this machine, and those that were idle."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def _share(before: tuple[int, int], after: tuple[int, int]) -> float:
    return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])


def _keep(lab: Lab, logs: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for path in [*(lab.site.folder / "logs").glob("*.log"), lab.site.folder / AUDIT_LOG]:
        if path.exists():
            shutil.copy(path, logs / path.name)
