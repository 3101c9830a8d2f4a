"""Tests that share one collection (tests/support/forks.py): the same results as in one process, and a clean end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from slackwater_lab.processes.waiting import until

HERE = Path(__file__).parent
SETTINGS = """
[pytest]
addopts = -p no:randomly -p no:cacheprovider
asyncio_default_fixture_loop_scope = function
[coverage:run]
branch = true
"""
KINDS = """
import os, warnings
import pytest

@pytest.fixture(scope="module")
def server():
    yield os.getpid()
    print("taken down")

@pytest.mark.parametrize("number", range(40))
def test_passes(number, server, tmp_path):
    print("said", number)
    (tmp_path / "own").write_text("x")
    assert server == os.getpid()

def test_fails(): assert 1 == 2
def test_warns(): warnings.warn("look here")
def test_skips(): pytest.skip("why not")
@pytest.mark.xfail
def test_is_known_to_fail(): assert 0
@pytest.fixture
def broken(): raise ValueError("broken")
def test_has_no_fixture(broken): pass
@pytest.fixture
def late():
    yield
    raise ValueError("late")
def test_is_not_taken_down(late): pass
"""


@pytest.fixture
def play(tmp_path: Path) -> Path:
    """A folder with a configuration that has the plugin."""
    (tmp_path / "tox.ini").write_text(SETTINGS)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["support.forks"]\n')
    return tmp_path


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Pytest in that folder, alone of what the tests outside count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "COVERAGE", "PYTEST_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(HERE), "COVERAGE_FILE": str(folder / "branches")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def ended(folder: Path, *words: str) -> tuple[int, str]:
    """Its exit code and what it printed."""
    process = command(folder, *words)
    told, _ = process.communicate(timeout=120)
    return process.returncode, told


def results(record: Path) -> Counter[tuple[str, str, bool]]:
    """Test, what became of it, and whether what it printed is told."""
    return Counter(
        (str(case.get("name")), ",".join(part.tag for part in case if part.tag != "system-out"), "said" in _out(case))
        for case in ET.parse(record).getroot().iter("testcase")
    )


def _out(case: ET.Element) -> str:
    return "".join(part.text or "" for part in case.iter("system-out"))


def test_every_kind_of_end_is_told_as_in_one_process(play: Path) -> None:
    """Passed, failed, in error before and after, skipped, known to fail, warned."""
    (play / "test_kinds.py").write_text(KINDS)
    told = {}
    for number in ("1", "3"):
        words = ["--forks", number, "--junit-xml", f"{number}.xml", "-o", "junit_logging=system-out"]
        code, told[number] = ended(play, *words)
        assert code == 1, told[number]
    assert results(play / "1.xml") == results(play / "3.xml")
    last = [re.sub(r" in [\d.]+s.*", "", each.strip().splitlines()[-1]) for each in told.values()]
    assert last[0] == last[1] == "1 failed, 42 passed, 1 skipped, 1 xfailed, 1 warning, 2 errors"
    assert "UserWarning: look here" in told["3"]


def test_every_process_takes_tests_and_branches_of_all_are_counted(play: Path) -> None:
    """Each of the forty tests takes a branch of its own."""
    (play / "odd.py").write_text(
        "def odd(n):\n" + "".join(f"    if n == {n}:\n        return {n}\n" for n in range(40))
    )
    (play / "test_odd.py").write_text(
        "import os, time, pathlib, pytest, odd\n"
        "@pytest.mark.parametrize('n', range(40))\n"
        "def test_odd(n):\n"
        "    pathlib.Path(f'{os.getpid()}.pid').touch(); time.sleep(0.05)\n"
        "    assert odd.odd(n) == n\n"
    )
    code, told = ended(play, "--forks", "3", "--cov=odd", "--cov-branch", "--cov-report=term-missing")
    assert code == 0, told
    assert len(list(play.glob("*.pid"))) == 3
    row = next(line for line in told.splitlines() if line.startswith("odd.py"))
    assert row.split()[:5] == ["odd.py", "81", "0", "80", "1"]  # only "no number at all" is never met


def test_a_process_that_dies_ends_the_run_and_is_no_success(play: Path) -> None:
    """Its tests are not told of, so nobody may take what was told for all of it."""
    (play / "test_dies.py").write_text(
        "import os, pytest\n@pytest.mark.parametrize('n', range(12))\ndef test_one(n):\n    if n == 5: os._exit(0)\n"
    )
    code, told = ended(play, "--forks", "2")
    assert code == 2
    assert re.search(r"a process that played tests ended with 0: \d+ tests are not told of", told)


def test_no_more_tests_than_may_fail(play: Path) -> None:
    """`-x` ends the others, too."""
    (play / "test_fails.py").write_text(
        "import time, pytest\n@pytest.mark.parametrize('n', range(400))\ndef test_one(n): time.sleep(0.1); assert n\n"
    )
    code, told = ended(play, "--forks", "2", "-x")
    assert code == 1
    assert "stopping after 1 failures" in told
    assert int(re.findall(r"(\d+) passed", told)[-1] if "passed" in told else 0) < 300


def test_ctrl_c_takes_down_what_tests_set_up(play: Path) -> None:
    """In every process, and nothing plays on."""
    (play / "test_long.py").write_text(
        "import os, pathlib, time, pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def up():\n"
        "    mark = pathlib.Path(f'{os.getpid()}.up'); mark.touch(); yield; mark.rename(mark.with_suffix('.down'))\n"
        "@pytest.mark.parametrize('n', range(8))\n"
        "def test_one(n, up): time.sleep(100)\n"
    )
    process = command(play, "--forks", "2")
    until("both processes play", lambda: len(list(play.glob("*.up"))) == 2)
    os.killpg(process.pid, signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 2, told
    assert len(list(play.glob("*.down"))) == 2, told


def test_workers_that_tests_left_end_with_them(play: Path) -> None:
    """Joblib keeps its processes for five minutes, unless it hears that the program ends."""
    (play / "test_pool.py").write_text(
        "import os, pathlib, pytest, joblib\n"
        "def me(n): return os.getpid()\n"
        "@pytest.mark.parametrize('n', range(2))\n"
        "def test_one(n):\n"
        "    for pid in joblib.Parallel(2)(joblib.delayed(me)(n) for n in range(2)):\n"
        "        pathlib.Path(f'{pid}.pid').touch()\n"
    )
    code, told = ended(play, "--forks", "2")
    assert code == 0, told
    pids = [int(path.stem) for path in play.glob("*.pid")]
    assert pids
    until("all have ended", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 20)
