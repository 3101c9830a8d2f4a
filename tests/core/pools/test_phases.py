"""Phase detection from starts and ends (paper 004, Algorithms 1 and 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.pools.forecast import Wave
from slackwater.pools.phases import MOST_PHASES, PhaseDetector, Window
from support.builders.oracles import Oracle, rows


def job(starts: list[float], window: Window | None = None, prefix: str = "t") -> PhaseDetector:
    """A job whose tasks t0, t1, … started at these times."""
    detector = PhaseDetector(window)
    for number, t in enumerate(starts):
        detector.start(t, f"{prefix}{number}")
    return detector


@rows("DRS-07")
def test_phase_opens_with_a_burst_and_closes_in_silence(row: Oracle) -> None:
    """Six starts within the window open it; pw seconds without one close it."""
    given_, want = row.inputs, row.expected
    detector = PhaseDetector(Window(given_["pw"], starts=given_["t_s"]))
    opened = closed = None
    for t in range(30):
        for number, start in enumerate(given_["start_times"]):
            if start == t:
                detector.start(t, f"t{number}")
        detector.tick(t)
        phase = detector.phases[0]
        opened = t if opened is None and phase.first is not None else opened
        closed = t if closed is None and phase.closed is not None else closed
    assert (opened, closed) == (want["detected_at"], want["closed_at"])
    assert (phase.first, phase.last, phase.spread) == (want["ps_first"], want["ps_last"], want["dps"])


@rows("DRS-08")
def test_heading_task_does_not_set_the_first_end(row: Oracle) -> None:
    """γ is the earliest end inside the window that had enough of them."""
    given_, want = row.inputs, row.expected
    detector = job([0.0] * 7, Window(given_["pw"], ends=given_["t_e"]))
    seen = []
    for number, t in enumerate(given_["finish_times"]):
        detector.finish(t, f"t{number}")
        seen.append(detector.phases[0].gamma)
    assert given_["finish_times"][[gamma is not None for gamma in seen].index(True)] == want["detected_at"]
    assert seen[-1] == want["gamma"]


def test_next_burst_is_the_next_phase() -> None:
    """A start after the silence does not stretch the phase before it, even if nobody looked in between."""
    detector = job([0, 0, 1, 1, 2, 2, 60, 60, 61, 61, 62, 62])
    detector.tick(100)
    assert [(phase.first, phase.last, phase.count) for phase in detector.phases] == [(0, 2, 6), (60, 62, 6)]
    assert [phase.spread for phase in detector.phases] == [2, 2]
    assert detector.alpha == 0


def test_trailing_tasks_move_to_the_next_phase() -> None:
    """Once ends dry up, what still runs no longer counts as about to end."""
    detector = job([0.0] * 8)
    for number in range(6):
        detector.finish(30 + number / 10, f"t{number}")
    assert detector.waves(31) == [Wave(8, 2, 30.0, 0.0)]
    assert detector.waves(60) == [Wave(2, 2, None, 0.0)]
    assert [phase.count for phase in detector.phases] == [6, 2]
    detector.finish(90, "t6")
    detector.finish(91, "t7")
    assert detector.waves(92) == []


def test_forecast_promises_nothing_before_the_phase_is_known() -> None:
    """Open phase: Δps is not known yet. No end: γ is not."""
    detector = job([0.0] * 8)
    assert detector.waves(1) == [Wave(8, 8, None, 0.0)]
    assert detector.waves(20) == [Wave(8, 8, None, 0.0)]


def test_small_phase_is_seen_where_its_size_is_known() -> None:
    """min(5, n − 1): three of three starts are enough."""
    detector = PhaseDetector()
    for number in range(3):  # the size is told once, at the second start
        detector.start(number, f"t{number}", size=3 if number == 1 else None)
    detector.tick(20)
    for number in range(3):
        detector.finish(40 + number, f"t{number}")
    phase = detector.phases[0]
    assert (phase.first, phase.spread, phase.gamma) == (0, 2, 40)


def test_small_phase_of_unknown_size_stays_unseen() -> None:
    """The paper's threshold: five starts are not more than five."""
    detector = job([0.0] * 5)
    detector.tick(50)
    assert detector.phases[0].first is None


def test_stage_labels_replace_detection() -> None:
    """Interleaved stages are told apart, each with its own first end and spread."""
    detector = PhaseDetector()
    for number in range(3):
        detector.start(number, f"m{number}", stage="map", size=3)
        detector.start(number + 0.5, f"r{number}", stage="reduce", size=3)
    for number in range(2):
        detector.finish(10 + number, f"m{number}")
    detector.finish(12, "m2")
    detector.finish(50, "r0")
    by_label = {phase.label: phase for phase in detector.phases}
    assert (by_label["map"].spread, by_label["map"].gamma, by_label["map"].closed) == (2, 10, 2)
    assert (by_label["reduce"].first, by_label["reduce"].gamma, len(by_label["reduce"].running)) == (0.5, None, 2)


def test_labelled_stage_of_unknown_size_counts_what_it_saw() -> None:
    """Two tasks seen: two ends are enough; in silence the stage is over."""
    detector = PhaseDetector()
    detector.start(0, "a", stage="map")
    detector.start(3, "b", stage="map")
    detector.finish(20, "a")
    assert [wave.gamma for wave in detector.waves(20)] == [None]
    detector.finish(21, "b")
    assert (detector.phases[0].gamma, detector.phases[0].spread) == (20, 3)
    assert detector.waves(40) == []


def test_labelled_and_unlabelled_tasks_do_not_mix() -> None:
    """A labelled start in between does not break an unlabelled burst."""
    detector = job([0.0] * 3)
    detector.start(1, "labelled", stage="map")
    for number in range(3, 6):
        detector.start(2, f"t{number}")
    assert [(phase.label, phase.count) for phase in detector.phases] == [(None, 6), ("map", 1)]
    assert detector.phases[0].first == 0


def test_trailing_tasks_join_a_phase_that_is_there_already() -> None:
    """The second burst takes the stragglers of the first."""
    detector = job([0.0] * 8)
    for number in range(6):
        detector.finish(30, f"t{number}")
    for number in range(6):
        detector.start(32, f"u{number}")
    detector.tick(45)
    assert [phase.count for phase in detector.phases] == [6, 8]
    assert [wave.running for wave in detector.waves(46)] == [8]


def test_labelled_stage_that_runs_again_is_watched_again() -> None:
    """A retried task of a finished stage counts."""
    detector = PhaseDetector()
    detector.start(0, "a", stage="map", size=1)
    detector.finish(5, "a")
    detector.tick(30)
    detector.start(40, "a2", stage="map")
    assert [wave.running for wave in detector.waves(41)] == [1]


def test_idle_between_phases_is_not_finished() -> None:
    """β needs the driver's end too."""
    detector = job([0.0])
    assert not detector.end(1, pending=0, driver_done=True)  # one still runs
    detector.finish(2, "t0")
    assert not detector.end(3, pending=0, driver_done=False)
    assert not detector.end(4, pending=1, driver_done=True)
    assert detector.end(5, pending=0, driver_done=True)
    assert detector.end(9, pending=0, driver_done=True)
    assert detector.beta == 5


def test_repeated_and_unknown_events_are_harmless() -> None:
    """Watches repeat themselves; a restart sees ends without starts."""
    detector = job([0.0])
    detector.start(1, "t0")
    detector.finish(2, "stranger")
    assert detector.phases[0].count == 1
    assert len(detector.phases[0].ends) == 0


def test_bad_time_and_window_are_named() -> None:
    """NaN time, zero window."""
    with pytest.raises(BadNumber, match=r"^t:"):
        PhaseDetector().start(float("nan"), "a")
    with pytest.raises(BadNumber, match="window"):
        Window(seconds=0)


events = st.lists(st.tuples(st.floats(0, 5), st.booleans(), st.booleans()), max_size=80)


@given(events)
def test_every_running_task_is_in_exactly_one_phase(steps: list[tuple[float, bool, bool]]) -> None:
    """However starts, ends and silences follow each other; counts add up to the starts."""
    detector, t, started = PhaseDetector(Window(seconds=3, starts=2, ends=1)), 0.0, 0
    running: list[str] = []
    for pause, starts, newest in steps:
        t += pause
        if starts or not running:
            running.append(f"t{started}")
            detector.start(t, running[-1])
            started += 1
        else:
            detector.finish(t, running.pop(-1 if newest else 0))
        assert sorted(task for phase in detector.phases for task in phase.running) == sorted(running)
        assert sum(phase.count for phase in detector.phases) == started
        assert sum(wave.running for wave in detector.waves(t)) == len(running)


@pytest.mark.parametrize("stages", [False, True])
def test_phases_of_a_job_that_lives_for_weeks_are_forgotten(*, stages: bool) -> None:
    """A Ray or Dask session with a burst every minute; what still runs is kept, however old."""
    detector = PhaseDetector(Window(10.0, starts=5, ends=5))
    detector.start(0.0, "old", "first" if stages else None)
    for burst in range(3 * MOST_PHASES):
        for number in range(8):
            detector.start(60.0 * burst + 1, f"{burst}-{number}", f"stage{burst}" if stages else None)
        for number in range(8):
            detector.finish(60.0 * burst + 20, f"{burst}-{number}")
    assert len(detector.phases) <= MOST_PHASES + 1
    assert sum(wave.count for wave in detector.waves(1e6)) >= 1
