"""What `make demo` and `make install` do to a fresh clone: no more than needed, and never silently."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.lab.chart import ROOT
from support.reporting import read_names

# Where a submission is judged these are set, and make hands its own options on.
JUDGED = ("CI", "COVERAGE", "MAKEFLAGS", "MAKELEVEL")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a fresh clone as make looks at."""
    (tmp_path / "tests").mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "tests/deep.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def would_run(clone: Path, target: str, *settings: str) -> list[str]:
    """The commands that make would run, wherever these tests themselves are run."""
    line = ["make", "--dry-run", "--no-print-directory", target, *settings]
    plain = {name: value for name, value in os.environ.items() if name not in JUDGED}
    return subprocess.run(line, cwd=clone, capture_output=True, text=True, check=True, env=plain).stdout.splitlines()


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


@pytest.mark.parametrize("setting", ["COVERAGE=1", "CI=true"])
def test_coverage_is_counted_and_held_where_a_submission_is_judged(clone: Path, setting: str) -> None:
    """CI says both."""
    (tests,) = (line for line in would_run(clone, "unit", setting) if "-m pytest" in line)
    assert "--cov " in tests
    assert "--cov-fail-under=9" in tests


def test_a_newcomer_runs_all_but_the_long_tests_and_is_told_that_branches_were_not_counted(clone: Path) -> None:
    """The tracer takes half as long again as the tests alone; long tests are counted with all others."""
    tests, told = (line for line in would_run(clone, "unit") if "pytest" in line or "coverage" in line)
    (counted,) = (line for line in would_run(clone, "unit", "COVERAGE=1") if "-m pytest" in line)
    assert counted.startswith(tests.rstrip().replace("not deep and ", ""))
    assert told.startswith('echo "coverage: not counted')


def test_what_one_command_leaves_out_the_other_plays(clone: Path) -> None:
    """By one marker, in every file that the list names."""
    (left,) = (line for line in would_run(clone, "unit") if "-m pytest" in line)
    (played,) = (line for line in would_run(clone, "deep") if "-m pytest" in line)
    assert '-m "not deep and not lab and ' in left
    named = {name.partition("::")[0] for name in read_names(ROOT / "tests" / "deep.txt")}
    assert set(played.partition("-m deep ")[2].split()) == named


def test_every_submission_counts_coverage_and_plays_what_others_leave_out() -> None:
    """Whatever sets CI: the script says it itself."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert [line.partition(" ")[0] for line in script.splitlines() if line.endswith(" make test")] == ["COVERAGE=1"]
