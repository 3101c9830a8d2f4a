"""`python -m support.walk` (with tests/ on the path): every value of every field, then seeded moves; tells findings.

Each value that is allowed, and each pair of neighbours at their ends, is compared with a fresh start.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable

from support.logs import quietly
from support.walk.moves import wander
from support.walk.values import Value, pairs, values
from support.walk.walk import CONFIGURED, WRITTEN, Walk


class Course:
    """Steps one after the other; after a finding the cluster is a new one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.walk, self.steps, self.found = Walk(self.loop), 0, 0

    def step(self, what: str, move: Callable[[Walk], None]) -> None:
        """One step; whatever it raises is what is looked for."""
        self.steps += 1
        try:
            move(self.walk)
        except Exception as problem:  # noqa: BLE001 - whatever breaks
            self.found += 1
            print(f"{what}: {type(problem).__name__}: {problem}")  # noqa: T201
            self.walk = Walk(self.loop)


def main() -> int:
    """The command; 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed of the moves")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--moves", type=int, default=12, help="for each seed")
    asked = parser.parse_args()
    course = Course()
    with quietly():
        for kind in CONFIGURED:
            _configured(course, kind)
        for kind, part in WRITTEN:
            for each in values(kind, part):
                course.step(f"{kind} {part} {each}", lambda walk, k=kind, p=part, e=each: walk.write(k, p, e))  # type: ignore[misc]
        print(f"{course.steps} values of fields, {course.found} findings")  # noqa: T201
        for seed in range(asked.first, asked.first + asked.seeds):
            course.walk = Walk(course.loop)
            course.step(f"seed {seed}", lambda walk, s=seed: wander(walk, s, asked.moves))  # type: ignore[misc]
        print(f"{asked.seeds} seeds of {asked.moves} moves, {course.found} findings in all")  # noqa: T201
    return 1 if course.found else 0


def _configured(course: Course, kind: str) -> None:
    for each in [(value,) for value in values(kind)] + [tuple(pair) for pair in pairs(kind)]:
        course.step(f"{kind} {', '.join(map(str, each))}", lambda walk, e=each: _one(walk, kind, e))  # type: ignore[misc]


def _one(walk: Walk, kind: str, chosen: tuple[Value, ...]) -> None:
    if chosen[0].meant:
        walk.allow(kind, *chosen)
        walk.go(", ".join(map(str, chosen)))
    else:
        walk.refuse(kind, chosen[0])
        walk.start_with(kind, chosen[0])


if __name__ == "__main__":
    sys.exit(main())
