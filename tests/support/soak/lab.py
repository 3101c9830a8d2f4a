"""`python -m support.soak.lab` (with tests/ on the path): churn on a real control plane, in real time.

Half a minute apart it notes the memory of every program, how many objects of each kind there are, and where the
extender's ledger differs from the pods that are bound. The first third of the time is a warm-up. In the end nothing is
created any more: all pods end, and the ledger must be empty.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import psutil

from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan, without
from slackwater_lab.site import open_site
from support.lab.testcluster import ENFORCE, Field
from support.lab.testnamespace import Ground, until
from support.search.campaign import ROOT
from support.soak.labload import LabLoad
from support.soak.trend import Series, flat, slope

NODES, CORES = 10, 16
PLAN = Plan(
    without(("state-metrics",)),
    nodes=1,
    shape=Shape(cpu="2", memory="4Gi"),
    scrape="5s",
    operators=2,
    event_ttl="2m",  # so that what a short run leaves shows in its end
    values=ENFORCE,
)
KEPT = {"SLACKWATER_OPERATOR_KEEP_FINISHED": "60"}
EVERY = 30.0  # seconds between two notes
PAUSE = 1.0  # seconds between two looks at the pods
OURS = ("extender", *OPERATORS)
# Ours may have a twentieth more in the second half than in the first one, or 4 MiB: a Python heap breathes.
SHARE, SLACK = 0.05, 4.0
KINDS = {
    "pods": "/api/v1/pods",
    "events": "/api/v1/events",
    "trackedapps": "/apis/slackwater.io/v1alpha1/trackedapps",
    "leases": "/apis/coordination.k8s.io/v1/leases",
    "configmaps": "/api/v1/configmaps",
}


class LabSoak:
    """One lab, its load, and what was noted of both."""

    def __init__(self, arena: Field, ground: Ground, waiting: int, book: Path) -> None:
        self.arena, self.ground, self.book = arena, ground, book
        self.load = LabLoad(ground, waiting)
        self.memory: dict[str, list[tuple[float, float]]] = defaultdict(list)  # MiB by program
        self.objects: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.found: list[str] = []
        self._odd: dict[tuple[str, str], int] = {}  # node and pod that differed, and how often in a row

    def play(self, seconds: float) -> None:
        """Load for so long, with a note every half a minute; then let everything end."""
        began = due = time.monotonic()
        while (now := time.monotonic()) - began < seconds:
            self.load.turn()
            if now >= due:
                due += EVERY
                self._note(now - began)
            time.sleep(PAUSE)
        rate = self.load.over / seconds
        _say(
            f"{self.load.created} pods created, {self.load.refused} refused, {self.load.over} over: {rate:.1f} a second"
        )
        if self.load.refused:
            self.found.append(f"{self.load.refused} creations were refused")
        self._end()

    def judge(self, warm: float) -> list[str]:
        """What grew after the warm-up, or differed."""
        for name, series in sorted(self.memory.items()):
            late = _after(series, warm)
            ours = name in OURS
            _say(f"{name:22} {_told(late)} MiB, {slope(late):+7.1f} MiB an hour{'' if ours else ' (not ours)'}")
            if ours and not flat(late, SHARE, SLACK):
                self.found.append(f"memory of {name} rises by {slope(late):.1f} MiB an hour")
        for name, series in sorted(self.objects.items()):
            late = _after(series, warm)
            _say(f"{name:22} {_told(late)} objects")
            if not flat(late, 0.25, 50):
                self.found.append(f"{name} grow by {slope(late):.0f} an hour")
        return self.found

    # -- looks ---------------------------------------------------------------------------------------------------------

    def _note(self, now: float) -> None:
        for started in self.arena.own_lab().processes.all():
            if started.alive:
                self.memory[started.name].append((now, _memory(psutil.Process(started.pid))))
        for kind, path in KINDS.items():
            listed = self.arena.api.find(path, {"limit": "1"}) or {"items": [], "metadata": {}}
            count = len(listed["items"]) + listed["metadata"].get("remainingItemCount", 0)
            self.objects[kind].append((now, count))
        self._compare()
        line = {
            "seconds": round(now),
            "over": self.load.over,
            "memory": {name: round(series[-1][1], 1) for name, series in self.memory.items()},
            "objects": {name: series[-1][1] for name, series in self.objects.items()},
            "differs": len(self._odd),
            "load": os.getloadavg()[0],
        }
        _say(json.dumps(line))
        with self.book.open("a", encoding="utf-8") as book:
            book.write(json.dumps(line) + "\n")

    def _compare(self) -> None:
        """A pod that is bound and not charged, or charged and not there, in two notes: half a minute is no delay."""
        charged = {name: self._charged(name) for name in self.ground.nodes}
        self.load.look()
        odd = {(name, uid) for name, uids in self.load.held_room().items() for uid in uids ^ charged[name]}
        # What came or went between the two looks is looked for once more.
        odd &= {(name, uid) for name in {name for name, _ in odd} for uid in self._differs(name)}
        self._odd = {each: self._odd.get(each, 0) + 1 for each in odd}
        for (name, uid), times in self._odd.items():
            if times == 2:
                self.found.append(f"the ledger of {name} and the cluster differ in pod {uid}")

    def _differs(self, name: str) -> set[str]:
        self.load.look()
        return self.load.held_room()[name] ^ self._charged(name)

    def _charged(self, name: str) -> set[str]:
        """Pods of ours that the ledger has on a node, but for those that are only on their way there."""
        pods = self.arena.ask(f"/v1/nodes/{name}")["pods"]
        return {pod["uid"] for pod in pods if pod["managed"] and pod["state"] != "reserved"}

    def _end(self) -> None:
        """Nothing comes any more."""

        def over() -> bool:
            self.load.look()
            return not self.load.pods and not any(self._charged(name) for name in self.ground.nodes)

        try:
            until("all pods end and the ledger is empty", over, 180, 1.0)
        except AssertionError as late:
            left = {name: sorted(self._charged(name)) for name in self.ground.nodes}
            self.found.append(f"{late}: {len(self.load.pods)} pods; charged: {left}")


def _memory(process: psutil.Process) -> float:
    """MiB of a program and of the processes it started, as a server's workers; shared pages count for each."""
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 2**20


def _after(series: Series, warm: float) -> Series:
    return [each for each in series if each[0] >= warm]


def _told(series: Series) -> str:
    values = [value for _, value in series] or [0.0]
    return f"{values[0]:7.0f} → {values[-1]:7.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> int:
    """The command; 1 where something grows or differs."""
    parser = argparse.ArgumentParser(prog="soak-lab", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--waiting", type=int, default=60, help="pods that wait at any time")
    parser.add_argument(
        "--lab", default="soak", help="the name of the lab; one that runs is used, and stopped in the end"
    )
    asked = parser.parse_args()
    folder = ROOT / ".soak"
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(open_site(asked.lab), PLAN)).up()
        for name in OPERATORS:
            lab.processes.stop(name)
            lab.restart(name, KEPT)
        arena = Field(stack.enter_context(lab.api()), lab.site.url("extender"), lab)
        ground = stack.enter_context(arena.ground("soak", nodes=NODES, shape=Shape(cpu=str(CORES), memory="64Gi")))
        soak = LabSoak(arena, ground, asked.waiting, folder / f"lab-{int(time.time())}.jsonl")
        soak.play(asked.minutes * 60)
        found = soak.judge(asked.minutes * 60 / 3)
    for each in found:
        _say(each)
    _say(f"{asked.minutes:g} minutes, {len(found)} findings")
    return int(bool(found))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
