"""The house rules about names and rooms: what a stranger must be able to rely on when looking for something."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 13  # entries of a package that can still be taken in at a glance
PACKAGES = {
    "core": "slackwater",
    "cluster": "slackwater_cluster",
    "extender": "slackwater_extender",
    "operator": "slackwater_operator",
    "simulator": "slackwater_simulator",
    "monitor": "slackwater_monitor",
    "cli": "slackwater_cli",
    "lab": "slackwater_lab",
}
HOUSE = [ROOT / place / package for place, package in PACKAGES.items()]
ELSEWHERE = ("lab", "scenarios")  # folders of tests that no room of a package answers to
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
IMPORT = re.compile(r"^ *(?:from (slackwater[\w.]*) import (\([^)]*\)|.*)|import (slackwater[\w.]*))", re.MULTILINE)
ROOMS = [folder for top in HOUSE for folder in (top, *top.rglob("*")) if (folder / "__init__.py").is_file()]


def test_operator_folder_does_not_shadow_the_standard_library() -> None:
    """An __init__.py in operator/ would replace Python's own operator module."""
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_test_folders_are_not_packages() -> None:
    """An __init__.py under tests/ would make tests/operator replace Python's own operator module."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def named(folder: Path) -> str:
    """A folder as an identifier of a test."""
    return str(folder.relative_to(ROOT))


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_a_room_holds_about_a_dozen_files(room: Path) -> None:
    """More modules than that want rooms of their own."""
    modules = sorted(path.name for path in room.glob("*.py") if path.name not in ("__init__.py", "__main__.py"))
    assert len(modules) <= MOST, modules


@pytest.mark.parametrize(
    "top", [ROOT / place / PACKAGES[place] for place in ("core", "operator", "extender")], ids=named
)
def test_the_top_of_a_package_is_taken_in_at_a_glance(top: Path) -> None:
    """Modules and rooms together."""
    hidden = ("__init__.py", "__main__.py", "py.typed")
    rooms = {room for room in ROOMS if room.parent == top}
    entries = sorted(path.name for path in (*top.glob("*.py"), *rooms) if path.name not in hidden)
    assert len(entries) <= MOST, entries


def classes(package: Path) -> Iterator[tuple[str, str]]:
    """Every class at the top of a module, and where it stands."""
    for path in package.rglob("*.py"):
        for name in CLASS.findall(path.read_text(encoding="utf-8")):
            yield name, str(path.relative_to(package))


@pytest.mark.parametrize("place", ["core", "extender", "operator", "cli"])
def test_a_module_name_means_one_thing_in_its_package(place: str) -> None:
    """Elsewhere rooms of one shape share names: each paper's policy and generator, each world's `world`."""
    modules = [path for path in (ROOT / place).rglob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    counted = Counter(path.stem for path in modules)
    assert [name for name, times in counted.items() if times > 1] == []


@pytest.mark.parametrize("package", HOUSE, ids=named)
def test_a_class_name_means_one_thing_in_its_package(package: Path) -> None:
    """Two classes of one name in a package send a reader to the wrong one."""
    found = defaultdict(list)
    for name, where in classes(package):
        found[name].append(where)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize("place", sorted(PACKAGES))
def test_a_test_lies_where_the_module_of_its_name_does(place: str) -> None:
    """tests/core/ledger/test_victims.py tests core's ledger/victims.py; a name that no module has may lie anywhere."""
    top, tests = ROOT / place / PACKAGES[place], ROOT / "tests" / place
    rooms = defaultdict(set)
    for module in top.rglob("*.py"):
        rooms[module.stem].add(module.parent.relative_to(top))
    lost = {
        str(test.relative_to(tests)): [str(room) for room in rooms[name]]
        for test in tests.rglob("test_*.py")
        if (name := test.stem.removeprefix("test_")) in rooms and test.parent.name not in (name, *ELSEWHERE)
        if test.parent.relative_to(tests) not in rooms[name]
    }
    assert lost == {}


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_a_room_says_what_it_is_for(room: Path) -> None:
    """In the first line of its __init__.py."""
    assert ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))


def test_no_module_imports_one_that_imports_it() -> None:
    """Not even for types: each is typed by what it needs. A package's face is left out, it only hands names on."""
    files = {path.relative_to(top.parent).with_suffix("").parts: path for top in HOUSE for path in top.rglob("*.py")}
    modules = {name: set(imported(path, files)) for name, path in files.items() if name[-1] != "__init__"}
    TopologicalSorter(modules).prepare()  # raises a CycleError that names the circle


def imported(path: Path, modules: Collection[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The modules of ours that one imports, wherever it does so."""
    for origin, names, plain in IMPORT.findall(path.read_text(encoding="utf-8")):
        whole = tuple((origin or plain).split("."))
        for name in re.findall(r"\w+", names) or [""]:
            yield (*whole, name) if (*whole, name) in modules else whole


def test_no_module_is_a_drawer_for_everything() -> None:
    """Names that say nothing about what is inside."""
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert [path for top in HOUSE for path in top.rglob("*.py") if path.stem in drawers] == []


@pytest.mark.parametrize("listed", ["slow.txt", "no_coverage.txt", "deep.txt"])
def test_lists_of_tests_name_tests_that_exist(listed: str) -> None:
    """A renamed test would otherwise slip back into what leaves it out; a name alone is a file."""
    lines = (ROOT / "tests" / listed).read_text(encoding="utf-8").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        path, _, names = line.partition("::")
        name = names.partition("[")[0].rpartition("::")[2]
        text = (ROOT / path).read_text(encoding="utf-8")
        assert name in ("", "runTest") or f"def {name}(" in text, line
