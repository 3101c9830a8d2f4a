"""The league's page: what its tables say, and that it is written from the lines beside it."""

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest

from support.lab.chart import ROOT

LINES = ROOT / "docs" / "league.jsonl"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/scripts/league.py, which writes the page."""
    spec = importlib.util.spec_from_file_location("league_page", ROOT / "docs" / "scripts" / "league.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _line(scheduler: str, round_number: int = 1, **figures: Any) -> dict[str, Any]:
    known = json.loads(LINES.read_text().splitlines()[0])
    turn = {**known["turn"], "scheduler": scheduler, "round": round_number}
    return {**known, "turn": turn, "figures": {**known["figures"], **figures}}


def test_a_figure_is_the_median_of_the_rounds_with_its_range(script: ModuleType) -> None:
    """One round has no range; a round in which it never came makes it a dash."""
    assert script.told([3.0, 1.0, 8.0], 1) == "3.0 (1.0 to 8.0)"
    assert script.told([2.25], 1) == "2.2"
    assert script.told([2.0, None], 1) == "–"


def test_schedulers_are_columns_and_figures_are_rows(script: ModuleType) -> None:
    """In the order of the catalogue, whoever was played first."""
    lines = [_line("slackwater", makespan=5.0), _line("stock", makespan=None, finished=0, jobs=7)]
    rows = {row.split(" | ")[0].strip("| "): row for row in script.of_workload(lines).splitlines()}
    assert rows[""] == "|  | stock | slackwater |"
    assert rows["makespan, s"] == "| makespan, s | – | 5.0 |"
    assert rows["jobs finished"].startswith("| jobs finished | 0 of 7 | ")


def test_the_page_is_what_its_lines_say(script: ModuleType) -> None:
    """After another play: python docs/scripts/league.py FOLDER."""
    lines = [json.loads(line) for line in LINES.read_text().splitlines()]
    page = (ROOT / "docs" / "league.md").read_text()
    note = page.partition("> **")[2].partition("**")[0]
    assert script.page(lines, note) == page
    pictures = {f"league-{name}.svg" for name, _ in script.groups(lines)}
    assert {path.name for path in (ROOT / "docs" / "pictures").glob("league-*.svg")} == pictures
