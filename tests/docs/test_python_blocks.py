"""Pages that show Python do what they say: the blocks of a page run, in order, in one process."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
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
def test_every_block_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a folder of its own, beside the examples, as a reader would run them; what a page tells, is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(DOCS)
    for name, stand_in in FILES.items():
        (tmp_path / name).symlink_to(stand_in)
    monkeypatch.setattr(sys, "path", list(sys.path))
    blocks = BLOCK.findall(PAGES[page].read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    shown = capsys.readouterr().out
    assert [line for block in blocks for line in TOLD.findall(block) if line not in shown] == []
    assert page not in WRITTEN or (tmp_path / WRITTEN[page]).is_file()
    assert page != "simulator/library.md" or {"makespan_s", "shortest_first:ShortestFirst"} <= set(shown.split())
    sys.modules.pop("shortest_first", None)
