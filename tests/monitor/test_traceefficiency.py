"""Efficiency of published traces."""

from __future__ import annotations

import gzip
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


HEAD = "win_start_s,win_end_s,req_cpu,avg_cpu,req_mem,avg_mem\n"
RLE = "id,submit_s,duration_s,samples_pct_of_16_cores_30s_rle\n"
GOOD = "0,30,1,0.5,1,1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}{GOOD}0,30,many,0.5,1,1\n", "'many' in column req_cpu of row 2"),
        (f"{HEAD}{GOOD}0,30,1,,1,1\n", "nothing in column avg_cpu of row 2"),
        (f"{HEAD}{GOOD}0,30,1,nan,1,1\n", "column avg_cpu of row 2"),
        (f"{HEAD}{GOOD}0,30,1,inf,1,1\n", "column avg_cpu of row 2"),
        (f"{HEAD}0,30,0,0.5,0,1\n", "no row that requests anything"),
        (HEAD, "no rows"),
        (RLE, "no rows"),
        (f"{RLE}1,0,90,98xfoo\n", "sample '98xfoo' in row 1"),
        (f"{RLE}1,0,90,98x2\n2,0,90,many 3\n", "sample 'many' in row 2"),
        (f"{RLE}1,0,90,98x-2\n", "sample '98x-2' in row 1"),
    ],
)
def test_a_broken_table_is_refused_with_its_name_and_place(tmp_path: Path, text: str, words: str) -> None:
    """And with what to write instead."""
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"--trace: trace\.csv ") as refused:
        study(path)
    assert words in str(refused.value)


def test_a_word_after_many_rows_is_refused_too(tmp_path: Path) -> None:
    """Types of columns are guessed from the first rows of a table."""
    path = tmp_path / "trace.csv"
    path.write_text(HEAD + GOOD * 50_000 + "0,30,many,0.5,1,1\n")
    with pytest.raises(InvalidInput, match=r"trace\.csv"):
        study(path)


@pytest.mark.parametrize("cut", [5, 40])
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    """As a download leaves it."""
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress((HEAD + GOOD * 20).encode())[:cut])
    with pytest.raises(InvalidInput, match=r"trace\.csv\.gz"):
        study(path)


def test_a_job_without_samples_used_nothing(tmp_path: Path) -> None:
    """An empty cell is no sample."""
    path = tmp_path / "series.csv"
    path.write_text(f"{RLE}1,0,90,50x2\n2,0,30,\n")
    assert study(path).kinds["cpu"].whole == pytest.approx(0.5)
