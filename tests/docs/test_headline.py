"""The numbers of README and of the headline page are the same ones, and the script that plays them finds its places."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from markdowntables import renewed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulator" / "headline.md").read_text(encoding="utf-8")
TEN = "| seed | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | mean |"  # of the demo's hour
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
    return dict(lines(text, head))


def lines(text: str, head: str) -> list[tuple[str, list[str]]]:
    """The same in their order, where a name comes twice."""
    start = text.index(head)
    found = re.match(r"(?:.*\|\n)+", text[text.rindex("\n", 0, start) + 1 :])
    assert found is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[0].splitlines()]
    return [(row[0], row[1:]) for row in rows]


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
    page = renewed(PAGE, named, "headline.md")
    assert all(text in page for text in named.values())
    assert page.count("<!-- ") == PAGE.count("<!-- ") == 2 * len(named)


def test_the_first_sentences_of_readme_say_what_its_tables_say() -> None:
    """The hour's mean, how many finish at nine, and by how much ten hours are ahead."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    demo = table(text, "| stock scheduler | Slackwater |")
    stock, ours = (
        re.sub(r" min$", "", each) for each in demo["**a contended hour**, 90 apps: on average, an app takes"]
    )
    assert f"{ours} instead of {stock} minutes on average" in re.sub(r"\s+", " ", text)
    _, finished = demo["**nine o'clock**, 180 apps within three seconds: apps that finish"]
    assert f"under the stock scheduler 0 finish, under Slackwater {finished.partition(' of ')[0]}." in text
    ten = table(PAGE, TEN)
    ahead = -float(ten["Slackwater against kube-scheduler"][-1].removesuffix(" %").replace("−", "-"))
    assert f"all work is done {ahead:.0f} % sooner on average" in text


def test_the_demo_is_the_first_of_the_ten_hours() -> None:
    """The demo's table is compared with the code by every submission, so the page's first column is, too."""
    demo = table((ROOT / "README.md").read_text(encoding="utf-8"), "| stock scheduler | Slackwater |")
    ten = lines(PAGE, TEN)
    told = {
        "makespan, s, kube-scheduler": "… all work is done after",
        "mean completion, s, kube-scheduler": "**a contended hour**, 90 apps: on average, an app takes",
    }
    for at, (name, stock) in enumerate(ten):
        if name in told:
            ours = next(cells for row, cells in ten[at:] if row == "Slackwater")
            shown = [float(each.removesuffix(" min")) for each in demo[told.pop(name)]]
            # Both are rounded: to a tenth of a minute and to a second.
            assert [float(each[0].replace(",", "")) / 60 for each in (stock, ours)] == pytest.approx(shown, abs=0.06)
    assert not told
