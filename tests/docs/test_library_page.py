"""The page about the library does what it says: its blocks run, in order, in one process."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_block_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a folder of its own, beside the examples, as a reader would run them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.setattr(sys, "path", list(sys.path))
    page = (ROOT / "docs" / "simulator" / "library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    shown = capsys.readouterr().out
    assert len(blocks) == 4
    assert "makespan_s" in shown
    assert "shortest_first:ShortestFirst" in shown
    assert (tmp_path / "report" / "index.html").is_file()
    sys.modules.pop("shortest_first", None)
