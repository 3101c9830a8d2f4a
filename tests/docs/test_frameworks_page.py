"""The tables of what really ran are those that the suite of frameworks wrote, and no hand changed them."""

import json
from pathlib import Path

from support.frameworks import burstpage, mixedpage
from support.frameworks.results import Recorder

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "frameworks"
PAGE = (ROOT / "docs" / "reference" / "frameworks.md").read_text()


def test_the_table_of_cases_is_what_the_suite_kept() -> None:
    """Framework, version, case, result, seconds and day of each."""
    assert Recorder.of(json.loads((KEPT / "results.json").read_text())).page(PAGE) == PAGE


def test_the_table_of_bursts_is_what_the_suite_kept() -> None:
    """Round by round."""
    rounds = [burstpage.Round(**each) for each in json.loads((KEPT / "burst.json").read_text())]
    assert burstpage.page(PAGE, rounds) == PAGE


def test_the_table_of_many_apps_is_what_the_suite_kept() -> None:
    """Play by play."""
    assert mixedpage.page(PAGE, json.loads((KEPT / "mixed.json").read_text())) == PAGE
