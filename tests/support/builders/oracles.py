"""The numbers every policy must reproduce, read from `tests/core/oracles.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).parents[2] / "core" / "oracles.json"


@dataclass(frozen=True, slots=True)
class Oracle:
    """One row: what goes in, what must come out, and how near."""

    id: str
    what: str
    inputs: Any  # the shape differs from row to row
    expected: Any
    tolerance: float

    def near(self, value: Any) -> Any:
        """The value, to be compared with `==` within this row's tolerance (and float rounding)."""
        return pytest.approx(value, rel=1e-12, abs=max(self.tolerance, 1e-12))


@cache
def oracles() -> dict[str, Oracle]:
    """All rows by id."""
    rows = json.loads(_FILE.read_text())["oracles"]
    return {
        row["id"]: Oracle(row["id"], row["what"], row["inputs"], row["expected"], row["abs_tolerance"]) for row in rows
    }


def oracle(name: str) -> Oracle:
    """One row."""
    return oracles()[name]


def ids(prefix: str) -> set[str]:
    """The ids of one policy, so that a test can say it covers them all."""
    return {name for name in oracles() if name.startswith(prefix)}


def rows(*names: str) -> pytest.MarkDecorator:
    """Parametrise a test's `row` with these oracles, each under its id."""
    return pytest.mark.parametrize("row", [pytest.param(oracle(name), id=name) for name in names])
