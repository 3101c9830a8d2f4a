"""Plays all estimators on the same machines at the same time, and judges what each of them promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.risk.machines import REQUEST, Machines, Moment, Play, Truth
from slackwater_simulator.risk.ours import PaperEstimate, Slackwater
from slackwater_simulator.risk.published import Autopilot, borg_default, n_sigma, rc_like
from slackwater_simulator.risk.series import UsageSeries

Floats = NDArray[np.float64]
Peak = Callable[[Moment], Floats]

RESAMPLES = 1000  # of the bootstrap over machines
ENOUGH = 5  # machines without which it tells nothing: of one machine every resample is the same
CLOSE = 1e-6  # of a request; float32 samples do not add up exactly


@dataclass(frozen=True, slots=True)
class Score:
    """What became of an estimator's promises, over all counted steps of all machines."""

    estimator: str
    violation_rate: float  # share of promises whose peak was exceeded within the horizon
    violation_low: float | None  # 95 % bootstrap interval of it over machines; None: they are too few
    violation_high: float | None
    severity_mean: float  # (peak − promise) / peak, over the promises that were exceeded
    severity_p99: float
    savings: float  # Σ (requests − promise) / Σ requests
    oracle_share: float  # savings over those of the oracle
    lost_tasks: int | None  # memory: tasks that had to go, one promise per horizon; None for CPU
    overloaded: float  # share of promises whose tasks came to use more than Σ requests: what is above is no violation

    def interval(self, digits: int, to: str) -> str:
        """The interval in percent; a dash where machines are too few for one."""
        if self.violation_low is None or self.violation_high is None:
            return "–"
        return f"{self.violation_low:.{digits}%}{to}{self.violation_high:.{digits}%}"


class Tally:
    """Keeps what one estimator promised, step by step."""

    def __init__(self, name: str, peak: Peak, memory: bool, residents: int) -> None:
        self.name, self.memory, self._residents = name, memory, residents
        self.ask = peak
        self._violations: list[NDArray[np.bool_]] = []
        self._severities: list[Floats] = []
        self._promised = 0.0
        self._overloaded = 0
        self._lost = 0

    def count(self, promise: Floats, truth: Truth, refilled: bool) -> None:
        """Compare a promise of every machine with what came; `refilled`: a new horizon of tasks lost begins."""
        missed = truth.peak - promise
        violated = missed > CLOSE * REQUEST
        self._violations.append(violated)
        self._severities.append(missed[violated] / truth.peak[violated])
        self._promised += float(promise.sum())
        self._overloaded += int(truth.overloaded.sum())
        if refilled and self.memory:
            self._lost += self._tasks(missed[violated], truth.mean_use[violated])

    def _tasks(self, missed: Floats, mean_use: Floats) -> int:
        """How many must go so that the rest fits: what is too much over what one uses, of each machine at most all."""
        going = np.ceil(missed / np.maximum(mean_use, CLOSE * REQUEST))
        return int(np.minimum(going, self._residents).sum())

    def score(self, requests: float, oracle: float, rng: np.random.Generator) -> Score:
        """The judgement; `oracle` are the oracle's savings."""
        violations = np.array(self._violations)
        by_machine = violations.mean(axis=0)
        low, high = _interval(by_machine, rng)
        severities = np.concatenate(self._severities)
        savings = 1.0 - self._promised / (requests * violations.size)
        return Score(
            self.name,
            float(by_machine.mean()),
            low,
            high,
            float(severities.mean()) if len(severities) else 0.0,
            float(np.quantile(severities, 0.99)) if len(severities) else 0.0,
            savings,
            savings / oracle if oracle > 0 else 0.0,
            self._lost if self.memory else None,
            self._overloaded / violations.size,
        )


def _interval(by_machine: Floats, rng: np.random.Generator) -> tuple[float | None, float | None]:
    """Where 95 % of the means over machines drawn anew lie."""
    if len(by_machine) < ENOUGH:
        return None, None
    drawn = rng.integers(len(by_machine), size=(RESAMPLES, len(by_machine)))
    low, high = np.quantile(by_machine[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    return low, high


def estimators(play: Play, risk: float, memory: bool) -> dict[str, Peak]:
    """Everyone on the bench, by name; the oracle is told the truth and comes last."""
    return {
        "slackwater": Slackwater(risk, play.horizon, memory=memory).peak,
        "paper-000": PaperEstimate(play.machines, play.residents, REQUEST).peak,
        "n-sigma": n_sigma,
        "rc-like": rc_like,
        "max-nsigma-rc": lambda moment: np.maximum(n_sigma(moment), rc_like(moment)),
        "borg-default": borg_default,
        "autopilot": Autopilot(memory).peak,
    }


def judge(
    series: UsageSeries,
    play: Play,
    asked: Mapping[str, Peak],
    *,
    memory: bool,
    tick: Callable[[float], None] | None = None,
) -> list[Score]:
    """Play the days, and score everyone in the order given, the oracle behind them. `tick` is told the share done."""
    machines = Machines(series, play)
    tallies = [Tally(name, peak, memory, play.residents) for name, peak in asked.items()]
    oracle = Tally("oracle", lambda moment: np.zeros(len(moment.use)), memory, play.residents)
    requests = REQUEST * play.residents
    saved = counted = 0.0
    for step in range(machines.steps):
        moment = machines.advance(step)
        truth = machines.truth() if step >= machines.warm_up else None
        refilled = (step - machines.warm_up) % play.horizon == 0
        for tally in tallies:
            promise = np.clip(tally.ask(moment), 0.0, requests)
            if truth is not None:
                tally.count(promise, truth, refilled)
        if truth is not None:
            oracle.count(truth.peak, truth, refilled)
            saved += float((requests - truth.peak).sum())
            counted += requests * len(truth.peak)
        if tick is not None:
            tick((step + 1) / machines.steps)
    rng = np.random.default_rng(play.seed)
    return [tally.score(requests, saved / counted, rng) for tally in (*tallies, oracle)]
