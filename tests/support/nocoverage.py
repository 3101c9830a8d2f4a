"""Which tests need not run with coverage: writes tests/no_coverage.txt anew from one run that measures both.

    export PYTHONPATH=tests COVERAGE_FILE=/tmp/branches COSTS=/tmp/costs
    python -m pytest --forks 2 -p support.nocoverage -m "not lab and not bench" --cov --cov-report=
    python -m support.nocoverage > /tmp/no_coverage.txt

The first command runs as a plugin of pytest: it keeps the CPU seconds of each test, and which branches it takes. The
second chooses tests that are traced, those first that add the most branches for their time (a greedy set cover), until
every branch that some test takes is taken. The dearer ones of the others are listed.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from time import process_time

import coverage
import pytest

# CPU seconds. Cheaper tests are traced, all of them as one: their tracing costs little, and the list stays short.
CHEAP = 0.05
TOGETHER = "cheap tests"
LIST = Path(__file__).parents[1] / "no_coverage.txt"

Branch = tuple[int, int, int]  # file, from line, to line


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a test costs, and give its branches its name."""
    name, began = item.nodeid.partition("[")[0], process_time()
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(name)
    try:
        return (yield)
    finally:
        with Path(os.environ["COSTS"]).open("a", encoding="utf-8") as costs:
            costs.write(f"{process_time() - began:.3f} {name}\n")


def read_costs(path: Path) -> Counter[str]:
    """CPU seconds of each test, all its parameters together."""
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        seconds, name = line.split(maxsplit=1)
        found[name] += float(seconds)  # type: ignore[assignment] # a Counter counts seconds as well
    return found


def read_branches(path: Path, costs: Counter[str]) -> dict[str, set[Branch]]:
    """The branches that each test takes, none for some; cheap ones, and what is imported, stand together."""
    found: dict[str, set[Branch]] = defaultdict(set, {name: set() for name in costs if costs[name] >= CHEAP})
    with sqlite3.connect(path) as database:
        rows = database.execute(
            "select context, file_id, fromno, tono from arc join context on context_id = context.id"
        )
        for name, file, begin, end in rows:
            found[name if costs[name] >= CHEAP else TOGETHER].add((file, begin, end))
    return found


def unneeded(branches: dict[str, set[Branch]], costs: Counter[str]) -> list[str]:
    """Tests that add no branch to what the others take."""
    rest = {name: taken for name, taken in branches.items() if name != TOGETHER}
    missing = set[Branch]().union(*rest.values()) - branches.get(TOGETHER, set())
    chosen: dict[str, set[Branch]] = {TOGETHER: branches.get(TOGETHER, set())}
    while missing:
        best = max(rest, key=lambda name: len(rest[name] & missing) / max(costs[name], CHEAP))
        missing -= rest[best]
        chosen[best] = rest.pop(best)
    return sorted([*rest, *_superseded(chosen, costs)])


def _superseded(chosen: dict[str, set[Branch]], costs: Counter[str]) -> list[str]:
    """Tests that were chosen early and add nothing beside those that were chosen later, the dearest first."""
    taken = Counter(branch for each in chosen.values() for branch in each)
    found = []
    for name in sorted(chosen.keys() - {TOGETHER}, key=lambda name: -costs[name]):
        if all(taken[branch] > 1 for branch in chosen[name]):
            taken.subtract(chosen[name])
            found.append(name)
    return found


def main() -> None:
    """Print the list: what stood there, and what may stand there too."""
    costs = read_costs(Path(os.environ["COSTS"]))
    branches = read_branches(Path(os.environ["COVERAGE_FILE"]), costs)
    before = LIST.read_text(encoding="utf-8").splitlines()
    head, known = [line for line in before if line.startswith("#")], {line for line in before if line[:1] != "#"}
    new = {name for name in unneeded(branches, costs) if name.partition("::")[0] not in known}
    print(*head, *sorted(known | new), sep="\n")  # noqa: T201 - it is what was asked for
    print(f"{sum(costs[name] for name in new):.0f} s of CPU are traced no more", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
