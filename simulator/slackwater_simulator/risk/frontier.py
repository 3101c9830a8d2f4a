"""Savings over violations: every estimator at several settings of its parameter, as a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from slackwater_simulator.risk.bench import Peak, Score
from slackwater_simulator.risk.machines import Play
from slackwater_simulator.risk.ours import Slackwater
from slackwater_simulator.risk.published import PERCENTILE, SIGMAS, WARM_UP, n_sigma, rc_like

# From where nothing is exceeded any more, as with the published settings: there they are compared by savings.
RISKS = (0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.2)
# Settings by warm-up, in samples: N, percentiles, and pairs of them. N = 5 with p99 is what the paper simulates, N = 3
# with p80 what Google put into production. Without a warm-up a task counts by its own use from its first sample.
SWEEPS: dict[str, tuple[int, tuple[float, ...], tuple[float, ...], tuple[tuple[float, float], ...]]] = {
    "2 h": (WARM_UP, (2.0, SIGMAS), (80.0, PERCENTILE), ((3.0, 80.0), (SIGMAS, PERCENTILE))),
    "none": (1, (1.0, 2.0, 3.0, SIGMAS), (50.0, 80.0, PERCENTILE), ((1.0, 50.0), (3.0, 80.0), (SIGMAS, PERCENTILE))),
}


@dataclass(frozen=True, slots=True)
class Curve:
    """One estimator along its parameter."""

    label: str
    scores: tuple[Score, ...]


def settings(play: Play, *, memory: bool) -> dict[str, dict[str, Peak]]:
    """Curves by label: the settings of each, by name."""
    curves: dict[str, dict[str, Peak]] = {
        "slackwater": {
            f"slackwater {100 * risk:g}%": Slackwater(risk, play.horizon, memory=memory).peak for risk in RISKS
        }
    }
    for label, (samples, sigmas, cuts, pairs) in SWEEPS.items():
        behind = f", warm-up {label}"
        curves[f"n-sigma{behind}"] = {
            f"n-sigma {n:g}{behind}": partial(n_sigma, sigmas=n, warm_up=samples) for n in sigmas
        }
        curves[f"rc-like{behind}"] = {
            f"rc-like p{k:g}{behind}": partial(rc_like, percentile=k, warm_up=samples) for k in cuts
        }
        curves[f"max{behind}"] = {f"max N={n:g} p{k:g}{behind}": _larger(n, k, samples) for n, k in pairs}
    return curves


def _larger(sigmas: float, percentile: float, warm_up: int) -> Peak:
    return lambda moment: np.maximum(
        n_sigma(moment, sigmas=sigmas, warm_up=warm_up), rc_like(moment, percentile=percentile, warm_up=warm_up)
    )


def gathered(curves: dict[str, dict[str, Peak]], scores: Sequence[Score]) -> list[Curve]:
    """The scores of all settings, put back into their curves."""
    found = {score.estimator: score for score in scores}
    return [Curve(label, tuple(found[name] for name in names)) for label, names in curves.items()]
