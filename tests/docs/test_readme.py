"""README.md keeps its order, points only at what exists, and its table agrees with the picture beside it."""

from __future__ import annotations

import html
import re

import pytest

from support.builders.readme import commands, sections
from support.lab.chart import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT)))


def test_the_order_is_what_it_is_try_results_how_and_limits() -> None:
    """A picture comes before the first heading, and the first commands right after it."""
    assert list(sections()) == ["Try it", "What it changes", "How it works", "On a cluster", "Limits", "The map"]
    assert "![" in TEXT[: TEXT.index("## ")]
    assert commands("Try it")[0].startswith("make demo")


def test_three_benefits_stand_at_the_top_each_with_a_number() -> None:
    """Papers are told by their idea: their numbers stand in the docs only."""
    top = TEXT[: TEXT.index("![")]
    benefits = top.split("\n- **")[1:]
    assert len(benefits) == 3
    assert all(re.search(r"\d", benefit) for benefit in benefits)
    prose = re.sub(r"\]\([^)]*\)", "", TEXT)
    assert re.findall(r"\b00[0-4]\b", prose) == []


@pytest.mark.parametrize("target", TARGETS)
def test_what_it_points_at_is_there(target: str) -> None:
    """Pages and pictures."""
    assert (ROOT / target).exists()


def test_the_table_says_what_the_picture_of_the_demo_says() -> None:
    """Both come from `make demo`; after a change: python docs/scripts/screenshots.py, and the table by hand."""
    drawn = (ROOT / "docs" / "pictures" / "demo.svg").read_text(encoding="utf-8")
    printed = html.unescape(re.sub(r"<[^>]+>", " ", drawn)).replace("\xa0", " ")
    table = sections()["What it changes"].partition("\n|")[2].partition("\n\n")[0]
    numbers = re.findall(r"\d+\.\d min|\d+ of \d+", table)
    assert len(numbers) >= 8
    assert [number for number in numbers if number not in printed] == []
