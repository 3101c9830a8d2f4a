"""What `make package` built, and an empty environment that has nothing but the wheel in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.lab.chart import ROOT
from support.lab.emptyenvironment import Installed

DIST = ROOT / "dist"
TOLD: list[str] = []


def only(pattern: str) -> Path:
    """The one file of dist/ that a pattern means."""
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        pytest.skip("nothing is packaged; run: make package")
    return found[0]


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel."""
    return only("python/*.whl")


@pytest.fixture(scope="session")
def chart() -> Path:
    """The packaged chart."""
    return only("chart/*.tgz")


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """By pip the wheel goes into an empty environment, with the versions of constraints.txt."""
    folder, home = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    began = time.monotonic()
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True, cwd=home, env=os.environ)
    return Installed(folder, home, time.monotonic() - began)


@pytest.fixture
def tell() -> Callable[[str], None]:
    """Say a measured number; all are printed below the results."""
    return TOLD.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured."""
    for line in TOLD:
        terminalreporter.write_line(line)
