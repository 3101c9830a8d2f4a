"""The tests that our pages name are there: what shows a line of a table can be played."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"])
NAMED = re.compile(r"`(?:pytest (?:-\S+ )*)?((?:-m \w+ )?tests/[^`]*)`")


def named() -> Iterator[tuple[Path, str]]:
    """Each page with what it says to play."""
    for page in PAGES:
        for said in NAMED.findall(page.read_text(encoding="utf-8")):
            if ".py" in said and not re.search(r"[{*]|NAME", said):
                yield page, said


@cache
def words(place: Path) -> str:
    """What `-k` can choose by: names of tests, and every text that stands in a file, ids among them."""
    found = [place.name]
    for each in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(each.name)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.append(each.value)
    return "\n".join(found).lower()


@pytest.mark.parametrize(("page", "said"), [pytest.param(*each, id=f"{each[0].stem}: {each[1]}") for each in named()])
def test_a_test_that_a_page_names_is_there(page: Path, said: str) -> None:
    """Its file, and for each word behind -k something that the word chooses."""
    places = [ROOT / each for each in re.findall(r"tests/[\w./-]+\.py", said)]
    assert all(each.exists() for each in places), f"{page.name}: {said}"
    chosen = re.search(r"-k (?:\"([^\"]+)\"|(\S+))", said)
    there = "\n".join(map(words, places))
    for word in re.split(r"\W+(?:or|and|not)\W+", (chosen[1] or chosen[2]) if chosen else ""):
        assert word.strip("() ").lower() in there, f"{page.name}: {said}"
