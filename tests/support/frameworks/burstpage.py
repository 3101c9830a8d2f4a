"""The table of bursts of Spark applications, round by round, for docs/reference/frameworks.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

BEGIN = "<!-- written by tests/frameworks/test_burst.py -->\n"
END = "<!-- end of what tests/frameworks/test_burst.py wrote -->\n"
NAMES = {"slackwater": "Slackwater", "stock": "stock scheduler"}
HEAD = """
## A burst of drivers

Written by `.venv/bin/python -m pytest -q -p no:randomly -m frameworks tests/frameworks/test_burst.py`
(`SLACKWATER_FRAMEWORK_ROUNDS=3` plays three rounds of each). Spark applications are submitted by `spark-submit` while
the nodes are closed, which are then opened at once: two real nodes of 8 cores, beside two tainted ones of 32, with the
chart's defaults in mode `enforce`. Driver and executor ask for 2 cores each, so drivers alone can fill both nodes.
Every second application asks for its one or two executors while it runs, the others for one at once. An application is
right if its sum is. A round ends when all have ended; with the stock scheduler it is given up after 300 s, with
Slackwater after 150 s for each application. Seconds are from the opening, on a machine with two real cores that had
other work.

| Apps | With | Day | Ended | Right | Seconds |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Round:
    """What came of one round."""

    apps: int
    world: str
    ended: int
    right: int
    seconds: int
    day: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())


def page(before: str, rounds: Iterable[Round]) -> str:
    """The page with these rounds in the place of the last ones; fewer apps first, then as they were played."""
    own, _, rest = before.partition(BEGIN)
    if not rest:  # a page without the table gets it before what follows the other one
        own, mark, rest = before.partition("<!-- end of what make frameworks wrote -->\n")
        own += mark
    ordered = sorted(rounds, key=lambda each: (each.apps, each.world, each.day))
    lines = "".join(
        f"| {each.apps} | {NAMES[each.world]} | {each.day} | {each.ended} of {each.apps} | {each.right} | "
        f"{each.seconds} |\n"
        for each in ordered
    )
    return f"{own.rstrip(chr(10))}\n\n{BEGIN}{HEAD}{lines}\n{END}{rest.partition(END)[2] or rest}"
