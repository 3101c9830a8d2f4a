"""The reference pages say what the code says, and every page is reachable."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

import pytest

from support.lab.chart import ROOT


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


def test_every_page_is_in_the_navigation() -> None:
    """A page that cannot be reached is not written for anybody."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    reached_by_index = {page for page in pages if page.startswith(("runbooks/", "decisions/"))}
    assert {page for page in pages - reached_by_index if page not in navigation} == set()
