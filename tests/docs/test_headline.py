"""The numbers of README and of the headline page are the same ones, and the script that plays them finds its places."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulator" / "headline.md").read_text(encoding="utf-8")
SHORT = {"95th percentile": "95th percentile of completion", "wait of small jobs": "mean wait of small jobs"}


def script() -> ModuleType:
    """docs/scripts/headline.py, which plays the sweeps."""
    spec = importlib.util.spec_from_file_location("headline", ROOT / "docs" / "scripts" / "headline.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def table(text: str, head: str) -> dict[str, list[str]]:
    """Rows by name of the first table whose head holds these words."""
    start = text.index(head)
    lines = re.match(r"(?:.*\|\n)+", text[text.rindex("\n", 0, start) + 1 :])
    assert lines is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_readme_shows_what_the_page_shows() -> None:
    """Capacity, Fair and Slackwater on the real trace."""
    ours = table((ROOT / "README.md").read_text(encoding="utf-8"), "| Capacity | Fair | Slackwater |")
    theirs = table(PAGE, "| Capacity | Capacity, Dominant | Fair | Slackwater |")
    for name in ("mean completion, s", "95th percentile, s", "wait of small jobs, s", "CPU in use, %"):
        measure, _, unit = name.partition(",")
        capacity, _, fair, slackwater = theirs[f"{SHORT.get(measure, measure)},{unit}"]
        assert ours[name] == [capacity, fair, slackwater]


def test_every_table_has_its_place() -> None:
    """The script writes between comments; a table whose comments are gone would grow stale."""
    made = script()
    rows = [
        {"policy": policy, "seed": seed, **dict.fromkeys(made.MEASURES.values(), 1.0 + seed)}
        for policy in ("capacity", "estimation", "kube", "oracle", "slackwater")
        for seed in range(3)
    ]
    named = made.tables(lambda _: rows)
    page = made.renewed(PAGE, named)
    assert all(text in page for text in named.values())
    assert page.count("<!-- ") == PAGE.count("<!-- ") == 2 * len(named)
