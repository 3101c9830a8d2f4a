"""The charts room: one table for every place, pages that escape, drawings that say what they show."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from slackwater_simulator.charts.amounts import seconds
from slackwater_simulator.charts.capacity import capacity_bar
from slackwater_simulator.charts.gantt import Bar, Track, gantt
from slackwater_simulator.charts.heat import Square, shade, squares
from slackwater_simulator.charts.lines import Line, known, over_time
from slackwater_simulator.charts.page import Bullets, Card, Details, Figures, Page, Section, figures, render
from slackwater_simulator.charts.table import Styled, Table, markdown, terminal

TABLE = Table(
    "Two things",
    ("name", "asked", "used", "asked", "used"),
    [("a|b", "1", "2", "3", "4"), (" <i>", "5", "6", "7", Styled("no", "fails"))],
    groups=(("", 1), ("CPU", 2), ("Memory", 2)),
    alarms=[1],
)


def printed(table: Table, *, boxed: bool = False) -> str:
    """What a terminal of 100 columns shows."""
    out = io.StringIO()
    Console(file=out, width=100).print(terminal(table, boxed=boxed))
    return out.getvalue()


def test_a_terminal_names_the_group_in_its_first_column() -> None:
    """There is one line of headings, and brackets of a cell are no markup."""
    shown = printed(TABLE)
    assert re.search(r"name +CPU asked +used +Memory asked +used", shown)
    assert printed(Table("", ("x",), [("[red]",)])).strip() == "x    \n[red]"


def test_markdown_escapes_columns_and_stresses_what_fails() -> None:
    """A bar in a name does not open a new column."""
    lines = list(markdown(TABLE))
    assert lines[1] == "|---|---|---|---|---|"
    assert lines[2].startswith("| a\\|b |")
    assert lines[3].endswith("| **no** |")


@pytest.fixture
def page() -> str:
    """A page with one of each block."""
    sections = (
        Section("one", "One", [TABLE, Bullets(["<b>"]), Details("more", TABLE)], "first"),
        Section("none", "None", [], "nowhere"),
        Section("drawn", "Drawn", [Figures([])]),
    )
    return render(Page("t<", "brand", "head", sections, cards=[Card("c", "p0", "dead", "2 done", bad=True)]))


def test_names_never_become_markup(page: str) -> None:
    """Jinja escapes every value; only drawings are markup."""
    assert "<i>" not in page
    assert "&lt;i&gt;" in page
    assert "<title>t&lt;</title>" in page


def test_a_section_without_blocks_leaves_no_link_behind(page: str) -> None:
    """Every link at the top leads somewhere."""
    assert 'href="#one"' in page
    assert "nowhere" not in page
    assert figures([]) == []


def test_a_table_on_a_page_has_groups_scopes_and_classes(page: str) -> None:
    """Screen readers find the heads of columns and rows; indented rows are marked, and so is what fails."""
    assert '<th scope="colgroup" class="group" colspan="2">CPU</th>' in page
    assert '<th scope="row" class="l inner">&lt;i&gt;</th>' in page
    assert '<td class=" fails">no</td>' in page


@pytest.mark.parametrize("end", [60, 119, 120, 300, 3600, 7199, 7200, 10000, 86400, 172799, 172800, 30 * 86400])
def test_time_is_drawn_in_the_unit_in_which_its_length_is_told(end: float) -> None:
    """Beside a page that says 5 min, a chart that ends at 300 s makes its reader count."""
    unit = seconds(end).rpartition(" ")[2]
    assert f"time, {unit}<" in over_time("t", [Line("run", np.array([0.0, end]), np.array([1.0, 2.0]))], "jobs")


def test_a_line_leaves_out_what_is_not_known() -> None:
    """NaN is a gap, not a point."""
    line = known("used", np.array([0.0, 1.0, 2.0]), np.array([1.0, np.nan, 3.0]))
    assert line.x.tolist() == [0.0, 2.0]
    assert line.top == 3.0


@pytest.mark.parametrize(
    ("share", "css"), [(None, "unknown"), (-0.1, "h0"), (0.0, "h0"), (0.55, "h5"), (1.0, "h9"), (1.7, "h9")]
)
def test_ten_shades_and_one_for_the_unknown(share: float | None, css: str) -> None:
    """Overfull nodes are as dark as full ones."""
    assert shade(share) == css


@pytest.mark.parametrize(
    "svg",
    [
        squares("s", [Square("a<b", 0.5), Square("c", None, open=False, stale=True)]),
        gantt("g", [Track("n&m", 12.0, [Bar("bar j0", 0.0, 5.0, "<x>", 0.0, 6.0)])], 10.0),
        capacity_bar("cpu", 2.0, 12.0, 8.0, allowed=7.0),
        over_time("o", [Line("run", np.zeros(0), np.zeros(0))], "jobs"),
    ],
    ids=["heat", "gantt", "capacity", "empty"],
)
def test_a_drawing_is_well_formed_described_and_without_style_attributes(svg: str) -> None:
    """The dashboard's security policy forbids style attributes; screen readers need the label."""
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"]
    assert not [each for each in root.iter() if "style" in each.attrib]


def test_a_cluster_of_nothing_has_no_bar() -> None:
    """Before the first node is seen."""
    assert capacity_bar("cpu", 0.0, 0.0, 0.0) == ""
