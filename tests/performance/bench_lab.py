"""`make bench-lab`: real schedulers side by side in one lab, plain and ours in turn, medians of the rounds.

    nominated   pods wait while their scheduler is stopped; ours are released and nominated. First bind to last bind.
    slow        the same, but somebody else took our gates away: no nomination, so filter (shortlist) and prioritize.
    whole       pods are created and bound; ours are gated, placed, released. First creation to last bind.
    lone        one pod at a time on an idle cluster; the rate is of the seconds in which one waited. Give few --pods.
    release     the whole path with two operators in turn: one nominates, one leaves the way to the extender's filter.
    gate        the whole path with two operators in turn: one holds every task, one opens the gate while nobody waits.
    paced       the same two, with --rate pods created a second: how long each waits when nothing is saturated.

In `nominated`, `slow` and `release` every pod is held first, whatever is free.

One part at a time: `--part slow --nodes 1000`. Prints tables for docs/performance.md and holds the ratios against
tests/performance/lab.toml.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.reflector import Reflector, Source
from slackwater_cluster.watch.sources import PODS
from slackwater_lab.lab import Lab
from slackwater_lab.live.namespace import house
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import PARTS, Plan
from slackwater_lab.site import open_site

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from support.bench.costs import Cost, costs  # noqa: E402 - a script finds its neighbours only after the line above
from support.bench.labtables import PLAIN, Run, Runs, report  # noqa: E402 - likewise

OURS = "slackwater"
ALL = ("nominated", "slow", "whole")
NOMINATED, STEERED = "nominated", "steered"  # ours in both cases
HELD, OPEN = "held", "open gate"  # likewise
PARTS_OF = {
    "release": (PLAIN, NOMINATED, STEERED),
    "gate": (PLAIN, HELD, OPEN),
    "paced": (PLAIN, HELD, OPEN),
}  # who plays; else: plain and ours
FOLLOWING = ("whole", "lone", "gate", "paced")  # parts in which the gate may open
PROCESS = {PLAIN: "scheduler", OURS: "slackwater-scheduler"}
# A pod may wait long for a scheduler that is stopped on purpose, and pools would measure their own rules.
VALUES = ("policy.spec.mode=enforce", "queue.spec.release.timeoutSeconds=900", "pool.create=false")
BOUNDS = HERE / "lab.toml"
UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}
PATIENCE = 600.0
NEVER = 10**6  # nodes: no lab has so many


@dataclass
class Crowd:
    """The pods of one run, as a watch shows them; seconds are of one monotonic clock."""

    created: dict[str, float] = field(default_factory=dict)
    released: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Note what is released and what is bound."""
        now = time.monotonic()
        for pod in records:
            if not pod.gates:
                self.released.setdefault(pod.name, now)
            if pod.node:
                self.bound.setdefault(pod.name, now)

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Note what is gone: the next run begins in an empty cluster."""
        self.gone.update(pod.name for pod in records)

    def synced(self) -> None:
        """A list is complete."""

    def waits(self, moments: dict[str, float] | None = None) -> list[float]:
        """Creation to bind (or to another moment) of each pod, shortest first."""
        ends = self.bound if moments is None else moments
        return sorted(ends[name] - at for name, at in self.created.items())


class Bench:
    """One lab, and runs in it."""

    def __init__(self, lab: Lab, session: Session, pods: int, rate: float) -> None:
        self.lab, self.session, self.pods, self.rate = lab, session, pods, rate
        self._number = 0

    async def whole(self, scheduler: str) -> Run:
        """Create pods and wait until all are bound."""
        async with self._watched(scheduler) as (path, crowd):
            before, began = costs(self.lab), time.monotonic()
            await self._create(path, scheduler, crowd)
            await _until(lambda: len(crowd.bound) == self.pods, f"all pods are bound by {scheduler}")
            seconds = max(crowd.bound.values()) - began
            return _run(crowd, self.pods / seconds, seconds, costs(self.lab) - before)

    async def lone(self, scheduler: str) -> Run:
        """One pod after the other, each when the one before it is bound and everybody is at rest."""
        async with self._watched(scheduler) as (path, crowd):
            before, began = costs(self.lab), time.monotonic()
            for number in range(self.pods):
                await asyncio.sleep(1.0)
                await self._create(path, scheduler, crowd, number, 1)
                await _until(lambda: len(crowd.bound) == len(crowd.created), f"a pod is bound by {scheduler}")
            return _run(crowd, self.pods / sum(crowd.waits()), time.monotonic() - began, costs(self.lab) - before)

    async def release(self, contender: str) -> Run:
        """The whole path with an operator that nominates, or does not."""
        if contender == PLAIN:
            return await self.whole(PLAIN)
        steered = str(NEVER if contender == STEERED else 0)
        # What it costs is the same if the extender is not ignorable.
        return await self._whole_with(STEER_NODES=steered, STEER_LOWERED="true")

    async def gate(self, contender: str) -> Run:
        """The whole path with an operator that holds every task, or opens the gate."""
        if contender == PLAIN:
            return await self.whole(PLAIN)
        return await self._whole_with(OPEN_NODES=str(NEVER if contender == HELD else 100))

    async def paced(self, contender: str) -> Run:
        """Pods at an even pace, with the same two operators."""
        if contender != PLAIN:
            await self._operator_with(OPEN_NODES=str(NEVER if contender == HELD else 100))
        scheduler = PLAIN if contender == PLAIN else OURS
        async with self._watched(scheduler) as (path, crowd):
            before, began = costs(self.lab), time.monotonic()
            async with asyncio.TaskGroup() as group:
                for number in range(self.pods):
                    await asyncio.sleep(max(0.0, began + number / self.rate - time.monotonic()))
                    group.create_task(self._create(path, scheduler, crowd, number, 1))
            await _until(lambda: len(crowd.bound) == self.pods, f"all pods are bound by {contender}")
            seconds = max(crowd.bound.values()) - began
            return _run(crowd, self.pods / seconds, seconds, costs(self.lab) - before)

    async def _whole_with(self, **settings: str) -> Run:
        """The whole path with an operator of other settings."""
        await self._operator_with(**settings)
        return await self.whole(OURS)

    async def _operator_with(self, **settings: str) -> None:
        # The one before it need not give back its Lease.
        named = {f"SLACKWATER_OPERATOR_{name}": text for name, text in {**settings, "LEAD_ALONE": "true"}.items()}
        self.lab.processes.kill("operator")
        await asyncio.to_thread(self.lab.restart, "operator", named)
        await asyncio.sleep(5.0)  # it lists everything, and turns the gate

    async def nominated(self, scheduler: str) -> Run:
        """Let a scheduler find all pods waiting, ours released and nominated."""
        async with self._watched(scheduler) as (path, crowd):
            self.lab.processes.kill(PROCESS[scheduler])
            await self._create(path, scheduler, crowd)
            await _until(lambda: len(crowd.released) == self.pods, "all pods are released")
            return await self._bind(scheduler, crowd)

    async def slow(self, scheduler: str) -> Run:
        """The same with pods that nobody nominated: their gates are taken away by hand."""
        async with self._watched(scheduler) as (path, crowd):
            self.lab.processes.kill(PROCESS[scheduler])
            await self._create(path, scheduler, crowd)
            if scheduler == OURS:
                await asyncio.gather(*(self._ungate(f"{path}/{name}") for name in crowd.created))
            await _until(lambda: len(crowd.released) == self.pods, "all pods are released")
            return await self._bind(scheduler, crowd)

    async def _bind(self, scheduler: str, crowd: Crowd) -> Run:
        """Start the scheduler and wait until it has bound all; its own start does not count."""
        await asyncio.sleep(2.0)  # what was written is taken in by all who watch
        before = costs(self.lab)
        await asyncio.to_thread(self.lab.restart, PROCESS[scheduler])
        await _until(lambda: len(crowd.bound) == self.pods, f"all pods are bound by {scheduler}")
        seconds = max(crowd.bound.values()) - min(crowd.bound.values())
        return _run(crowd, (self.pods - 1) / seconds, seconds, costs(self.lab) - before)

    @asynccontextmanager
    async def _watched(self, scheduler: str) -> AsyncIterator[tuple[str, Crowd]]:
        """A namespace for one run, a watch on its pods, and no pod left afterwards."""
        self._number += 1
        name = f"bench-{self._number}"
        async with house(self.session, name, managed=scheduler == OURS):
            crowd, path = Crowd(), f"/api/v1/namespaces/{name}/pods"
            watch = asyncio.create_task(Reflector(self.session, Source(path, PODS.shape, PODS.trim), crowd).run())
            try:
                yield path, crowd
                await self._empty(path)
                await _until(lambda: len(crowd.gone) == self.pods, "all pods are gone")
            finally:
                watch.cancel()

    async def _empty(self, path: str) -> None:
        """Take all pods away; the answer names each of them, and a slow API server may cut it off half-way."""
        for _ in range(5):
            try:
                await self.session.write("DELETE", f"{path}?gracePeriodSeconds=0", {})
            except Unavailable:
                continue
            return
        raise SystemExit("the pods of a run could not be deleted")

    async def _create(self, path: str, scheduler: str, crowd: Crowd, first: int = 0, count: int = 0) -> None:
        async def one(number: int) -> None:
            body = _pod(f"pod-{number}", scheduler, number % 10)
            crowd.created[f"pod-{number}"] = time.monotonic()
            answer = await self.session.write("POST", path, body)
            if not answer.ok:
                raise SystemExit(answer.message())

        await asyncio.gather(*(one(number) for number in range(first, first + (count or self.pods))))

    async def _ungate(self, path: str) -> None:
        answer = await self.session.write("PATCH", path, UNGATE, content_type=STRATEGIC)
        if not answer.ok:
            raise SystemExit(answer.message())


def _run(crowd: Crowd, rate: float, seconds: float, cost: Cost) -> Run:
    waits, releases = crowd.waits(), crowd.waits(crowd.released)
    last = len(waits) - 1
    return Run(rate, waits[last // 2], waits[round(last * 0.99)], releases[last // 2], seconds, cost)


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


class Told(BaseException):
    """Somebody ends the run: the lab must still be stopped."""


def _told(*_: object) -> None:
    raise Told


async def _until(probe: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE
    while not probe():
        if time.monotonic() > limit:
            raise SystemExit(f"not within {PATIENCE:g} s: {what}")
        await asyncio.sleep(0.02)


# -- what is said -----------------------------------------------------------------------------------------------------


def verdict(part: str, nodes: int, runs: Runs) -> str:
    """The ratio of the medians beside the bound for this size, if there is one; the last one plays for us."""
    ours = list(runs)[-1]
    ratio = statistics.median(run.rate for run in runs[ours]) / statistics.median(run.rate for run in runs[PLAIN])
    bound = tomllib.loads(BOUNDS.read_text()).get(part, {}).get(str(nodes))
    wanted = "no bound for this size" if bound is None else f"wanted {bound}: {'kept' if ratio >= bound else 'MISSED'}"
    return f"{part}, {nodes} nodes: ours over plain {ratio:.2f}; {wanted}"


# -- the programme ----------------------------------------------------------------------------------------------------


async def rounds(lab: Lab, part: str, asked: argparse.Namespace, runs: Runs) -> None:
    """Plain and ours in turn, so that a busy moment of the machine meets both."""
    async with Session(endpoint(lab.site.kubeconfig), in_flight=16) as session:
        bench = Bench(lab, session, asked.pods, asked.rate)
        parts = (bench.nominated, bench.slow, bench.whole, bench.lone, bench.release, bench.gate, bench.paced)
        play = {each.__name__: each for each in parts}[part]
        for number in range(asked.rounds):
            for scheduler in list(runs) if number % 2 == 0 else reversed(runs):
                runs[scheduler].append(await play(scheduler))
                sys.stderr.write(f"{part}, round {number + 1}, {scheduler}: {runs[scheduler][-1].rate:.1f} pods/s\n")


def measure(part: str, asked: argparse.Namespace) -> Runs:
    """All rounds of one part in a lab of its own; a run that is told to end keeps the rounds it has."""
    runs: Runs = {contender: [] for contender in PARTS_OF.get(part, (PLAIN, OURS))}
    # Scrapes of that many simulated nodes would fill the machine: without samples, reservations count. Where nobody
    # shall nominate there is no operator.
    unwanted = {"prometheus", "state-metrics"} | ({"operator"} if part == "slow" else set())
    plan = Plan(parts=frozenset(PARTS) - unwanted, nodes=asked.nodes, shape=Shape("32", "128Gi"), values=VALUES)
    if part not in ("gate", "paced"):  # all pods may be on their way at once: here the scheduler is what is measured
        os.environ["SLACKWATER_OPERATOR_WINDOW"] = str(10 * asked.pods)
    if part not in FOLLOWING:
        os.environ["SLACKWATER_OPERATOR_OPEN_NODES"] = str(NEVER)
    with Lab(open_site(f"bench-{part}"), plan) as lab:
        lab.up()
        with suppress(Told):
            asyncio.run(rounds(lab, part, asked, runs))
    return runs


def main() -> None:
    """Run the parts that were asked for, print, and say whether the bounds were kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*ALL, "lone", *PARTS_OF), action="append", help=f"default: {', '.join(ALL)}")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=40.0, help="pods a second in the part paced")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, _told)
    verdicts = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["SLACKWATER_LAB_HOME"] = home
        for part in asked.part or ALL:
            runs = measure(part, asked)
            if not all(runs.values()):
                raise SystemExit(f"{part}: not one round was finished")
            sys.stdout.write(
                f"\n### {part}: {asked.nodes} nodes, {asked.pods} pods, {asked.rounds} rounds\n\n"
                f"`python tests/performance/bench_lab.py --part {part} --nodes {asked.nodes} --pods {asked.pods} "
                f"--rounds {asked.rounds}{f' --rate {asked.rate:g}' if part == 'paced' else ''}`\n\n"
                + "\n".join(report(runs, asked.pods, waits=part in ("whole", "lone", *PARTS_OF)))
                + "\n"
            )
            verdicts.append(f"{verdict(part, asked.nodes, runs)} ({min(map(len, runs.values()))} rounds)")
    sys.stdout.write("\n" + "\n".join(verdicts) + f"\nload average {os.getloadavg()[1]:.1f} at the end\n")


if __name__ == "__main__":
    main()
