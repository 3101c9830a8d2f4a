"""How a reproduction is told: page, figures and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.errors import UnknownName
from slackwater_cli.main import app
from slackwater_cli.printing import Format
from slackwater_cli.simulation.reproduce import _print
from slackwater_simulator.charts.plots import Plot, PlotCurve
from slackwater_simulator.reproduction.markdown import written
from slackwater_simulator.reproduction.study import Study, Verdict, described, judged, shown

BARS = Plot(
    "bars",
    "Bars",
    "",
    "%",
    (PlotCurve("published", ("a", "b"), (90.0, 95.0), True), PlotCurve("ours", ("a", "b"), (92.0, 94.0))),
)
LINES = Plot("lines", "Lines", "Mbit/s", "s", (PlotCurve("ours", (10.0, 100.0), (3.0, 1.0)),), log=True)
STUDY = Study(
    paper="009",
    title="A <test>",
    runs="2 seeds",
    checks=(judged("T", "good", "1", "1", "exact", True), judged("T", "bad", "1", "2", "exact", False)),
    sensitivity=(shown("T", "other choice", "", "3"),),
    modelled=("all of it",),
    remarks=("it is a test",),
    plots=(BARS, LINES),
)


@pytest.mark.parametrize("plot", [BARS, LINES], ids=lambda plot: plot.name)
def test_a_figure_is_svg_and_the_same_every_time(plot: Plot) -> None:
    """Same numbers, same bytes; text stays text."""
    from slackwater_simulator.charts.matplot import draw  # noqa: PLC0415 - matplotlib, only where it is needed

    svg = draw(plot)
    assert svg == draw(plot)
    assert "<svg" in svg
    assert "ours" in svg or len(plot.curves) == 1


def test_the_page_holds_everything_and_every_figure_is_a_file_too(tmp_path: Path) -> None:
    """Titles are escaped, verdicts stand in words, figures are inside and beside."""
    from slackwater_simulator.reproduction.page import write  # noqa: PLC0415 - matplotlib, only where it is needed

    text = write([STUDY], tmp_path / "report").read_text(encoding="utf-8")
    assert "A &lt;test&gt;" in text
    assert 'class="l fails">does not hold' in text
    assert "1 of 2 bands hold" in text
    assert text.count("<svg") == 2
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"bars.svg", "lines.svg", "reproduction.html"}


@pytest.mark.parametrize("output", list(Format))
def test_the_command_prints_tables_or_json(output: Format, capsys: pytest.CaptureFixture[str]) -> None:
    """Both name the check that does not hold."""
    _print([STUDY], output)
    told = capsys.readouterr().out
    assert "does not" in told
    if output is Format.JSON:
        assert json.loads(told)[0]["paper"] == "009"


def test_an_unknown_paper_is_refused_before_anything_runs() -> None:
    """The refusal lists what there is."""
    refused = CliRunner().invoke(app, ["reproduce", "007"])
    assert isinstance(refused.exception, UnknownName)
    assert "000, 001, 002, 003, 004, all" in str(refused.exception)


def test_json_holds_every_check_with_its_verdict() -> None:
    """What `-o json` prints can be read back."""
    back = json.loads(json.dumps(described(STUDY)))
    assert [check["verdict"] for check in back["checks"]] == ["holds", "does not hold"]
    assert back["sensitivity"][0]["verdict"] == Verdict.SHOWN


def test_markdown_holds_checks_reasons_and_links_to_figures() -> None:
    """What the documentation shows is printed, not typed."""
    text = written(STUDY)
    assert "| T | bad | 1 | 2 | exact | **does not hold** |" in text
    assert "- it is a test" in text
    assert "![Bars](reproduction/bars.svg)" in text
    assert "| T | other choice | 3 |" in text
