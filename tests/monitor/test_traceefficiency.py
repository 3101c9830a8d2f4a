"""Efficiency of published traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_monitor.traceefficiency import study

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
BORG = TRACES / "google-borg" / "2019-request-vs-usage-by-job.csv.gz"
SURF = TRACES / "surf-lisa-week" / "surf-week-cpu-usage.csv.gz"


@pytest.mark.skipif(not BORG.exists(), reason="the Borg table is not beside the project")
def test_borg_jobs_use_a_quarter_of_their_cpu_and_half_of_their_memory() -> None:
    """Published medians of average use over request: 0.269 and 0.484."""
    found = study(BORG)
    assert found.rows == 3971
    assert found.kinds["cpu"].at(0.5) == pytest.approx(0.269, abs=5e-4)
    assert found.kinds["memory"].at(0.5) == pytest.approx(0.484, abs=5e-4)


@pytest.mark.skipif(not SURF.exists(), reason="the SURF week is not beside the project")
def test_the_surf_week_is_used_to_65_percent() -> None:
    """Published: 65.04 % weighted by time, over 6,295 jobs."""
    found = study(SURF)
    assert found.rows == 6295
    assert found.kinds["cpu"].whole == pytest.approx(0.6504, abs=5e-5)


def test_time_weighs_and_medians_do_not(tmp_path: Path) -> None:
    """A long job counts for more in the whole, a job is a job in the median."""
    path = tmp_path / "jobs.csv"
    path.write_text(
        "win_start_s,win_end_s,req_cpu,avg_cpu,req_mem,avg_mem\n0,30,1,0.5,1,1\n0,10,1,0.1,2,1\n0,10,1,0.1,1,1\n"
    )
    found = study(path)
    assert found.kinds["cpu"].whole == pytest.approx((15 + 1 + 1) / 50)
    assert found.kinds["cpu"].at(0.5) == pytest.approx(0.1)
    assert found.kinds["memory"].whole == pytest.approx(50 / 60)


def test_run_lengths_are_unfolded(tmp_path: Path) -> None:
    """98x2 is two samples of 98 %."""
    path = tmp_path / "series.csv"
    path.write_text("id,submit_s,duration_s,samples_pct_of_16_cores_30s_rle\n1,0,90,100x2 40\n2,0,30,0\n")
    found = study(path)
    assert found.kinds["cpu"].whole == pytest.approx((2 + 0.4) / 4)


@pytest.mark.parametrize("text", [None, "nothing known\n"], ids=["absent", "unknown"])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str | None) -> None:
    """With the name of the file."""
    path = tmp_path / "trace.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=r"trace\.csv"):
        study(path)
