"""The pictures of README and docs are of this commit: each is drawn again, or carries the numbers it was made with."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from slackwater_cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PHOTOGRAPHS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.png"))
REPORT = "simulator/report.png"
LINES = [json.loads(line) for line in (DOCS / "league.jsonl").read_text(encoding="utf-8").splitlines()]


def loaded(path: str) -> ModuleType:
    """A script of the docs."""
    for needed in ("PIL", "playwright"):
        pytest.importorskip(needed)
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/scripts/screenshots.py, which makes all photographs."""
    return loaded("scripts/screenshots.py")


def carried(script: ModuleType, name: str) -> str:
    """What a photograph was made with."""
    with script.Image.open(DOCS / name) as picture:
        return str(picture.info[script.STORY])


def words(page: str) -> str:
    """What stands on a page, without its tags and styles."""
    bare = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", bare)).replace("\xa0", " ")


def test_one_script_makes_every_photograph(script: ModuleType) -> None:
    """One that nobody makes anew grows stale."""
    assert set(PHOTOGRAPHS) == {*script.CHOSEN, *(f"monitor/sheet-{look}.png" for look in script.LOOKS), REPORT}


@pytest.mark.parametrize("name", [name for name in PHOTOGRAPHS if name != REPORT])
def test_a_photograph_of_the_demo_is_of_the_demo_that_readme_shows(script: ModuleType, name: str) -> None:
    """After a change of its numbers: python docs/scripts/screenshots.py --all FOLDER --docs, and the table by hand."""
    drawn = words((DOCS / "pictures" / "demo.svg").read_text(encoding="utf-8"))
    assert "min instead of" in carried(script, name)
    assert carried(script, name) in drawn


def test_the_photograph_of_a_report_shows_the_numbers_of_its_command(script: ModuleType, tmp_path: Path) -> None:
    """The command stands below it (docs/simulator/commands.md); it is played again."""
    done = CliRunner().invoke(app, ["simulate", *script.REPORT, "--report", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    found = words((tmp_path / "index.html").read_text(encoding="utf-8"))
    told = carried(script, REPORT)
    assert "makespan" in told.lower()
    assert [word for word in told.split() if word not in found] == []
    assert f"slackwater simulate {' '.join(script.REPORT)}" in (DOCS / "simulator/commands.md").read_text("utf-8")


def test_the_figure_of_the_estimator_is_drawn_by_the_estimator() -> None:
    """After a change: python docs/figures/estimation.py."""
    made = loaded("figures/estimation.py")
    assert made.figure() == made.TARGET.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({Path(line["turn"]["workload"]).name.partition(".")[0] for line in LINES}))
def test_a_figure_of_the_league_shows_its_lines(name: str) -> None:
    """After another play: python docs/scripts/league.py FOLDER. Bars are compared to a tenth of a point."""
    made = loaded("scripts/league.py")
    group = next(group for (each, _), group in made.groups(LINES).items() if each == name)
    kept = (DOCS / "pictures" / f"league-{name}.svg").read_text(encoding="utf-8")
    assert _drawn(made.figure(name, group)) == _drawn(kept)


def _drawn(svg: str) -> tuple[list[str], list[str]]:
    """Its words, and the corners of its shapes."""
    shapes = re.findall(r'<path d="([^"]*)"', svg)
    return words(svg).split(), [re.sub(r"-?\d+\.\d+", lambda each: f"{float(each[0]):.1f}", shape) for shape in shapes]
