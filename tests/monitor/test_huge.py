"""Memory of `assess` on a large cluster; the whole size takes minutes and is asked for with SLACKWATER_HUGE=1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support" / "fakes" / "hugeprometheus.py"
# Peak resident memory of the process that runs the command, printed after its output.
COMMAND = """
import resource, sys
from slackwater_cli.main import app
try:
    app(standalone_mode=False)
finally:
    sys.stderr.write(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
"""


@pytest.mark.bench
@pytest.mark.parametrize(
    ("pods", "since"),
    [
        pytest.param(400, "1d", id="a day of 400 pods"),
        pytest.param(
            5000,
            "7d",
            id="a week of 5,000 pods",
            marks=[
                pytest.mark.timeout(1200),
                pytest.mark.skipif(not os.environ.get("SLACKWATER_HUGE"), reason="minutes; set SLACKWATER_HUGE=1"),
            ],
        ),
    ],
)
def test_memory_stays_below_half_a_gigabyte(pods: int, since: str, tmp_path: Path) -> None:
    """And the numbers are those of the series served: half a core of four."""
    with subprocess.Popen([sys.executable, str(SUPPORT), str(pods)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            arguments = ["assess", "--prometheus", url, "--since", since, "--step", "5m", "--rate", "1000"]
            result = subprocess.run(
                [sys.executable, "-c", COMMAND, *arguments, "--cache", str(tmp_path / "c"), "--report", str(tmp_path)],
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            server.terminate()
    peak = int(result.stderr.rpartition("peak ")[2])
    print(f"\n{pods:,} pods, {since}: peak {peak / 1024:.0f} MiB", end=" ")  # noqa: T201 - the figure, with pytest -s
    found = json.loads((tmp_path / "assessment.json").read_text(encoding="utf-8"))
    assert found["summary"]["cpu"]["efficiency"] == pytest.approx(0.5 / 4, rel=1e-3)
    assert len(found["levels"]["pod"]) == pods
    assert peak < 500 * 1024, f"{peak / 1024:.0f} MiB"
