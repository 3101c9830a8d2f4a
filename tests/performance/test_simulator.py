"""How fast the simulator plays, against `bounds.toml`: processor time, each case in a process of its own.

`make bench-simulator` shows the numbers; `python tests/support/bench/replays.py CASE` plays one case.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from support.bench import replays

BOUNDS = tomllib.loads(Path(__file__).with_name("bounds.toml").read_text(encoding="utf-8"))["simulator"]
SINGLE = [name for name in replays.CASES if name in BOUNDS]

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]


@cache
def measured(name: str) -> dict[str, float]:
    """Play the case in a fresh process; skipped where its log is not beside the project."""
    if missing := replays.CASES[name].missing:
        pytest.skip(f"the public log {missing} (../shared/traces beside the project) is not here")
    command = [sys.executable, replays.__file__, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers: dict[str, float] = json.loads(done.stdout)
    sys.stdout.write(f"{name}: {done.stdout}")
    return numbers


@pytest.mark.parametrize("name", SINGLE)
def test_a_case_stays_below_its_bounds(name: str) -> None:
    """Seconds, and megabytes where they are bounded; and the whole log was played."""
    numbers, bounds = measured(name), BOUNDS[name]
    assert numbers["seconds"] <= bounds["seconds"]
    assert numbers["megabytes"] <= bounds.get("megabytes", float("inf"))
    assert numbers["containers"] >= bounds["containers"]


def test_time_grows_with_containers_and_no_faster() -> None:
    """A hundred times the containers take a hundred times the time, within the bound."""
    small, large = measured("growth-10k"), measured("growth-1m")
    times = large["containers"] / small["containers"]
    assert times > 90
    assert large["seconds"] <= BOUNDS["growth"] * times * small["seconds"]
