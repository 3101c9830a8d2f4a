"""Many worlds, some at a time in each process; what was played is remembered, so that the command can be stopped."""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.search.generate import plan
from support.search.play import Outcome, play

ROOT = Path(__file__).parents[3]
SOURCES = ("core", "cluster", "extender", "operator", "tests/support/search", "tests/support/fakes")
CHUNK = 20  # worlds between two marks
Line = dict[str, object]  # what a chunk came to
Player = Callable[[tuple[int, int]], Line]  # plays the seeds from the first to before the second


@dataclass
class Tally:
    """What many worlds came to."""

    worlds: int = 0
    seconds: float = 0.0  # of CPU
    rounds: int = 0
    apps: tuple[int, int, int] = (0, 0, 0)  # in all, finished under stock, finished under ours
    whole: tuple[int, float, float] = (0, 0.0, 0.0)  # worlds that both finish to the last app; stock's seconds and ours
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, object]] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Take in one chunk."""
        self.worlds += int(str(line["worlds"]))
        self.seconds += float(str(line["seconds"]))
        self.rounds += int(str(line["rounds"]))
        self.apps = tuple(map(sum, zip(self.apps, line["apps"], strict=True)))  # type: ignore[assignment,call-overload] # of `_chunk`
        self.whole = tuple(map(sum, zip(self.whole, line["whole"], strict=True)))  # type: ignore[assignment,call-overload] # likewise
        for failure in line["failures"]:  # type: ignore[attr-defined] # written by `_chunk` below
            self.kinds[failure["kind"]] += 1
            self.failures.append(failure)

    def __str__(self) -> str:
        found = ", ".join(f"{kind}: {count}" for kind, count in sorted(self.kinds.items())) or "nothing found"
        apps, stock, ours = self.apps
        worlds, theirs, mine = self.whole
        return (
            f"{self.worlds} worlds, {self.rounds} rounds, {self.seconds:.0f} s of CPU; of {apps} apps stock finishes "
            f"{stock}, ours {ours}; {worlds} worlds that both finish whole: stock {theirs:.0f} s, ours {mine:.0f} s; "
            f"{found}"
        )


def digest(sources: Sequence[str] = SOURCES) -> str:
    """Names the code that is searched: progress made with other code does not count."""
    found = hashlib.sha256()
    for folder in sources:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def search(worlds: int, first: int, jobs: int, folder: Path) -> Iterator[Tally]:
    """Play seeds from `first` on until so many worlds were played with this code; a tally after every chunk."""
    tally = Tally()
    yield tally
    for line in resumed(_chunk, range(first, first + worlds), jobs, folder / f"{digest()}.jsonl"):
        tally.add(line)
        yield tally


def resumed(play: Player, seeds: range, jobs: int, marks: Path) -> Iterator[Line]:
    """What every chunk of the seeds came to: first those that the marks remember, then the others, which they will."""
    marks.parent.mkdir(parents=True, exist_ok=True)
    texts = marks.read_text(encoding="utf-8").splitlines() if marks.exists() else []
    known = {line["first"]: line for line in map(json.loads, texts) if line["first"] in seeds}
    yield from known.values()
    left = [(seed, min(seed + CHUNK, seeds.stop)) for seed in seeds[::CHUNK] if seed not in known]
    with multiprocessing.Pool(jobs) as pool, marks.open("a", encoding="utf-8") as book:
        for line in pool.imap_unordered(play, left):
            book.write(json.dumps(line) + "\n")
            book.flush()
            yield line


def _chunk(seeds: tuple[int, int]) -> Line:
    began = time.process_time()
    loop = asyncio.new_event_loop()
    try:
        outcomes = [play(plan(seed), loop) for seed in range(*seeds)]
    finally:
        loop.close()
    whole = [each for each in outcomes if each.apps == each.stock_finished == each.ours_finished]
    return {
        "first": seeds[0],
        "worlds": len(outcomes),
        "seconds": round(time.process_time() - began, 3),
        "rounds": sum(outcome.rounds for outcome in outcomes),
        "apps": [sum(getattr(each, part) for each in outcomes) for part in ("apps", "stock_finished", "ours_finished")],
        "whole": [len(whole), sum(each.stock for each in whole), sum(each.ours for each in whole)],
        "failures": [_failure(outcome) for outcome in outcomes if outcome.failures],
    }


def _failure(outcome: Outcome) -> dict[str, object]:
    first = outcome.failures[0]
    return {"seed": outcome.seed, "kind": first.kind, "at": first.at, "text": first.text}
