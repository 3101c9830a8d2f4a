"""The reference pages say what the code says, and every page is reachable."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from slackwater_cluster.settings import flags
from support.lab.chart import ROOT

PLACES = (
    ".ci",
    "core",
    "cluster",
    "extender",
    "operator",
    "simulator",
    "monitor",
    "cli",
    "lab",
    "helm",
    "docs",
    "tests",
)


@cache
def generator() -> ModuleType:
    """The script that writes the pages."""
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "docs" / "scripts" / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["resources.md", "settings.md", "metrics.md", "commands.md"])
def test_a_page_is_what_the_code_makes_of_it(name: str) -> None:
    """After a change of a setting, metric, command or custom resource: python docs/scripts/reference.py."""
    committed = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert committed == generator().PAGES[name](), "run: python docs/scripts/reference.py"


def test_every_setting_command_and_field_has_a_meaning() -> None:
    """An empty last cell is something nobody explained."""
    for name, make in generator().PAGES.items():
        empty = [line for line in make().splitlines() if line.startswith("| `") and line.endswith("|  |")]
        assert empty == [], name


@pytest.mark.parametrize("name", ["extender", "operator", "monitor"])
def test_the_help_of_a_program_fits_a_terminal_of_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the usage at its head, where argparse breaks no word."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = flags(generator().PROGRAMS[name], None).root_parser.format_help()
    lines = shown.partition("\n\n")[2].splitlines()
    assert len(lines) > 20
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", ["extender", "operator", "monitor"])
def test_the_help_of_a_program_speaks_no_python(name: str) -> None:
    """Who reads it may know nothing of None, of dict[str,str] and of factories."""
    shown = " ".join(flags(generator().PROGRAMS[name], None).root_parser.format_help().split())
    assert re.findall(r"None|\bstr\b|\bint\b|\bfloat\b|Path\b|dict\[|list\[|default: \)|factory", shown) == []
    assert "<path>" in shown
    assert re.search(r"\(default: (http://)?127\.0\.0\.1", shown)


def test_a_bound_that_is_refused_itself_is_told_as_such() -> None:
    """A share of more than 0 and less than 1 is not one from 0 to 1."""
    between = {"minimum": 0.0, "maximum": 1.0, "exclusiveMinimum": True}
    assert list(generator().bounded(between)) == ["> 0", "≤ 1"]


COMMAND = re.compile(r"(?:^|`)((?:\.venv/bin/)?(?:slackwater|make|python) [^`\n]*)", flags=re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\s#.*")  # or a comment


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], ids=lambda path: path.stem
)
def test_a_command_can_be_pasted_into_any_shell(page: Path) -> None:
    """Zsh takes `?` for a pattern that no file matches, unless it is quoted."""
    commands = COMMAND.findall(page.read_text(encoding="utf-8"))
    assert [each for each in commands if "?" in QUOTED.sub("", each)] == []


def test_every_page_is_in_the_navigation() -> None:
    """A page that cannot be reached is not written for anybody."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    reached_by_index = {page for page in pages if page.startswith(("runbooks/", "decisions/"))}
    assert {page for page in pages - reached_by_index if page not in navigation} == set()


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FILES = [f"/{path.relative_to(ROOT).as_posix()}" for place in PLACES for path in (ROOT / place).rglob("*.py")]
INSTEAD = {"tests/core/ROOM/test_NAME.py"}  # where the reader puts names in


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_and_tests_that_a_page_names_exist(page: Path) -> None:
    """By their whole path or the end of it; a name behind `::` is in that file."""
    text = page.read_text(encoding="utf-8")
    for named, _, name in re.findall(r"(?:`|\b(?=tests/))([\w./]+\.py)\b(::([\w:]+))?", text):
        found = [path for path in FILES if path.endswith(f"/{named}")]
        assert found or named in INSTEAD, named
        last = name.rpartition("::")[2]
        assert not last or any(f" {last}(" in (ROOT / path[1:]).read_text(encoding="utf-8") for path in found), name
