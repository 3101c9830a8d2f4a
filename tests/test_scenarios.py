"""How CI plays scenarios: once, and a few of them twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "scenarios.py"
# Fails at its first play and passes at its second, unless it is a bad one.
SCENARIO = """
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


@pytest.mark.parametrize(
    ("flaky", "bad", "passes"), [(0, 0, True), (1, 0, True), (2, 0, True), (3, 0, False), (0, 1, False)]
)
def test_at_most_two_second_plays_and_each_is_named(tmp_path: Path, flaky: int, bad: int, passes: bool) -> None:
    """A third scenario that needs a second play fails the run, and so does one that fails twice."""
    (tmp_path / "test_played.py").write_text(SCENARIO.format(flaky=flaky, bad=bad))
    code = (
        f"import runpy, sys; script = runpy.run_path({str(SCRIPT)!r});"
        "play = [part for part in script['PLAY'] if part not in ('-m', 'lab', 'tests/e2e')];"
        "sys.exit(script['main']([play[0], '-m', *play[1:], 'test_played.py']))"
    )
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    quiet["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # ten starts of pytest: plugins would be most of their time
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, env=quiet
    )
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert f"needed a second play: {flaky + bad} " in done.stdout
    assert done.stdout.count("test_flaky[0]") >= (flaky > 0)
