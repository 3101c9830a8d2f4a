"""The table of how often starts lay in their intervals adds up, and its runs are those of this commit."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TRACES = ROOT.parent / "shared" / "traces" / "swim-facebook"
AGAIN = "after a change: python docs/scripts/starts.py FOLDER_OF_THE_TRACES"


@cache
def script() -> ModuleType:
    """docs/scripts/starts.py, which plays the runs."""
    spec = importlib.util.spec_from_file_location("starts", ROOT / "docs" / "scripts" / "starts.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def rows(name: str) -> list[list[str]]:
    """The cells of a table of the page, without its head."""
    page = script().PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, flags=re.DOTALL)
    assert found is not None, name
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]


def shown(world: str) -> dict[int, object]:
    """What the page says of each run, by seed."""
    made = {}
    for seed, known, inside, error, wait, unknown in rows(f"runs-{world}"):
        numbers = int(known), int(inside), error.removesuffix(" s"), wait.removesuffix(" s"), int(unknown)
        made[int(seed.removeprefix("seed "))] = script().Found(*numbers)
    return made


def test_the_table_is_the_sum_of_its_runs() -> None:
    """Each row of the first table, from the runs below it."""
    plays = [(each, [shown(each.world)[seed] for seed in each.seeds]) for each in script().PLAYS]
    assert "\n".join("| " + " | ".join(row) + " |" for row in rows("starts")) in script().summary(plays)


def test_readme_says_what_the_table_says() -> None:
    """How many hours, and which share of their starts lay inside."""
    (row, _) = rows("starts")
    hours = {8: "eight"}[int(row[1])]
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    share = row[3].partition(" (")[0]
    assert (
        f"[In {hours} hours kept for testing](docs/policies/starts.md#how-good-it-is), {share} of the starts" in words
    )


def test_later_looks_of_all_workloads_stand_in_their_table() -> None:
    """Those that the script plays, each with most of its intervals right."""
    shares = {row[0]: float(row[3].partition(" %")[0]) for row in rows("later")}
    assert [name.rpartition(", seeds")[0] for name in shares] == [each.name for each in script().LATER]
    assert all(75 <= share <= 85 for share in shares.values())


def test_an_hour_is_judged_as_the_page_says() -> None:
    """The one with the most starts, played anew with the rules of this commit."""
    plays = script().PLAYS[0]
    assert script().play(plays, 12, TRACES) == shown(plays.world)[12], AGAIN


def test_a_run_of_a_real_trace_is_judged_as_the_page_says() -> None:
    """One of the four."""
    if not TRACES.is_dir():
        pytest.skip("the real traces (../shared/traces beside the project) are not here")
    plays = script().PLAYS[1]
    assert script().play(plays, 2, TRACES) == shown(plays.world)[2], AGAIN
