"""`python -m support.lab.killwalk` (with tests/ on the path): a program killed after each of its writes in turn.

On a lab of its own. A life without faults counts the writes of each kind; then one life is played for each of them, in
which the program is killed right after that write was done and before it has its answer. It is started again, and the
end must be the one without faults. So operator, extender and watchdog. Seed 0 has good watches, each further one
others. What was played is written down; started again, the command goes on. `--kinds` plays some writes only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from slackwater_lab.faults import requests
from slackwater_lab.faults.behind import Behind, behind
from slackwater_lab.faults.rules import Fault, Watch
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan, without
from slackwater_lab.site import open_site
from support.lab.givenuplife import MemoryLife, ResizeLife, StallLife
from support.lab.rescuelife import RescueLife, watchdog_behind
from support.lab.testcluster import ENFORCE, Field
from support.lab.testnamespace import Ground, until
from support.lab.troubledlife import CORES, NODE, TroubledLife
from support.search.campaign import ROOT, digest

PLAN = Plan(without(("state-metrics",)), nodes=1, shape=Shape(cpu="2", memory="4Gi"), scrape="2s", values=ENFORCE)
# Without Events: they are told of what waits for some seconds, in longer lives than these.
QUICK = (requests.NOMINATION, requests.GATE, requests.STATUS, requests.LEASE)
LONG, LATE = 6.0, 3  # seconds of a task, and further apps that wait long enough to be told of
CEILING = 2.0  # of CPU, by the chart's policy
LEASE = "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases/slackwater-operator"
MADE, TAKEN = "lease made", "lease taken over"  # the first write of one that leads; others renew
WATCHDOG, STALL, MEMORY = "watchdog: ", "stall: ", "memory: "  # whose writes, or why
# Everything that is struck, by the names of the lines.
KINDS = (
    *(f"{WATCHDOG}{kind}" for kind in (requests.SWITCH, requests.GATE)),
    *(requests.EVENT, *QUICK, MADE, TAKEN, f"{STALL}{requests.EVICTION}"),
    *(f"{MEMORY}{requests.EVICTION}", requests.RESIZE, requests.LEARNED),
)
# Tasks that are measured, and what was learned of them written so often that a life has several such writes.
MEASURED, USE = 10.0, ("400m", "300Mi")
OFTEN = {
    "SLACKWATER_EXTENDER_LEARNED__CONFIG_MAP": "slackwater-learned",
    "SLACKWATER_EXTENDER_LEARNED__INTERVAL": "4",
}
Line = dict[str, Any]
Done = set[tuple[int, str, int]]  # seed, kind and number of what was played
Life = TroubledLife | RescueLife


@dataclass(frozen=True, slots=True)
class Asked:
    """What shall be played."""

    seeds: int
    kinds: frozenset[str]
    done: Done  # and was played before

    def any(self, whose: str, kinds: tuple[str, ...]) -> bool:
        """Whether one of these kinds is."""
        return not self.kinds.isdisjoint(f"{whose}{kind}" for kind in kinds)


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="kills", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lab", default="kills", help="the name of the lab; one that runs is used")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="the writes that are struck")
    parser.add_argument("--folder", type=Path, default=ROOT / ".faults")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    book = asked.folder / f"kills-{digest()}.jsonl"
    lines = [json.loads(each) for each in book.read_text(encoding="utf-8").splitlines()] if book.exists() else []
    done = {(line["seed"], line["kind"], line["at"]) for line in lines}
    with Lab(open_site(asked.lab), PLAN) as lab, book.open("a", encoding="utf-8") as notes:
        for line in _walk(lab.up(), Asked(asked.seeds, frozenset(asked.kinds), done)):
            lines.append(line)
            notes.write(json.dumps(line) + "\n")
            notes.flush()
            _say(str(line))
    return _sum_up(lines)


def _walk(lab: Lab, asked: Asked) -> Iterator[Line]:
    """The operator without samples, where declared requests are all that counts; the extender with them."""
    with ExitStack() as stack:
        arena = Field(stack.enter_context(lab.api()), lab.site.url("extender"), lab)
        ground = stack.enter_context(arena.ground("kills", nodes=2, shape=NODE))
        lab.processes.kill("prometheus")
        until("samples are stale", lambda: all(arena.node(name)["stale"] for name in ground.nodes), 90, 0.5)
        if asked.any(WATCHDOG, (requests.SWITCH, requests.GATE)):
            with watchdog_behind(lab) as program:
                rescue = RescueLife(arena, ground, program)
                yield from _each(rescue, program, (requests.SWITCH, requests.GATE), replace(asked, seeds=1), WATCHDOG)
        with behind(lab, "operator") as program:
            yield from _operator(arena, ground, program, asked)
        lab.restart("prometheus")
        arena.until_measured(ground)
        with behind(lab, "operator") as program:
            yield from _measured(arena, ground, program, asked)
        with behind(lab, "extender", OFTEN) as program:
            life = TroubledLife(arena, ground, [program], limit=CEILING * CORES, lasts=MEASURED, use=USE)
            yield from _each(life, program, (requests.LEARNED,), asked)


def _operator(arena: Field, ground: Ground, program: Behind, asked: Asked) -> Iterator[Line]:
    long = TroubledLife(arena, ground, [program], lasts=LONG, late=LATE)
    yield from _each(long, program, (requests.EVENT,), asked)
    life = TroubledLife(arena, ground, [program])
    yield from _each(life, program, QUICK, asked)
    yield from _first(life, program, asked)
    with arena.ground("foreign", nodes=0, managed=False) as foreign:
        stall = StallLife(arena, ground, [program], foreign=foreign)
        yield from _each(stall, program, (requests.EVICTION,), asked, STALL)


def _measured(arena: Field, ground: Ground, program: Behind, asked: Asked) -> Iterator[Line]:
    memory = MemoryLife(arena, ground, [program], limit=CEILING * CORES)
    yield from _each(memory, program, (requests.EVICTION,), asked, MEMORY)
    resize = ResizeLife(arena, ground, [program], limit=CEILING * CORES)
    yield from _each(resize, program, (requests.RESIZE,), asked)


def _first(life: TroubledLife, program: Behind, asked: Asked) -> Iterator[Line]:
    """The write that makes the Lease, and the one that takes it from an operator that was killed."""
    for name, prepare in ((MADE, _without_lease), (TAKEN, _beside_another)):
        if name in asked.kinds and (0, name, 1) not in asked.done:
            yield {**_one(life, program, 0, requests.LEASE, 1, prepare), "kind": name}


def _without_lease(program: Behind) -> None:
    program.lab.processes.kill(program.name)
    with program.lab.api() as api:
        api.delete(LEASE)


def _beside_another(program: Behind) -> None:
    """Another operator leads, is followed by this one, and dies."""
    lab = program.lab
    lab.restart("operator-2")
    lab.processes.kill(program.name)
    with lab.api() as api:
        until("the other one leads", lambda: api.get(LEASE)["spec"].get("holderIdentity") == "operator-2", 60)
    program.start()
    lab.processes.stop("operator-2", grace=0.0)


def _each(life: Life, program: Behind, kinds: tuple[str, ...], asked: Asked, whose: str = "") -> Iterator[Line]:
    """One life for each write of each kind, and seed."""
    if not asked.any(whose, kinds):
        return
    life.usual = life.play()  # with everything new
    program.proxy.disarm()
    assert life.play() == life.usual
    counts = program.proxy.disarm()
    _say(f"{program.name}: writes of a life: { {kind: counts[kind] for kind in kinds} }")
    for seed in range(asked.seeds):
        for kind in kinds:
            for at in range(1, counts[kind] + 1):
                if f"{whose}{kind}" in asked.kinds and (seed, f"{whose}{kind}", at) not in asked.done:
                    yield {**_one(life, program, seed, kind, at), "kind": f"{whose}{kind}"}


def _one(
    life: Life, program: Behind, seed: int, kind: str, at: int, prepare: Callable[[Behind], None] = lambda _: None
) -> Line:
    watch = Random(f"{seed} {kind} {at}").choice(list(Watch)) if seed else Watch.PROMPT
    began, life.kills, found = time.monotonic(), 0, ""
    with program.proxy.watching(watch, seed):
        prepare(program)
        program.proxy.arm(kind, at, Fault.KILLED)
        try:
            end = life.play()
            found = "" if end == life.usual else f"another end: {end}"
        except AssertionError as wrong:
            found = str(wrong)
            life.ground.clear()
        program.proxy.disarm()
    took = round(time.monotonic() - began, 1)
    what = {"program": program.name, "watch": str(watch), "kills": life.kills, "seconds": took, "found": found}
    return {"seed": seed, "kind": kind, "at": at, **what}


def _sum_up(lines: list[Line]) -> int:
    for kind in sorted({line["kind"] for line in lines}):
        those = [line for line in lines if line["kind"] == kind]
        _say(f"{kind:18} {len(those)} lives, {sum(line['kills'] for line in those)} kills")
    found = [line for line in lines if line["found"]]
    _say(f"{len(lines)} lives, {len(found)} findings")
    return int(bool(found))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
