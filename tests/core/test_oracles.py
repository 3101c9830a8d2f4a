"""Every oracle is claimed by a test that names its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.oracles import ids

_TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))


@pytest.mark.parametrize("prefix", ["ADM", "NET", "DRS"])
def test_each_oracle_has_a_row(prefix: str) -> None:
    """A number that no test reads is a promise nobody keeps."""
    unclaimed = {name for name in ids(prefix) if f'"{name}"' not in _TESTS}
    assert not unclaimed
