"""The form of what-if: plays keep threads busy, so only one waits for another."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput, Unavailable, UnknownName
from slackwater_monitor.web.trials import SHOWN, Trial, Trials
from slackwater_monitor.whatif import Comparison
from slackwater_simulator.results.outcome import Outcome
from support.builders.outcomes import outcome

ROWS = [(job, job % 2, float(job), float(job) + 10) for job in range(4)]
SOON = 10.0  # seconds that no test needs


class Slow(Trials):
    """Plays when it may."""

    def __init__(self) -> None:
        super().__init__(None)
        self.shown = outcome(ROWS, usage=True)
        self.free, self.begun = threading.Event(), threading.Event()

    def _compare(self, trial: Trial, shown: Outcome | None) -> Comparison:
        self.begun.set()
        assert self.free.wait(SOON)
        return super()._compare(trial, shown)

    def timed(self, load: float) -> Comparison:
        """The play on show, its jobs so many times as fast."""
        return self.play((SHOWN, ("fifo",), load, "kube"), self.shown)


def test_one_trial_waits_while_another_is_played_and_others_are_told_to_come_again() -> None:
    """What was played before is shown at once, whoever waits."""
    trials = Slow()
    trials.free.set()
    known = trials.timed(3.0)
    trials.free.clear()
    trials.begun.clear()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(trials.timed, 1.0)
        assert trials.begun.wait(SOON)
        second = pool.submit(trials.timed, 2.0)
        until = time.monotonic() + SOON
        while trials._line._value and time.monotonic() < until:  # until the second one waits
            time.sleep(0.001)
        with pytest.raises(Unavailable, match="ask again in a moment"):
            trials.timed(4.0)
        assert trials.timed(3.0) is known
        trials.free.set()
        assert first.result(SOON) is not second.result(SOON)
    assert list(trials.timed(4.0).policies)


def test_a_recorded_trace_is_played_once_whatever_is_on_show(tmp_path: Path) -> None:
    """Only trials of the workload on show are another one's when the scene changes."""
    (tmp_path / "day.parquet").touch()
    played = list[str]()

    class Counted(Trials):
        def _compare(self, trial: Trial, shown: Outcome | None) -> Comparison:
            played.append(trial[0])
            return super()._compare((SHOWN, *trial[1:]), shown or scenes[0])

    trials, scenes = Counted(tmp_path), [outcome(ROWS, usage=True), outcome(ROWS[:2], usage=True)]
    for trace in ("day.parquet", SHOWN):
        for scene in scenes:
            trials.play((trace, ("fifo",), 1.0, "kube"), scene)
    assert played == ["day.parquet", SHOWN, SHOWN]


def test_traces_are_listed_in_each_of_our_formats(tmp_path: Path) -> None:
    """What lies beside them is none."""
    for name in ("a.jsonl.gz", "a.nodes.yaml", "a.happened.json", "b.jsonl", "c.parquet"):
        (tmp_path / name).touch()
    assert Trials(tmp_path).traces() == ["a.jsonl.gz", "b.jsonl", "c.parquet"]


def test_a_trace_whose_library_is_not_installed_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image has no Arrow."""
    (tmp_path / "day.parquet").write_bytes(b"PAR1" + bytes(20))
    monkeypatch.delitem(sys.modules, "slackwater_simulator.workload.readers.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidInput, match="without pyarrow, which is not installed here; export it again"):
        Trials(tmp_path).play(("day.parquet", ("fifo",), 1.0, "kube"))


@pytest.mark.parametrize("name", ["os:getcwd", "fifo?cores=true", "nope"])
@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "in force"])
def test_a_visitor_chooses_among_our_policies_only(name: str, chosen: bool) -> None:
    """No address of the page loads a module, or makes a trial longer by an option."""
    trial = (SHOWN, (name,), 1.0, "kube") if chosen else (SHOWN, ("fifo",), 1.0, name)
    with pytest.raises(UnknownName):
        Trials(None).play(trial, outcome(ROWS))
