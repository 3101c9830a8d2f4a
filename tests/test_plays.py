"""How CI plays tests and scenarios: once, and a few of them twice."""

from __future__ import annotations

import ast
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "plays.py"
# Fails at its first play and passes at its second, unless it is a bad one.
PLAYED = """
import pathlib, pytest
@pytest.mark.parametrize("number", range({flaky}))
def test_flaky(number):
    seen = pathlib.Path(f"seen-{{number}}")
    first = not seen.exists()
    seen.touch()
    assert not first
def test_good(): pass
@pytest.mark.parametrize("number", range({bad}))
def test_bad(number): assert False
"""
SKIPPED = """
import pathlib, pytest
def test_flaky():
    seen = pathlib.Path("seen")
    if seen.exists():
        pytest.skip("not built")
    seen.touch()
    assert False
"""
RENAMED = """
import pathlib, os, pytest
@pytest.mark.parametrize("number", [os.getpid()])
def test_bad(number): assert False
def test_flaky():
    seen = pathlib.Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
UNREADABLE = """
import pathlib
seen = pathlib.Path("seen")
first = not seen.exists()
seen.touch()
assert not first
def test_good(): pass
"""
# A plugin fails after the first test.
BROKEN_OFF = """
import pathlib, pytest
def test_flaky():
    seen = pathlib.Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
@pytest.fixture(autouse=True)
def _stop(request):
    yield
    if not pathlib.Path("stopped").exists():
        pathlib.Path("stopped").touch()
        request.session.shouldstop = "a worker is gone"
def test_never_reached(): assert False
"""
# A suite like ours: a first play that also checks something else, and a second one of what failed.
RUN = """
import runpy, sys
script = runpy.run_path({script!r})
again = [*script["PYTEST"], "--last-failed"]
suite = script["Suite"]("tests", script["Path"](".pytest_cache"), [*script["PYTEST"], {file!r}], again, {beside})
sys.exit(script["main"](suite))
"""


def hook() -> str:
    """Where tests/conftest.py writes down how a run ended."""
    source = (ROOT / "tests" / "conftest.py").read_text()
    parts = ast.parse(source).body
    found = next(each for each in parts if isinstance(each, ast.FunctionDef) and each.name == "pytest_sessionfinish")
    return ast.get_source_segment(source, found) or ""


def play(folder: Path, file: str, text: str, beside: str = "()") -> subprocess.CompletedProcess[str]:
    """The script's verdict on one file of tests."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(text)
    (folder / "conftest.py").write_text(f"import pytest\n{hook()}\n")
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    quiet["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # ten starts of pytest: plugins would be most of their time
    code = RUN.format(script=str(SCRIPT), file=file, beside=beside)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=quiet)


@pytest.mark.parametrize(
    ("flaky", "bad", "passes"), [(0, 0, True), (1, 0, True), (2, 0, True), (3, 0, False), (0, 1, False)]
)
def test_at_most_two_second_plays_and_each_is_named(tmp_path: Path, flaky: int, bad: int, passes: bool) -> None:
    """A third test that needs a second play fails the run, and so does one that fails twice."""
    done = play(tmp_path, "test_played.py", PLAYED.format(flaky=flaky, bad=bad))
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert f"needed a second play: {flaky + bad} " in done.stdout
    assert done.stdout.count("test_flaky[0]") >= (flaky > 0)


def test_what_a_search_finds_is_not_played_again(tmp_path: Path) -> None:
    """Its seed may not come up a second time, and the fault would stay."""
    done = play(tmp_path, "tests/search/test_search.py", PLAYED.format(flaky=1, bad=0))
    assert done.returncode != 0
    assert "found by search" in done.stdout


@pytest.mark.parametrize("text", [SKIPPED, RENAMED], ids=["skipped", "renamed"])
def test_a_second_play_without_the_test_is_none(tmp_path: Path, text: str) -> None:
    """What failed is skipped then, or goes by another name each time: nothing shows that it passes."""
    assert play(tmp_path, "test_played.py", text).returncode != 0


@pytest.mark.parametrize("text", [UNREADABLE, BROKEN_OFF], ids=["collection", "stopped"])
def test_a_first_play_that_did_not_come_to_its_end_is_not_mended_by_a_second(tmp_path: Path, text: str) -> None:
    """All the tests that it did not reach were never played, and the run passed."""
    (tmp_path / "test_others.py").write_text("def test_other(): pass")
    done = play(tmp_path, "test_played.py", text)
    assert done.returncode != 0
    assert "did not come to its end" in done.stdout


def test_what_is_checked_beside_tests_is_checked_again(tmp_path: Path) -> None:
    """One code stands for tests, lint, types and coverage, and a second play of a test says nothing of the others."""
    failing = f"([{sys.executable!r}, '-c', 'raise SystemExit(1)'],)"
    assert play(tmp_path, "test_played.py", PLAYED.format(flaky=1, bad=0), failing).returncode != 0


def test_the_first_play_is_the_command_of_the_readme() -> None:
    """The share of branches is read from where it stands, and every folder of finds is there."""
    script = runpy.run_path(str(SCRIPT))
    suite = script["suite_of_tests"]()
    assert list(suite.first) == ["make", "test"]
    assert int(suite.beside[-1][-1]) > 90
    assert all((ROOT / each).exists() for each in script["FINDS"])
