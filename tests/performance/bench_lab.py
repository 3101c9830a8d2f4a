"""`make bench-lab`: real schedulers side by side in one lab, plain and ours in turn, medians of the rounds.

    ready    pods wait while their scheduler is stopped; ours are released and nominated. Its start to the last bind.
    whole    pods are created and bound; ours are gated, placed, nominated and released. First creation to last bind.

Prints a table, with the command that made it, for docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import psutil

from slackwater_cluster.endpoint import endpoint
from slackwater_cluster.records import PodRecord
from slackwater_cluster.reflecting import PODS
from slackwater_cluster.reflector import Reflector, Source
from slackwater_cluster.session import Session
from slackwater_lab.access import administrator_token
from slackwater_lab.lab import Lab
from slackwater_lab.live.house import house
from slackwater_lab.nodes import Shape
from slackwater_lab.plan import PARTS, Plan
from slackwater_lab.site import open_site

PLAIN, OURS = "default-scheduler", "slackwater"
PROCESS = {PLAIN: "scheduler", OURS: "slackwater-scheduler"}
VALUES = ("policy.spec.mode=enforce", "queue.spec.release.timeoutSeconds=900", "pool.create=false")
PATIENCE = 600.0


@dataclass
class Crowd:
    """The pods of one run, as a watch shows them; seconds are of one monotonic clock."""

    created: dict[str, float] = field(default_factory=dict)
    released: set[str] = field(default_factory=set)
    bound: dict[str, float] = field(default_factory=dict)

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Note what is released and what is bound."""
        now = time.monotonic()
        for pod in records:
            if not pod.gates:
                self.released.add(pod.name)
            if pod.node:
                self.bound.setdefault(pod.name, now)

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Deleted pods are of no interest."""

    def synced(self) -> None:
        """A list is complete."""

    def waits(self) -> list[float]:
        """Creation to bind of each pod."""
        return sorted(self.bound[name] - at for name, at in self.created.items())


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took from the machine."""

    requests: float  # of the API server
    cpu: float  # seconds of extender and operator


class Bench:
    """One lab, and runs in it."""

    def __init__(self, lab: Lab, session: Session, pods: int) -> None:
        self.lab, self.session, self.pods = lab, session, pods
        self._number = 0

    async def whole(self, scheduler: str) -> tuple[Crowd, Cost]:
        """Create pods and wait until all are bound."""
        namespace = self._namespace()
        async with _watched(self.session, namespace, managed=scheduler == OURS) as crowd:
            before = self._cost()
            await self._create(namespace, scheduler, crowd)
            await _until(lambda: len(crowd.bound) == self.pods, f"all pods are bound by {scheduler}")
            after = self._cost()
        return crowd, Cost(after.requests - before.requests, after.cpu - before.cpu)

    async def ready(self, scheduler: str) -> float:
        """Pods per second of a scheduler that finds all of them waiting."""
        namespace = self._namespace()
        async with _watched(self.session, namespace, managed=scheduler == OURS) as crowd:
            self.lab.processes.kill(PROCESS[scheduler])
            await self._create(namespace, scheduler, crowd)
            await _until(lambda: len(crowd.released) == self.pods, "all pods are released")
            await asyncio.to_thread(self.lab.restart, PROCESS[scheduler])
            await _until(lambda: len(crowd.bound) == self.pods, f"all pods are bound by {scheduler}")
        moments = sorted(crowd.bound.values())
        return (len(moments) - 1) / (moments[-1] - moments[0])

    def _namespace(self) -> str:
        self._number += 1
        return f"bench-{self._number}"

    async def _create(self, namespace: str, scheduler: str, crowd: Crowd) -> None:
        async def one(number: int) -> None:
            name = f"pod-{number}"
            crowd.created[name] = time.monotonic()
            body = _pod(name, scheduler, number % 10)
            answer = await self.session.write("POST", f"/api/v1/namespaces/{namespace}/pods", body)
            if not answer.ok:
                raise SystemExit(answer.message())

        await asyncio.gather(*(one(number) for number in range(self.pods)))

    def _cost(self) -> Cost:
        site = self.lab.site
        headers = {"Authorization": f"Bearer {administrator_token(site)}"}
        text = httpx2.get(f"{site.url('apiserver', 'https')}/metrics", headers=headers, verify=False, timeout=30).text
        found = re.findall(r'^apiserver_request_total\{[^}]*verb="(?!WATCH)[A-Z]+"[^}]*\} (\S+)$', text, re.MULTILINE)
        ours = [started for name in ("extender", "operator") if (started := self.lab.processes.find(name))]
        return Cost(sum(map(float, found)), sum(_cpu(started.pid) for started in ours))


@asynccontextmanager
async def _watched(session: Session, name: str, *, managed: bool) -> AsyncIterator[Crowd]:
    """A namespace for one run, and a watch on its pods."""
    async with house(session, name, managed=managed):
        crowd, path = Crowd(), f"/api/v1/namespaces/{name}/pods"
        watch = asyncio.create_task(Reflector(session, Source(path, PODS.shape, PODS.trim), crowd).run())
        try:
            yield crowd
        finally:
            watch.cancel()
            await session.write("DELETE", f"{path}?gracePeriodSeconds=0", {})


def _pod(name: str, scheduler: str, app: int) -> dict[str, object]:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    labels = {"slackwater.io/app": f"app-{app}", "slackwater.io/role": "task"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        },
    }


def _cpu(pid: int) -> float:
    """Seconds of a process and its children."""
    head = psutil.Process(pid)
    times = [each.cpu_times() for each in [head, *head.children(recursive=True)]]
    return float(sum(each.user + each.system for each in times))


async def _until(probe: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE
    while not probe():
        if time.monotonic() > limit:
            raise SystemExit(f"not within {PATIENCE:g} s: {what}")
        await asyncio.sleep(0.02)


@dataclass
class Results:
    """What the rounds gave, by scheduler."""

    ready: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})
    whole: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})
    p50: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})
    p99: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})
    requests: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], OURS: []})

    def add(self, scheduler: str, crowd: Crowd, cost: Cost) -> None:
        """One whole run."""
        waits, pods = crowd.waits(), len(crowd.bound)
        self.whole[scheduler].append(pods / (max(crowd.bound.values()) - min(crowd.created.values())))
        self.p50[scheduler].append(waits[pods // 2])
        self.p99[scheduler].append(waits[min(pods - 1, int(pods * 0.99))])
        self.requests[scheduler].append(cost.requests / pods)
        self.cpu[scheduler].append(cost.cpu / pods * 1000)

    def lines(self) -> list[str]:
        """A table for people."""
        rows = {
            "released and nominated pods bound, pods/s": self.ready,
            "whole path, pods/s": self.whole,
            "creation to bound, p50, s": self.p50,
            "creation to bound, p99, s": self.p99,
            "requests to the API server per pod": self.requests,
            "CPU seconds of extender and operator per 1,000 pods": self.cpu,
        }
        head = ["| measure, median (least to most) | plain | slackwater | ratio |", "|---|---|---|---|"]
        return head + [_row(name, both) for name, both in rows.items() if both[PLAIN]]


def _row(name: str, both: dict[str, list[float]]) -> str:
    cells = [f"{statistics.median(v):.2f} ({min(v):.2f} to {max(v):.2f})" for v in (both[PLAIN], both[OURS])]
    plain, ours = (statistics.median(both[which]) for which in (PLAIN, OURS))
    return f"| {name} | {cells[0]} | {cells[1]} | {f'{ours / plain:.2f}' if plain else ''} |"


async def rounds(lab: Lab, pods: int, count: int) -> Results:
    """Plain and ours in turn, so that a busy moment of the machine meets both."""
    results = Results()
    async with Session(endpoint(lab.site.kubeconfig), in_flight=16) as session:
        bench = Bench(lab, session, pods)
        for number in range(count):
            order = (PLAIN, OURS) if number % 2 == 0 else (OURS, PLAIN)
            for scheduler in order:
                results.add(scheduler, *await bench.whole(scheduler))
                results.ready[scheduler].append(await bench.ready(scheduler))
            sys.stderr.write(f"round {number + 1} of {count}\n")
    return results


def main() -> None:
    """Start a lab of its own, run, print, stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    # All pods may be on their way at once: here the scheduler is what is measured.
    os.environ["SLACKWATER_OPERATOR_WINDOW"] = str(10 * asked.pods)
    with tempfile.TemporaryDirectory() as home:
        os.environ["SLACKWATER_LAB_HOME"] = home
        # Above some hundred simulated nodes scrapes alone would fill the machine; without samples, reservations count.
        parts = frozenset(PARTS) - {"prometheus", "state-metrics"}
        plan = Plan(parts=parts, nodes=asked.nodes, shape=Shape("32", "128Gi"), values=VALUES)
        with Lab(open_site("bench"), plan) as lab:
            lab.up()
            results = asyncio.run(rounds(lab, asked.pods, asked.rounds))
    load = os.getloadavg()[1]
    sys.stdout.write(
        f"\n{asked.nodes} nodes, {asked.pods} pods, {asked.rounds} rounds, {os.cpu_count()} cores, "
        f"load average {load:.0f} at the end: `python tests/performance/bench_lab.py "
        f"--nodes {asked.nodes} --pods {asked.pods} --rounds {asked.rounds}`\n\n"
    )
    sys.stdout.write("\n".join(results.lines()) + "\n")


if __name__ == "__main__":
    main()
