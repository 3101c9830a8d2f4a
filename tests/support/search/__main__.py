"""`python -m support.search` (with tests/ on the path): search random worlds, or look at one of them.

--worlds N     play so many worlds; stopped and started again it goes on where it was; --wild: of the wild ones
--seed N       play one world and say what happened; --shrink looks for a smaller one that shows the same
--file PATH    play the world written there, as --shrink prints it
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import msgspec

from support.search.campaign import ROOT, search
from support.search.generate import MIXED, ODD, OWNED, REWRITTEN, WILD, plan
from support.search.plan import WorldPlan
from support.search.play import play
from support.search.shrink import shrunk


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="search", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument(
        "--first",
        type=int,
        help=f"the first seed: 0, {WILD} for wild worlds, {MIXED} for gangs of two sizes, {OWNED} for owners who speak,"
        f" {REWRITTEN} for queues that are written anew, {ODD} for worlds at the edges",
    )
    parser.add_argument("--wild", action="store_true", help="devices, visitors, nodes that change, users who delete")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=ROOT / ".search")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--shrink", action="store_true")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _one(plan(asked.seed), shrink=asked.shrink)
    if asked.file is not None:
        return _one(msgspec.json.decode(asked.file.read_bytes(), type=WorldPlan), shrink=asked.shrink)
    first = asked.first if asked.first is not None else WILD if asked.wild else 0
    return _many(asked.worlds, first, asked.jobs, asked.folder)


def _many(worlds: int, first: int, jobs: int, folder: Path) -> int:
    began, told, tally = time.monotonic(), 0.0, None
    for tally in search(worlds, first, jobs, folder):
        if time.monotonic() - told >= 5:
            told = time.monotonic()
            _say(f"{told - began:.0f} s: {tally}")
    assert tally is not None
    path = folder / "failures.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in tally.failures))
    _say(f"{time.monotonic() - began:.0f} s: {tally}")
    for failure in sorted(tally.failures, key=lambda each: str(each["kind"]))[:10]:
        _say(f"  seed {failure['seed']}: {failure['kind']} at {failure['at']} s: {failure['text']}")
    if tally.failures:
        _say(f"all of them: {path}; one of them: python -m support.search --seed N --shrink")
    return int(bool(tally.failures))


def _one(world: WorldPlan, *, shrink: bool) -> int:
    outcome = play(world)
    _say(str(outcome))
    for failure in outcome.failures:
        _say(str(failure))
    if shrink and outcome.failures:
        world = shrunk(world, outcome.failures[0].kind)
        _say(f"smaller: {play(world).failures[0]}")
    _say(msgspec.json.encode(world).decode())
    return int(bool(outcome.failures))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
