"""The journeys of docs/architecture.md: modules that exist, none of them twice."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from support.lab.chart import ROOT

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Three journeys")[2]
JOURNEYS = {
    title.strip(): re.findall(r"^\d+\. `([\w.]+)`", steps, re.MULTILINE)
    for title, steps in re.findall(r"^### (.+)\n((?:.+\n)+)", TEXT, re.MULTILINE)
}


def test_there_are_three_journeys() -> None:
    """A pod event, a filter request, a sample."""
    assert [title.split(",")[0] for title in JOURNEYS] == ["A pod event", "A filter request", "A sample"]


@pytest.mark.parametrize("title", JOURNEYS)
def test_a_journey_names_modules_that_exist_and_none_twice(title: str) -> None:
    """A module that moves takes its line along; one that would be visited twice wants to be cut."""
    modules = JOURNEYS[title]
    assert len(modules) > 8
    assert [name for name in modules if find_spec(name) is None] == []
    assert len(set(modules)) == len(modules)
