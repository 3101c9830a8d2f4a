"""What a docstring or a comment names in backticks is there: `module.name`, `Class.member` or `file.py`."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("core", "cluster", "extender", "operator", "simulator", "monitor", "cli", "lab")
MODULES = [path for place in PLACES for path in sorted((ROOT / place).rglob("*.py"))]
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
FILES = {path.name for place in PLACES for path in (ROOT / place).rglob("*.*")}
FOREIGN = {"dataclasses", "np", "sim"}  # `sim` is how a user imports the simulator
# Entry points, settings, fields of custom resources, a variable of CEL, a file we write, an argument.
OTHER_THINGS = {
    "world.total",
    "delta.minimum",
    "delta.maximum",
    "slackwater.policies",
    "watchdog.namespace",
    "tls.client_ca",
    "variables.labels",
    "declared.cpu",
    "assessment.json",
}


def read(path: Path) -> tuple[set[str], list[tuple[int, str]]]:
    """The names that the code of a file uses, and its docstrings and comments with their lines."""
    names: set[str] = set()
    texts: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.NAME:
            names.add(token.string)
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            texts.append((token.start[0], token.string))
    return names, texts


@cache
def defined(path: Path) -> frozenset[str]:
    """What stands at the top of a module, and the members of its classes."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        if isinstance(node, ast.ClassDef):
            waiting.extend(node.body)
    return frozenset(found)


def exists(dotted: str) -> bool:
    """Whether the name leads to a file, a room, a module or something in a module."""
    if dotted in FILES:
        return True
    parts = tuple(dotted.split("."))
    for path in MODULES:
        module = path.parent.parts if path.name == "__init__.py" else (*path.parent.parts, path.stem)
        if ends_with(module, parts):
            return True
        shortest = 0 if parts[0][0].isupper() else 1  # a class needs no module before it
        named = (kept for kept in range(shortest, len(parts)) if ends_with(module, parts[:kept]))
        if any(set(parts[kept:]) <= defined(path) for kept in named):
            return True
    return False


def ends_with(module: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Whether these are the last parts of a module's name; none are the last parts of any."""
    return module[len(module) - len(parts) :] == parts


def lost() -> Iterator[str]:
    """Every dotted name that leads nowhere. One that the file's own code is made of is for mypy to hold."""
    for path in MODULES:
        if not DOTTED.search(path.read_text(encoding="utf-8")):
            continue
        names, texts = read(path)
        for line, text in texts:
            for match in DOTTED.finditer(text):
                parts = match[1].split(".")
                known = match[1] in OTHER_THINGS or parts[0] in FOREIGN or names.issuperset(parts)
                if not known and not exists(match[1]):
                    yield f"{path.relative_to(ROOT)}:{line + text[: match.start()].count(chr(10))} {match[0]}"


def test_names_in_docstrings_lead_somewhere() -> None:
    """A module that was renamed is renamed in the sentences about it too."""
    assert list(lost()) == []


@pytest.mark.parametrize(
    "name", ["estimator.reported", "slackwater.estimation.risk", "idle.Cause", "Resources.vector", "views.py"]
)
def test_modules_and_what_they_define_are_found(name: str) -> None:
    """By their last parts, as sentences name them."""
    assert exists(name)


@pytest.mark.parametrize("name", ["estimation.shortfall", "starts.interval", "protocol.py"])
def test_names_of_before_are_not_found(name: str) -> None:
    """They once stood in docstrings, and sent a reader nowhere."""
    assert not exists(name)
