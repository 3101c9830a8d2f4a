"""The pictures of the docs are made anew where that is asked for, and only there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/scripts/screenshots.py, which photographs the demo."""
    for needed in ("PIL", "playwright"):
        pytest.importorskip(needed)
    spec = importlib.util.spec_from_file_location("screenshots", ROOT / "docs" / "scripts" / "screenshots.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    ("arguments", "folder", "docs"),
    [([], None, True), (["--all", "x"], Path("x"), False), (["--all", "x", "--docs"], Path("x"), True)],
    ids=["pictures of the docs", "to look at", "both"],
)
def test_pages_to_look_at_leave_the_docs_alone(
    script: ModuleType, arguments: list[str], folder: Path | None, docs: bool
) -> None:
    """Unless both are asked for."""
    wish = script.wished(arguments)
    assert (wish.all, wish.docs) == (folder, docs)


def test_sheets_are_made_of_the_pages_in_a_folder(script: ModuleType, tmp_path: Path) -> None:
    """One for each look, in the folder that is named."""
    for look in script.LOOKS:
        script.Image.new("RGB", (30, 40)).save(tmp_path / f"overview-{look}.png")
    script.sheets(tmp_path, ["overview"], tmp_path / "into", "a story")
    assert {path.name for path in (tmp_path / "into").iterdir()} == {f"sheet-{look}.png" for look in script.LOOKS}


def test_a_sheet_shows_pages_whole_and_cuts_only_what_is_longer_than_allowed(
    script: ModuleType, tmp_path: Path
) -> None:
    """Each page stands below the shortest column so far, and nothing stands beyond its end."""
    heights = {"long": 500, "short": 40, "next": 60}
    for name, height in heights.items():
        script.Image.new("RGB", (20, height), "white").save(tmp_path / f"{name}.png")
    made = script.sheet([tmp_path / f"{name}.png" for name in heights], 20, 200, 2)
    gap = script.GAP
    assert made.size == (2 * 20 + 3 * gap, 200 + 2 * gap)
    white = [
        (x, y) for x in (gap, 20 + 2 * gap) for y in range(made.height) if made.getpixel((x, y)) == (255, 255, 255)
    ]
    assert sum(1 for x, _ in white if x == gap) == 200
    assert sum(1 for x, _ in white if x != gap) == 40 + 60
