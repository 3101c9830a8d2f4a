"""The time axis: round windows and pieces that every run shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import InvalidInput
from slackwater_monitor.history.grid import Grid, chunks, duration, fitted, grid


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("12h", 43200), ("7d", 604800), ("2w", 1209600), ("1.5h", 5400)]
)
def test_time_spans_are_read(text: str, seconds: int) -> None:
    """As people write them."""
    assert duration("--since", text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "0h", "1 week"])
def test_other_spans_are_refused_with_an_example(text: str) -> None:
    """Naming the option."""
    with pytest.raises(InvalidInput, match=r"--since.*7d"):
        duration("--since", text)


@pytest.mark.parametrize("text", ["9" * 400 + "d", "1000.5w", "4000d", "1" + "0" * 400 + ".5s"])
def test_spans_beyond_ten_years_are_refused(text: str) -> None:
    """Naming the option; the sentence stays short."""
    with pytest.raises(InvalidInput, match=r"--step.*ten years") as refused:
        duration("--step", text)
    assert len(str(refused.value)) < 200


def test_more_windows_than_anybody_reads_are_refused_with_a_step_that_works() -> None:
    """A second for a year would be 31 million windows."""
    with pytest.raises(InvalidInput, match=r"--step.*31,536,000 windows.*--step 316s") as refused:
        grid(2e9, 365 * 86400, 1)
    assert refused.value.field == "--step"
    assert grid(2e9, 365 * 86400, 316).count <= 100_000
    assert grid(2e9, duration("--since", "3650d"), None).count <= 100_000


@given(st.integers(10**9, 2 * 10**9), st.integers(60, 40 * 86400), st.sampled_from([None, 60, 300, 3600]))
def test_a_grid_covers_the_period_on_round_moments(end: int, since: int, step: int | None) -> None:
    """Every border is a multiple of the step, and the end is not in the future."""
    made = grid(end, since, step)
    assert made.start % made.step == 0
    assert made.end <= end < made.end + made.step
    assert made.end - made.start >= since


@given(st.integers(0, 10**6), st.sampled_from([60, 300]), st.integers(1, 3000), st.integers(1, 300))
def test_pieces_ask_for_each_window_once(first: int, step: int, count: int, points: int) -> None:
    """In order, none twice, none missing."""
    made = Grid(first * step, step, count)
    ends = [end for piece in chunks(made, points) for end in range(piece.first, piece.last + 1, step)]
    assert ends == list(range(made.start + step, made.end + 1, step))


@given(st.integers(10, 10**4), st.integers(1, 60))
def test_whole_pieces_are_the_same_for_a_later_run(first: int, later: int) -> None:
    """So that their answers on disk are found again."""
    now, then = (set(chunks(Grid(start * 300, 300, 500), 36)) for start in (first, first + later))
    inner = {piece for piece in now if piece.whole and piece.first > (first + later) * 300 + 36 * 300}
    assert inner <= then


@pytest.mark.parametrize(
    ("sample", "step"), [(0, 15), (15, 30), (30, 60), (30.4, 60), (60, 120), (300, 600), (7200, 14400)]
)
def test_windows_hold_two_samples_at_least(sample: float, step: int) -> None:
    """Two hours in windows of 15 s, where containers are scraped less often; the period stays covered."""
    made = fitted(grid(1e9, 7200, None), sample, stated=False)
    assert made.step == step
    assert made.end - made.start >= 7200
    assert made.end % made.step == 0


def test_a_stated_step_below_two_samples_is_refused_with_one_that_works() -> None:
    """Half of its windows would be empty: half of the memory, and no CPU."""
    with pytest.raises(InvalidInput, match=r"--step: use is sampled every 30 s.*windows of 15 s.*--step 60s or more"):
        fitted(grid(1e9, 7200, 15), 30.0, stated=True)
    assert fitted(grid(1e9, 7200, 60), 30.0, stated=True).step == 60
