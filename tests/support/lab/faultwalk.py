"""`python -m support.lab.faultwalk` (with tests/ on the path): faults by seed on a lab of its own; it resumes.

Each seed chooses a program, a fault, the write it strikes at and how bad both programs' watches are. The end of the
life must be the one without faults, and no room may be given twice on the way.
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

from slackwater_lab.faults import requests
from slackwater_lab.faults.behind import Behind, behind
from slackwater_lab.faults.rules import Fault, Watch
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan, without
from slackwater_lab.site import open_site
from support.lab.testcluster import ENFORCE, Field
from support.lab.troubledlife import NODE, TroubledLife
from support.search.campaign import ROOT, digest

PLAN = Plan(without(("prometheus", "state-metrics")), nodes=1, shape=Shape(cpu="2", memory="4Gi"), values=ENFORCE)
FIRST = 8  # the first so many requests of a kind may be struck: as many as a life has releases


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lab", default="faults", help="the name of the lab; one that runs is used")
    parser.add_argument("--folder", type=Path, default=ROOT / ".faults")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    book = asked.folder / f"{digest()}.jsonl"
    lines = book.read_text(encoding="utf-8").splitlines() if book.exists() else []
    done = {json.loads(line)["seed"] for line in lines}
    left = [seed for seed in range(asked.first, asked.first + asked.seeds) if seed not in done]
    found = sum(bool(json.loads(line)["found"]) for line in lines)
    with Lab(open_site(asked.lab), PLAN) as lab, book.open("a", encoding="utf-8") as notes:
        for line in _walk(lab.up(), left):
            found += bool(line["found"])
            notes.write(json.dumps(line) + "\n")
            notes.flush()
            _say(str(line))
    _say(f"{len(done) + len(left)} seeds, {found} findings")
    return int(bool(found))


def _walk(lab: Lab, seeds: list[int]) -> Iterator[dict[str, object]]:
    with ExitStack() as stack:
        arena = Field(stack.enter_context(lab.api()), lab.site.url("extender"), lab)
        programs = {name: stack.enter_context(behind(lab, name)) for name in ("extender", "operator")}
        ground = stack.enter_context(arena.ground("faults", nodes=2, shape=NODE))
        life = TroubledLife(arena, ground, list(programs.values()))
        life.usual = life.play()
        for seed in seeds:
            yield _one(life, programs, seed)


def _one(life: TroubledLife, programs: dict[str, Behind], seed: int) -> dict[str, object]:
    rng, began, life.kills = Random(seed), time.monotonic(), 0
    name = rng.choice(("operator", "operator", "extender"))
    kind = rng.choice(requests.OPERATOR) if name == "operator" else requests.READ
    fault, at = rng.choice(list(Fault)), rng.randint(1, FIRST)
    watches = {each: rng.choice(list(Watch)) for each in programs}
    problem = ""
    with ExitStack() as stack:
        for each, watch in watches.items():
            stack.enter_context(programs[each].proxy.watching(watch, seed))
        programs[name].proxy.told.clear()
        programs[name].proxy.arm(kind, at, fault)
        try:
            end = life.play()
            problem = "" if end == life.usual else f"another end: {end}"
        except AssertionError as wrong:
            problem = str(wrong)
            life.ground.clear()
        programs[name].proxy.disarm()
    struck = programs[name].proxy.told[f"{kind}: {fault}"]
    what = f"{name}: {kind} {at}: {fault}; " + ", ".join(f"{each} {watch}" for each, watch in watches.items())
    seconds = round(time.monotonic() - began, 1)
    return {"seed": seed, "what": what, "struck": struck, "kills": life.kills, "seconds": seconds, "found": problem}


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
