"""Pages that show Python do what they say: the blocks of a page run, in order, in one process."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
SHOWN = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", flags=re.DOTALL)  # a block, and what it prints
TOLD = re.compile(r"^print\(.*\)\n# (.*)$", flags=re.MULTILINE)  # what a page says that a line prints
NOT_RUN = {"lab.md": "it needs a lab"}
PAGES = {
    str(path.relative_to(DOCS)): path
    for path in sorted(DOCS.rglob("*.md"))
    if BLOCK.search(path.read_text(encoding="utf-8")) and path.name not in NOT_RUN
}
# What a page takes for there, and what stands for it.
FILES = {"FB-2009_samples_24_times_1hr_0.tsv.gz": ROOT / "tests" / "simulator" / "samples" / "swim.tsv"}
# What must be there afterwards, where a page writes something.
WRITTEN = {"simulator/library.md": "report/index.html", "simulator/trace-format.md": "fb-2009.parquet"}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a folder of its own, beside the examples, as a reader would run them; what a page tells, is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(DOCS)
    for name, stand_in in FILES.items():
        (tmp_path / name).symlink_to(stand_in)
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = PAGES[page].read_text(encoding="utf-8")
    blocks, below = BLOCK.findall(text), dict(SHOWN.findall(text))
    names: dict[str, object] = {}
    shown = ""
    for block in blocks:
        exec(block, names)
        printed = capsys.readouterr().out
        assert block not in below or _lines(printed) == _lines(below[block])
        shown += printed
    assert [line for block in blocks for line in TOLD.findall(block) if line not in shown] == []
    assert page not in WRITTEN or (tmp_path / WRITTEN[page]).is_file()
    assert page != "simulator/library.md" or {"makespan_s", "shortest_first:ShortestFirst"} <= set(shown.split())
    sys.modules.pop("shortest_first", None)


def _lines(printed: str) -> list[str]:
    """Without the blanks at the ends of lines, which editors take away."""
    return [line.rstrip() for line in printed.rstrip().splitlines()]
