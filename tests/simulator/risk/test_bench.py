"""Judgements on promises, with series of our own making."""

from pathlib import Path

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.risk.bench import ENOUGH, estimators, judge
from slackwater_simulator.risk.frontier import gathered, settings
from slackwater_simulator.risk.machines import Play
from slackwater_simulator.risk.ours import Slackwater
from slackwater_simulator.risk.series import UsageSeries, read

SMALL = Play(machines=6, residents=10, days=3, horizon=6)
NAMES = ["slackwater", "paper-000", "n-sigma", "rc-like", "max-nsigma-rc", "borg-default", "autopilot", "oracle"]


def noisy(series: int = 60, samples: int = 96, seed: int = 0) -> UsageSeries:
    """Levels of their own with noise that remembers, within the request."""
    rng = np.random.default_rng(seed)
    level, steps = rng.uniform(5, 40, (series, 1)), rng.normal(0, 4, (series, samples))
    for step in range(1, samples):
        steps[:, step] += 0.7 * steps[:, step - 1]
    return UsageSeries("noisy", np.clip(level + steps, 0, 100).astype(np.float32))


def test_savings_and_violations_are_what_was_promised() -> None:
    """Constant use of 20: a promise of 30 saves 70 % and holds, one of 15 is always exceeded, by a quarter."""
    constant = UsageSeries("flat memory", np.full((10, 48), 20, np.float32))
    play = Play(machines=2, residents=5, days=2, horizon=4, whole_day=1.0)

    def promise(share: float) -> object:
        return lambda moment: np.full(len(moment.use), share * moment.requests)

    scores = judge(constant, play, {"safe": promise(0.3), "bold": promise(0.15)}, memory=True)  # type: ignore[dict-item]
    safe, bold, oracle = scores
    assert (safe.violation_rate, bold.violation_rate, oracle.violation_rate) == (0.0, 1.0, 0.0)
    assert safe.savings == pytest.approx(0.7)
    assert bold.severity_mean == pytest.approx(0.25)
    assert oracle.savings == pytest.approx(0.8)
    assert safe.oracle_share == pytest.approx(0.7 / 0.8)
    # 25 of 100 too much at 20 each: two tasks of every machine, once per horizon of four of the 48 counted steps.
    assert (safe.lost_tasks, bold.lost_tasks) == (0, 2 * 2 * 12)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("level", [0.0, 33.3])
def test_where_use_never_moves_slackwater_saves_what_the_oracle_saves(memory: bool, level: float) -> None:
    """From the moment on when enough promises were compared, without a violation."""
    constant = UsageSeries("flat", np.full((10, 144), level, np.float32))
    play = Play(machines=16, residents=10, days=2, horizon=12)
    ours, oracle = judge(constant, play, {"ours": estimators(play, 0.01, memory)["slackwater"]}, memory=memory)
    assert ours.violation_rate == 0.0
    assert ours.savings == pytest.approx(oracle.savings, abs=0.001)


@pytest.mark.parametrize(("memory", "lost"), [(True, 2 * 3 * 2), (False, None)])
def test_no_more_tasks_are_lost_than_there_are(memory: bool, lost: int | None) -> None:
    """Tasks that use nothing at noon and all in the evening: two of each machine go, of CPU none is counted."""
    late = UsageSeries("late", np.repeat([[0, 100]], 24, axis=1).repeat(10, axis=0).astype(np.float32))
    play = Play(machines=3, residents=2, days=2, horizon=40, whole_day=1.0, in_step=True)
    bold, oracle = judge(late, play, {"bold": lambda moment: np.zeros(len(moment.use))}, memory=memory)
    assert bold.violation_rate == 1.0
    assert (bold.lost_tasks, oracle.lost_tasks) == (lost, None if lost is None else 0)


@pytest.mark.parametrize(("level", "share"), [(99.0, 0.0), (130.0, 1.0)])
def test_what_requests_alone_overload_is_no_violation_and_counted_apart(level: float, share: float) -> None:
    """Tasks that use 130 of 100: who promises all requests is never wrong, and every promise counts as overloaded."""
    high = UsageSeries("high", np.full((10, 48), level, np.float32))
    play = Play(machines=2, residents=5, days=2, horizon=4)
    scores = judge(high, play, {"all": lambda moment: np.full(len(moment.use), moment.requests)}, memory=False)
    assert [(score.violation_rate, score.overloaded) for score in scores] == [(0.0, share)] * 2


def test_everyone_is_asked_and_the_oracle_is_never_wrong() -> None:
    """Names as documented, in order; nobody saves more than the oracle without violations."""
    scores = judge(noisy(), SMALL, estimators(SMALL, 0.05, memory=False), memory=False)
    assert [score.estimator for score in scores] == NAMES
    oracle = scores[-1]
    assert oracle.violation_rate == 0.0
    assert all(score.savings <= oracle.savings for score in scores if score.violation_rate == 0.0)
    bounds = [(score.violation_low, score.violation_high) for score in scores]
    assert all(low is not None and high is not None for low, high in bounds)
    assert all(low <= score.violation_rate <= high for (low, high), score in zip(bounds, scores, strict=True))  # type: ignore[operator]
    assert all(score.lost_tasks is None for score in scores)


@pytest.mark.parametrize(("machines", "told"), [(1, False), (ENOUGH - 1, False), (ENOUGH, True)])
def test_of_few_machines_no_interval_is_told(machines: int, told: bool) -> None:
    """A bootstrap over one machine has no width, as if its rate were known exactly."""
    play = Play(machines=machines, residents=10, days=2, horizon=6)
    score, _ = judge(noisy(), play, {"bold": lambda moment: np.zeros(len(moment.use))}, memory=False)
    assert score.violation_rate == 1.0
    assert (score.violation_low is not None) == told
    assert ("–" in score.interval(2, "…")) != told


def test_the_same_bench_gives_the_same_scores() -> None:
    """Seeds decide everything, the bootstrap included."""
    first, second = (judge(noisy(), SMALL, estimators(SMALL, 0.05, memory=True), memory=True) for _ in range(2))
    assert first == second


def test_slackwater_keeps_the_risk_that_was_asked_for() -> None:
    """5 % asked, within a fifth of it kept, and more is saved than by the larger of N-sigma and RC-like."""
    play = Play(machines=60, residents=20, days=8, horizon=12)
    chosen = estimators(play, 0.05, memory=False)
    asked = {name: chosen[name] for name in ("slackwater", "max-nsigma-rc")}
    ours, theirs, _ = judge(noisy(300), play, asked, memory=False)
    assert ours.violation_rate == pytest.approx(0.05, rel=0.2)
    assert ours.savings > theirs.savings


def test_the_page_shows_curves_and_numbers(tmp_path: Path) -> None:
    """One file with figure and table; with .svg the figure alone, the same every time."""
    from slackwater_simulator.risk.page import write  # noqa: PLC0415 - matplotlib, only where it is needed

    curves = settings(SMALL, memory=False)
    asked = estimators(SMALL, 0.05, memory=False)
    flat = {name: peak for group in curves.values() for name, peak in group.items()}
    scores = judge(noisy(), SMALL, asked | flat, memory=False)
    found = gathered(curves, scores)
    page = write(tmp_path / "a" / "risk.html", "noisy", found, scores[: len(asked)]).read_text()
    figures = [write(tmp_path / f"{n}.svg", "noisy", found, scores).read_text() for n in range(2)]
    assert page.count("<svg") == 1
    assert all(f"slackwater {risk}%" in page for risk in ("0.001", "0.1", "1", "20"))
    assert figures[0] == figures[1]
    assert found[0].label == "slackwater"


RUNS = "id,submit_s,duration_s,samples_pct_of_16_cores_30s_rle\n"


def test_broken_files_are_refused_by_line(tmp_path: Path) -> None:
    """With what to write instead."""
    path = tmp_path / "series.csv"
    for text, problem in (
        ("1,2\n3,x\n", "line 2: 'x' is not a number; write percentages between commas"),
        (";".join(["12.5"] * 288), "line 1: '12.5;12.5;12.5;12.5;…' is not a number"),
        ("1,2\n3\n", "line 2 has 1"),
        ("\n\n1,2\n\n3\n", "line 5 has 1"),
        ("1,2\n3,1e39\n", "line 2: a sample is not a number from 0 to 1e\\+09"),
        (f"{RUNS}1,0,60,nanx2\n", "line 2"),
        (
            f"{RUNS}1,0,60,50x99999999999\n",
            "line 2: a run of 99999999999 samples; write id,submit",
        ),
        (f"{RUNS}1,0,60,50x-3\n", "line 2: a run of -3 samples"),
        (f"{RUNS}1,0,60,{'50x1000000 ' * 2}\n", "line 2: 2000000 samples"),
        (f"{RUNS}\n1,0,60\n", "line 3: 3 fields; write id,submit,duration,VALUExCOUNT"),
        (f"{RUNS}1,0,60,50xmany\n", "line 2: '50xmany' is no run of samples"),
        ("1,-2\n", "line 1"),
        ("1,nan\n", "line 1"),
        ("", "too few"),
        ("1,2\n3,4\n", "too few"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput, match=problem):
            read(path)
    with pytest.raises(InvalidInput, match=r"series: .*absent.csv' cannot be read"):
        read(tmp_path / "absent.csv")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Spreadsheets write one before the first line."""
    path = tmp_path / "series.csv"
    path.write_text("1,2,3,4,5,6,7,8,9,10\n" * 10, encoding="utf-8-sig")
    assert read(path).samples[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_run_lengths_become_five_minutes(tmp_path: Path) -> None:
    """The SURF week: jobs of at least a day, ten samples of 30 s a mean."""
    path = tmp_path / "surf.csv"
    line = "1,0,86400,10x5 30x5 20x2875\n"
    path.write_text(f"{RUNS}{line * 10}\n2,0,60,6x2\n\n")
    found = read(path).samples
    assert found.shape == (10, 288)
    assert found[0, :2].tolist() == [20.0, 20.0]


@pytest.mark.parametrize("name", ["planetlab-20110309", "google-2011-cpu", "google-2011-memory"])
def test_real_series_keep_the_risk(traces: Path, name: str) -> None:
    """5 % asked: the realised rate is within a fifth of it, and nobody who saves as much violates less."""
    path = traces / "usage-series" / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{name} is not among the traces here")
    play = Play(machines=16, days=4)
    chosen = estimators(play, 0.05, memory="memory" in name)
    asked = {key: chosen[key] for key in ("slackwater", "paper-000", "max-nsigma-rc", "autopilot")}
    ours, *others, _ = judge(read(path), play, asked, memory=False)
    assert ours.violation_rate == pytest.approx(0.05, rel=0.2)
    assert all(other.savings < ours.savings or other.violation_rate > 2 * ours.violation_rate for other in others)


@pytest.mark.parametrize(("name", "first", "seed"), [("20110309", 1, 102), ("20110309", 0, 1), ("20110303", 1, 102)])
def test_short_plays_of_real_series_keep_a_small_risk(traces: Path, name: str, first: int, seed: int) -> None:
    """1 % asked, every second line, three days that count: within a fifth. A score every half hour was too few."""
    path = traces / "usage-series" / f"planetlab-{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{name} is not among the traces here")
    play, half = Play(machines=60, days=4, seed=seed), UsageSeries(name, read(path).samples[first::2])
    ours, _ = judge(half, play, {"slackwater": Slackwater(0.01, play.horizon, memory=False).peak}, memory=False)
    assert ours.violation_rate == pytest.approx(0.01, rel=0.2)
