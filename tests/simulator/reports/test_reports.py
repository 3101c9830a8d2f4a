"""Reports: the numbers behind the figures, and a page that stands on its own."""

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.audit.idle import ABOUT, Cause
from slackwater.errors import InvalidInput
from slackwater_simulator.charts.svg import Scale, label, ticks
from slackwater_simulator.charts.table import terminal
from slackwater_simulator.reports import causes, levels, nodes
from slackwater_simulator.reports.page import prepare_file, render, write
from slackwater_simulator.reports.rows import described, row
from slackwater_simulator.reports.table import notes, percent, seconds, table
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome, Series, whole
from slackwater_simulator.results.status import CRASHED
from support.builders.outcomes import outcome
from support.symbols import symbols

ROWS = [(0, 0, 0.0, 10.0), (0, 0, 5.0, 10.0), (1, 1, 10.0, 20.0)]


def test_a_file_that_may_be_written_is_taken_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be made in its folder, as in /dev: that matters only to a file that is not there yet."""
    mine = tmp_path / "mine.svg"
    mine.touch()
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path and asked(path, mode))
    prepare_file(mine)
    prepare_file(Path(os.devnull))
    with pytest.raises(InvalidInput, match="nothing can be written into folder"):
        prepare_file(tmp_path / "new.svg")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(InvalidInput, match=r"mine.svg' cannot be written"):
        prepare_file(mine)


@pytest.mark.parametrize("stuck", [False, True])
def test_one_of_a_thing_is_told_in_the_singular(stuck: bool) -> None:
    """A page about one job with one container on one node."""
    text = render([outcome([(0, 0, 0.0, 10.0)], nodes=1, deadlock=stuck)])
    assert "1 job " in text
    assert re.findall(r"\b1 (?:job|container|node|driver|failure)s\b", text) == []


def test_level_is_the_mean_over_each_bin() -> None:
    """Two intervals of weight 1 and 3 over bins of 10 s."""
    level = levels.mean_level(
        np.array([0.0, 5.0]), np.array([10.0, 20.0]), np.array([1.0, 3.0]), np.array([0.0, 10.0, 20.0])
    )
    assert level.tolist() == [2.5, 3.0]


intervals = st.lists(st.tuples(st.floats(0, 90), st.floats(0, 10), st.floats(0, 5)), max_size=12)


@given(intervals)
def test_levels_keep_the_area(rows: list[tuple[float, float, float]]) -> None:
    """Whatever the intervals: Σ level × width = Σ weight × length."""
    begin = np.array([start for start, _, _ in rows])
    end = np.array([start + length for start, length, _ in rows])
    weight = np.array([weight for _, _, weight in rows])
    borders = np.linspace(0, 100, 8)
    area = (levels.mean_level(begin, end, weight, borders) * np.diff(borders)).sum()
    assert area == pytest.approx(((end - begin) * weight).sum(), abs=1e-6)


def test_requested_counts_cores_over_time() -> None:
    """Two tasks of a core overlap from 5 s to 10 s."""
    asked = levels.requested(outcome(ROWS), 0, np.array([0.0, 5.0, 10.0, 20.0]))
    assert asked.tolist() == [1.0, 2.0, 1.0]


def test_job_that_never_starts_waits_to_the_end() -> None:
    """It must not vanish from the queue."""
    stuck = outcome([(1, 0, 0.0, 5.0)], deadlock=True)
    assert levels.waiting(stuck, np.array([0.0, 5.0, 9.0])).tolist() == [1.0, 1.0]


@given(intervals)
def test_lanes_never_overlap(rows: list[tuple[float, float, float]]) -> None:
    """Two containers in one lane of a node never hold it at once, and no lane is wasted."""
    made = outcome([(0, 0, start, start + length) for start, length, _ in rows])
    lane, needed = nodes.pack(made)
    begin, end = made.containers.allocated, made.containers.released
    for one in range(len(rows)):
        for other in range(one):
            if lane[one] == lane[other]:
                assert end[one] <= begin[other] + 1e-6 or end[other] <= begin[one] + 1e-6
    assert needed[0] == (lane.max() + 1 if len(rows) else 0)


def test_occupancy_is_the_reserved_share() -> None:
    """One of four cores for the first half, on the first of two nodes."""
    share = nodes.occupancy(outcome([(0, 0, 0.0, 10.0)]), 20.0)
    assert share.shape == (2, nodes.COLUMNS)
    assert np.allclose(share[0, :80], 0.25)
    assert np.allclose(share[0, 80:], 0.0)
    assert np.allclose(share[1], 0.0)


@given(intervals)
def test_occupancy_keeps_the_area(rows: list[tuple[float, float, float]]) -> None:
    """Σ share × capacity × bin = Σ core-seconds."""
    made = outcome([(0, index % 2, start, start + length) for index, (start, length, _) in enumerate(rows)])
    area = nodes.occupancy(made, 100.0).sum() * 4 * 100.0 / nodes.COLUMNS
    assert area == pytest.approx(sum(length for _, length, _ in rows), abs=1e-6)


def test_efficiency_sums_numerators_and_denominators() -> None:
    """Equation 7: half of the CPU and a quarter of the memory are used, by container, job and user."""
    made = outcome(ROWS, usage=True)
    cpu, memory = levels.efficiency(made, 0), levels.efficiency(made, 1)
    assert cpu is not None
    assert memory is not None
    assert cpu.containers.tolist() == [0.5] * 3
    assert memory.jobs.tolist() == [0.25, 0.25]
    assert memory.users.tolist() == [0.25, 0.25]


def test_efficiency_is_unknown_without_a_usage_model() -> None:
    """Nothing is made up."""
    assert levels.efficiency(outcome(ROWS), 0) is None


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 97), (0, 5463), (3, 3.2), (0, 1e7)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    """Between 2 and 10 ticks inside the axis."""
    made = ticks(low, high)
    assert 2 <= len(made) <= 10
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in made)


def test_axis_of_no_length_has_one_tick() -> None:
    """A chart of nothing still draws."""
    assert ticks(2, 2) == [2]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (999, "999"), (2500, "2,500"), (25000, "25k"), (1.5e6, "1.5M"), (3e9, "3G")],
)
def test_labels_are_short(value: float, text: str) -> None:
    """Large numbers get a unit."""
    assert label(value) == text


def test_scale_draws_what_is_outside_on_the_border() -> None:
    """A line never leaves its frame."""
    scale = Scale(0.0, 10.0, 100.0, 200.0)
    assert (scale.at(5), scale.at(-3), scale.at(99)) == (150.0, 100.0, 200.0)


class Links(HTMLParser):
    """Collects everything a page would load, and checks that tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.anchors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and ids."""
        values = dict(attrs)
        if values.get("id"):
            self.ids.add(str(values["id"]))
        href = values.get("href") or ""
        if tag == "a" and href.startswith("#"):
            self.anchors.append(href[1:])
        elif values.get("src") or href:
            self.loads.append(str(values.get("src") or href))


@pytest.fixture
def page() -> str:
    """Two policies, one of them with pools and an estimate."""
    time = np.arange(1000.0) / 50
    series = {"used_cpu": Series(time, time), "estimated_cpu": Series(time, time), "small_pool": Series(time, time)}
    series |= {"delta": Series(time, time / 50), "reservation": Series(time, time)}
    return render([outcome(ROWS, usage=True, series=series), outcome(ROWS, policy="dress", ends=[0, CRASHED, 0])])


def test_page_loads_nothing_and_every_link_leads_somewhere(page: str) -> None:
    """Self-contained: no script, no style sheet, no picture from elsewhere."""
    links = Links()
    links.feed(page)
    assert links.loads == []
    assert "<script" not in page
    assert not re.search(r"url\(|@import", page)
    assert set(links.anchors) <= links.ids


def test_page_shows_every_asked_figure(page: str) -> None:
    """Gantt, queue, pool, requested with used and estimated, efficiency, comparison."""
    for title in (
        "Containers by node",
        "Queue",
        "Pool: Small pool",
        "Memory efficiency",
        "Wait by policy",
        "All numbers",
    ):
        assert title in page
    for word in ("requested", "used", "estimated", "capacity"):
        assert f"</i>{word}</span>" in page


def test_page_has_no_word_of_the_papers(page: str) -> None:
    """Legends of what policies record are in words, too."""
    assert symbols(page) == []
    assert '<i class="pool"></i>share for small jobs</span>' in page


def test_every_drawing_is_well_formed_and_described(page: str) -> None:
    """Each SVG parses as XML and tells screen readers what it shows."""
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) >= 12
    for drawing in drawings:
        root = ET.fromstring(drawing)
        assert root.attrib["aria-label"]


def test_names_cannot_inject_markup(page: str) -> None:
    """A workload called `hand <made>` stays text."""
    assert "hand &lt;made&gt;" in page
    assert "<made>" not in page


def test_modelled_fields_are_marked(page: str) -> None:
    """Every report says what was not measured."""
    assert "<b>Modelled, not measured:</b> usage" in page
    assert "made up, not measured: usage: guess (seed 0)" in page


def test_same_outcomes_same_bytes() -> None:
    """Wall times stay out of the page."""
    one, two = outcome(ROWS), outcome(ROWS)
    object.__setattr__(two, "decision_seconds", 99.0)
    assert render([one]) == render([two])


def test_deadlock_is_shouted() -> None:
    """A card says so, and the drawing says when and who holds what."""
    text = render([outcome([(1, 0, 0.0, 5.0)], deadlock=True)])
    assert '<span class="bad">deadlock</span>' in text
    assert "Deadlock at 9 s" in text


@pytest.fixture(scope="module")
def standstill() -> Outcome:
    """One core for the first three seconds, and another for ever from the third on; nothing moves after the ninth."""
    held = outcome([(0, 1, 3.0, np.inf)], ends=[-1]).containers
    return replace(outcome([(0, 0, 0.0, 3.0)], deadlock=True), held=held)


def test_figures_and_table_agree_on_what_a_standstill_holds(standstill: Outcome) -> None:
    """Nine core-seconds of 72."""
    borders = np.array([0.0, 3.0, 9.0])
    assert measure(standstill).allocated[0] == pytest.approx(0.125)
    assert levels.requested(standstill, 0, borders).tolist() == [1.0, 1.0]
    assert levels.held(standstill, False, borders).tolist() == [1.0, 1.0]
    assert nodes.occupancy(standstill, 9.0).mean() == pytest.approx(0.125)


def test_what_a_standstill_holds_is_counted_once(standstill: Outcome) -> None:
    """Also where it already is among the others."""
    assert measure(whole(standstill)).allocated == measure(standstill).allocated


def test_what_a_standstill_holds_is_drawn_up_to_its_moment(standstill: Outcome) -> None:
    """A bar as of any container, and it has not failed."""
    text = str(nodes.bars(standstill, 9.0))
    assert "3.0–9.0 s" in text
    assert "failed" not in text


def test_outcome_without_any_container_still_gives_a_page() -> None:
    """Nothing ran: axes without lines."""
    assert "none finished" in render([outcome([], deadlock=True)])


def test_many_containers_become_heat_strips() -> None:
    """Beyond a few thousand bars the page shows shares instead, and stays small."""
    rows = [(index % 50, index % 300, float(index % 900), float(index % 900) + 30) for index in range(20000)]
    text = render([outcome(rows, nodes=300)])
    assert "Reserved CPU by node" in text
    assert len(text) < 600_000


def test_write_makes_the_folder(tmp_path: Path) -> None:
    """`--report a/b` needs no mkdir."""
    path = write([outcome(ROWS)], tmp_path / "a" / "b")
    assert path.read_text().startswith("<!DOCTYPE html>")


KEYS = {"policy", "makespan_s", "mean_wait_s", "mean_slowdown", "mean_completion_s", "failures", "deadlock"}


def test_rows_have_the_promised_keys_and_no_wall_time() -> None:
    """Stable names; the time of decisions only on request."""
    plain = row(outcome(ROWS))
    assert plain.keys() >= KEYS
    assert "decision_s" not in plain
    assert row(outcome(ROWS), timing=True)["decision_s"] == 0.5
    assert (plain["makespan_s"], plain["mean_wait_s"], plain["failures"]) == (20.0, 5.0, 0)


def test_what_is_not_known_is_null() -> None:
    """JSON has no NaN."""
    stuck = row(outcome([(0, 0, 0.0, 5.0)], deadlock=True))
    assert stuck["makespan_s"] is None
    assert stuck["used_cpu"] is None


def test_described_rows_carry_their_models() -> None:
    """A program that reads JSON sees what was modelled."""
    assert described(outcome(ROWS))["modelled"] == [{"field": "usage", "model": "guess (seed 0)"}]


def test_table_has_a_column_per_policy_and_notes_below() -> None:
    """One row per metric."""
    grid = terminal(table([outcome(ROWS), outcome(ROWS, policy="fair")]))
    assert [str(column.header) for column in grid.columns] == ["", "fifo", "fair"]
    assert notes([outcome(ROWS)]) == ["made up, not measured: usage: guess (seed 0)"]


@pytest.mark.parametrize(("value", "text"), [(8.0, "8.00"), (1159501.0, "1,159,501"), (float("nan"), "–")])
def test_seconds_are_readable(value: float, text: str) -> None:
    """Two decimals while they matter."""
    assert seconds(value) == text


def test_unknown_share_is_a_dash() -> None:
    """NaN is not 0 %."""
    assert percent(float("nan")) == "–"


CAUSES = {str(cause): float(at) for at, cause in enumerate(Cause)}


def test_core_hours_are_shown_by_cause_beside_the_lower_bound() -> None:
    """Terminal, JSON and page tell the same hours, and their sum."""
    counted = replace(outcome(ROWS, usage=True), core_hours=CAUSES, used=(0.5, 0.5))
    grid = causes.table([counted, outcome(ROWS)])
    assert grid is not None
    cells = {str(line[0]): line[1:] for line in grid.rows}
    assert list(cells) == [*(ABOUT[cause] for cause in Cause), "total", "makespan, s", "lower bound of it, s"]
    assert cells["total"] == ("36.0",)
    assert cells[ABOUT[Cause.FRAGMENT]] == ("8.0 (22.2%)",)
    written = described(counted)
    assert written["core_hours"] == CAUSES
    assert 0 < cast("float", written["lower_bound_s"]) <= cast("float", written["makespan_s"])
    shown = render([counted])
    assert shown.count('class="block') >= len(Cause) - 1  # what has no hours has no bar
    assert "no waiting pod fits: 8 core-hours" in shown


def test_without_core_hours_there_is_no_table_of_causes() -> None:
    """Where nothing is known of use, nothing is said about it."""
    assert causes.table([outcome(ROWS)]) is None
    assert described(outcome(ROWS))["lower_bound_s"] is None
    assert causes.TITLE not in render([outcome(ROWS)])
