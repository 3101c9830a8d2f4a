"""Every regular expression of ours reads a long text in a time that grows with its length, and not much faster.

A tenant's text reaches many of them. Each is tried on texts made of its own letters again and again, with an end that
almost fits: where a text can be divided in more than one way, it is there that all of them are tried.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("core", "cluster", "extender", "operator", "simulator", "monitor", "cli", "lab")
METHODS = ("fullmatch", "match", "search", "sub", "split", "findall", "finditer")
LENGTHS = (24, 36, 60, 10_000)  # what is exponential is found at the first ones, before it takes for ever
ENOUGH = 0.03  # seconds of CPU: at the last length what is linear takes less than 0.002, what is quadratic 0.3 or more
USUAL = ("a", "1", " ", "-", ".", "=", '"', "/")  # letters for classes, which have none of their own
ENDS = ("", "!")
MADE_THERE = {"kind", "margin", "listed", "self"}  # in an expression of its function: of what only we or a user writes
ADMINISTRATORS = {"matchers"}  # whole queries, which are ours and an administrator's: an unclosed quote is quadratic


def patterns() -> Iterator[Any]:
    """Each call of `re` in our packages: its place, and what it does with a text."""
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        if "import re\n" not in (source := path.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(source)
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts[1:]).removesuffix(".__init__")
        for call in ast.walk(tree):
            function = _function(call)
            if isinstance(call, ast.Call) and function and not MADE_THERE.intersection(_names(call.args[0])):
                asked = [function] if function in METHODS else _asked(tree, call)
                yield pytest.param(module, call, asked, id=f"{path.name}:{call.lineno}")


def _names(expression: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(expression) if isinstance(each, ast.Name)}


def _function(call: ast.AST) -> str:
    """What it asks of `re`, "" where it asks for nothing."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "re":
        return call.func.attr if call.func.attr in (*METHODS, "compile") else ""
    return ""


def _asked(tree: ast.AST, call: ast.Call) -> list[str]:
    """The methods that the file calls on the name that a compiled pattern is given; all that look anywhere for none."""
    names = {
        ast.unparse(target)
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign) and each.value is call
        for target in each.targets
    }
    found = {
        each.attr
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and ast.unparse(each.value).removeprefix("self.") in names
    }
    return sorted(found.intersection(METHODS)) or ["match", "search"]


@pytest.mark.parametrize(("module", "call", "asked"), list(patterns()))
def test_a_long_text_is_read_in_a_time_that_grows_with_its_length(
    module: str, call: ast.Call, asked: list[str]
) -> None:
    """Whatever it is made of: two letters of the pattern and of the usual ones, and an end that does not fit."""
    values = vars(importlib.import_module(module))
    made = eval(compile(ast.Expression(call if _function(call) == "compile" else call.args[0]), module, "eval"), values)
    pattern = made if isinstance(made, re.Pattern) else re.compile(made)
    lengths = LENGTHS[:-1] if module.rpartition(".")[2] in ADMINISTRATORS else LENGTHS
    assert not _slow(pattern, asked, lengths)


@pytest.mark.parametrize("pattern", [r"b(-?\d+)*x", r"(\w+://)?[^@]+@", r" *\n", r"(a|aa)+!"])
def test_a_pattern_that_tries_many_ways_is_found(pattern: str) -> None:
    """Users in addresses, numbers behind a name: two such ones have stopped us."""
    assert _slow(re.compile(pattern), ["search"], LENGTHS)


def _slow(pattern: re.Pattern[str], asked: Iterable[str], lengths: Sequence[int]) -> str:
    """What takes too long, "" where nothing does."""
    letters = dict.fromkeys((*USUAL, *filter(str.isprintable, pattern.pattern)))
    units = dict.fromkeys((*letters, *map("".join, product(letters, repeat=2))))
    begins = {"", re.split(r"[^\w/: -]", pattern.pattern)[0]}
    for method, length, begin, unit, end in product(asked, lengths, begins, units, ENDS):
        text = begin + unit * (length // len(unit)) + end
        if (spent := _spent(getattr(pattern, method), method, text)) > ENOUGH:
            return f"{method} of {pattern.pattern!r}: {spent:.2f} s for {len(text)} letters like {text[:40]!r}"
    return ""


def _spent(reads: Callable[..., object], method: str, text: str) -> float:
    """Seconds of CPU, at best of three where it is a little too long."""
    spent = float("inf")
    for _ in range(3):
        began = process_time()
        found = reads("", text) if method == "sub" else reads(text)
        if method == "finditer":
            list(found)  # type: ignore[call-overload]
        spent = min(spent, process_time() - began)
        if spent < ENOUGH or spent > 10 * ENOUGH:
            break
    return spent
