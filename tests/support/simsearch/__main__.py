"""`python -m support.simsearch` (with tests/ on the path): search small worlds of the simulator, or look at one.

--worlds N     play so many worlds; stopped and started again it goes on where it was
--seed N       play one world and say what happened; --shrink looks for a smaller one that shows the same
--file PATH    play the world written there, as --shrink prints it
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from support.search.campaign import ROOT, Line, digest, resumed
from support.simsearch.generate import world
from support.simsearch.play import play
from support.simsearch.shrink import shrunk
from support.simsearch.world import SmallWorld, read, written

SOURCES = ("core", "simulator", "tests/support/simsearch")


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(
        prog="simsearch", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=ROOT / ".search" / "simulator")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--shrink", action="store_true")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _one(world(asked.seed), shrink=asked.shrink)
    if asked.file is not None:
        return _one(read(json.loads(asked.file.read_text(encoding="utf-8"))), shrink=asked.shrink)
    return _many(range(asked.first, asked.first + asked.worlds), asked.jobs, asked.folder)


def _many(seeds: range, jobs: int, folder: Path) -> int:
    began, told, found = time.monotonic(), 0.0, list[str]()
    worlds = runs = 0
    for line in resumed(_chunk, seeds, jobs, folder / f"{digest(SOURCES)}.jsonl"):
        worlds, runs = worlds + int(str(line["worlds"])), runs + int(str(line["runs"]))
        found += line["found"]  # type: ignore[arg-type] # written by `_chunk` below
        if time.monotonic() - told >= 5:
            told = time.monotonic()
            _say(f"{told - began:.0f} s: {worlds} worlds, {runs} runs; found: {len(found)}")
    _say(f"{time.monotonic() - began:.0f} s: {worlds} worlds, {runs} runs; found: {len(found)}")
    for text in found[:20]:
        _say(f"  {text}")
    return int(bool(found))


def _chunk(seeds: tuple[int, int]) -> Line:
    played = [play(world(seed)) for seed in range(*seeds)]
    found = [f"--seed {each.seed}: {failure}" for each in played for failure in each.failures]
    return {"first": seeds[0], "worlds": len(played), "runs": sum(each.runs for each in played), "found": found}


def _one(small: SmallWorld, *, shrink: bool) -> int:
    failures = play(small).failures
    for failure in failures:
        _say(str(failure))
    if shrink and failures:
        small = shrunk(small, failures[0].kind)
    _say(written(small))
    return int(bool(failures))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
