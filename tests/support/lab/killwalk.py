"""`python -m support.lab.killwalk` (with tests/ on the path): a program killed after each of its writes in turn.

On a lab of its own. A life without faults counts the writes of each kind; then one life is played for each of them, in
which the program is killed right after that write was done and before it has its answer. It is started again, and the
end must be the one without faults. Seed 0 has good watches, each further one others. What was played is written down;
started again, the command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
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
from support.lab.testcluster import ENFORCE, Field
from support.lab.testnamespace import Ground, until
from support.lab.troubledlife import CORES, NODE, TroubledLife
from support.search.campaign import ROOT, digest

PLAN = Plan(without(("state-metrics",)), nodes=1, shape=Shape(cpu="2", memory="4Gi"), scrape="2s", values=ENFORCE)
OPERATOR = (requests.NOMINATION, requests.GATE, requests.STATUS, requests.EVENT, requests.LEASE)
CEILING = 2.0  # of CPU, by the chart's policy
# What was learned is written as often as it may be, so that a life has several such writes.
OFTEN = {
    "SLACKWATER_EXTENDER_LEARNED__CONFIG_MAP": "slackwater-learned",
    "SLACKWATER_EXTENDER_LEARNED__INTERVAL": "1",
}
Line = dict[str, Any]


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="kills", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lab", default="kills", help="the name of the lab; one that runs is used")
    parser.add_argument("--folder", type=Path, default=ROOT / ".faults")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    book = asked.folder / f"kills-{digest()}.jsonl"
    lines = [json.loads(each) for each in book.read_text(encoding="utf-8").splitlines()] if book.exists() else []
    done = {(line["seed"], line["kind"], line["at"]) for line in lines}
    with Lab(open_site(asked.lab), PLAN) as lab, book.open("a", encoding="utf-8") as notes:
        for line in _walk(lab.up(), asked.seeds, done):
            lines.append(line)
            notes.write(json.dumps(line) + "\n")
            notes.flush()
            _say(str(line))
    return _sum_up(lines)


def _walk(lab: Lab, seeds: int, done: set[tuple[int, str, int]]) -> Iterator[Line]:
    """The operator without samples, where declared requests are all that counts; the extender with them."""
    with ExitStack() as stack:
        arena = Field(stack.enter_context(lab.api()), lab.site.url("extender"), lab)
        ground = stack.enter_context(arena.ground("kills", nodes=2, shape=NODE))
        lab.processes.kill("prometheus")
        until("samples are stale", lambda: all(arena.node(name)["stale"] for name in ground.nodes), 90, 0.5)
        with behind(lab, "operator") as program:
            yield from _each(TroubledLife(arena, ground, [program]), program, OPERATOR, seeds, done)
        lab.restart("prometheus")
        with behind(lab, "extender", OFTEN) as program:
            yield from _extender(arena, ground, program, seeds, done)


def _extender(
    arena: Field, ground: Ground, program: Behind, seeds: int, done: set[tuple[int, str, int]]
) -> Iterator[Line]:
    arena.until_measured(ground)
    life = TroubledLife(arena, ground, [program], limit=CEILING * CORES)
    yield from _each(life, program, (requests.LEARNED,), seeds, done)


def _each(
    life: TroubledLife, program: Behind, kinds: tuple[str, ...], seeds: int, done: set[tuple[int, str, int]]
) -> Iterator[Line]:
    """One life for each write of each kind, and seed."""
    life.usual = life.play()  # with everything new
    program.proxy.disarm()
    assert life.play() == life.usual
    counts = program.proxy.disarm()
    _say(f"{program.name}: writes of a life: { {kind: counts[kind] for kind in kinds} }")
    for seed in range(seeds):
        for kind in kinds:
            for at in range(1, counts[kind] + 1):
                if (seed, kind, at) not in done:
                    yield _one(life, program, seed, kind, at)


def _one(life: TroubledLife, program: Behind, seed: int, kind: str, at: int) -> Line:
    watch = Random(f"{seed} {kind} {at}").choice(list(Watch)) if seed else Watch.PROMPT
    began, life.kills, found = time.monotonic(), 0, ""
    with program.proxy.watching(watch, seed):
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
        _say(f"{kind:12} {len(those)} lives, {sum(line['kills'] for line in those)} kills")
    found = [line for line in lines if line["found"]]
    _say(f"{len(lines)} lives, {len(found)} findings")
    return int(bool(found))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
