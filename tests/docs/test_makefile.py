"""What `make demo` and `make install` do to a fresh clone: no more than needed, and never silently."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.lab.chart import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a fresh clone as make looks at."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def would_run(clone: Path, target: str) -> list[str]:
    """The commands that make would run."""
    line = ["make", "--dry-run", "--no-print-directory", target]
    return subprocess.run(line, cwd=clone, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_first_demo_says_that_it_installs_and_installs_the_base_alone(clone: Path) -> None:
    """Nobody who wants to see the demo waits for type checkers."""
    told, *_, install, stamp, demo = would_run(clone, "demo")
    assert told.startswith('echo "Installing what the demo needs')
    assert install.endswith("-e .")
    assert (stamp, demo) == ("touch .venv/.base", ".venv/bin/slackwater demo")


@pytest.mark.parametrize("before", ["demo", "install"])
def test_the_second_demo_installs_nothing(clone: Path, before: str) -> None:
    """Whether the base came first, or everything."""
    stamps = [word for line in would_run(clone, before) if line.startswith("touch ") for word in line.split()[1:]]
    (clone / ".venv").mkdir()
    for stamp in stamps:
        (clone / stamp).touch()
    assert would_run(clone, "demo") == [".venv/bin/slackwater demo"]


def test_the_rest_is_added_to_the_same_environment(clone: Path) -> None:
    """After a demo `make install` brings what the tests need, and says so."""
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".base").touch()
    told, *_, install, stamps = would_run(clone, "install")
    assert told.startswith('echo "Installing everything')
    assert install.endswith("-e '.[dev]'")
    assert stamps == "touch .venv/.base .venv/.installed"
