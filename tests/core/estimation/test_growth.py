"""Whether pods that have settled can be believed, learned from those that have ended."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.estimation.growth import ENDED, Growth

CPU, MEMORY = 0, 1
POD = np.array([0])
PLENTY = np.full((2, 1), np.inf)  # declared


def live(growth: Growth, first: float, last: float) -> tuple[list[float], list[float]]:
    """A pod that tells when it uses `first` of both kinds and ends with `last`: what it tells before and at its end."""
    growth.reset(0)
    for age in (5.0, 10.0):
        growth.watch(POD, np.full((2, 1), first), np.array([age]))
    told = growth.take_peaks(POD, PLENTY)[1][0].tolist()
    growth.note(POD, np.full((2, 1), last), np.array([60.0]))
    growth.end(0)
    again = growth.take_peaks(POD, PLENTY, ended=True)
    return told, [*again[1].ravel().tolist(), *again[2].ravel().tolist()]


def test_steady_pods_are_believed() -> None:
    """What they tell counts once, and they have nothing to add when they end."""
    growth = Growth([False, True])
    assert [live(growth, 2.0, 2.0) for _ in range(ENDED)][-1] == ([2.0, 2.0], [])
    assert growth.factors.tolist() == [[1.0], [1.0]]


def test_pods_that_outgrew_what_they_told_speak_for_those_to_come() -> None:
    """Memory that came to 2.5 times what was told counts so from the fourth pod on; CPU ends nobody and counts once."""
    growth = Growth([False, True])
    told = [live(growth, 2.0, 5.0)[0] for _ in range(6)]
    assert told[3] == [2.0, 2.0]
    assert told[5] == [2.0, 5.0]


def test_a_pod_that_outgrew_what_it_told_tells_again_when_it_ends() -> None:
    """With the age at which it came there."""
    assert live(Growth([False, True]), 2.0, 5.0)[1] == [5.0, 5.0, 60.0, 60.0]


def test_what_was_outgrown_long_ago_is_forgotten() -> None:
    """Sixty-four steady pods later."""
    growth = Growth([False, True])
    for last in [9.0] * 10 + [2.0] * ENDED:
        live(growth, 2.0, last)
    assert growth.factors.max() == 1.0


@pytest.mark.parametrize(("use", "expected"), [(2.0, 5.0), (6.0, 6.0)])
def test_a_settled_pod_counts_what_others_came_to(use: float, expected: float) -> None:
    """Its own peak, once it is above that."""
    growth = Growth([False, True])
    for _ in range(6):
        live(growth, 2.0, 5.0)
    live(growth, 2.0, 2.0)
    assert growth.settled_peaks(POD, np.full((2, 1), use))[MEMORY, 0] == expected


def test_what_is_only_expected_goes_up_to_what_a_pod_declares() -> None:
    """World 5351: pods that grew sevenfold let steady ones of another app wait for seven times their request."""
    growth = Growth([False, True])
    for _ in range(6):
        live(growth, 1.0, 7.0)
    growth.reset(0)
    growth.watch(POD, np.full((2, 1), 1.0), np.array([5.0]))
    assert growth.take_peaks(POD, np.full((2, 1), 1.5))[1].tolist() == [[1.0, 1.5]]


def test_a_pod_that_was_sampled_as_it_started_has_not_settled() -> None:
    """It has grown for no time, which is no sign that it will not."""
    growth = Growth([False, True])
    growth.reset(0)
    assert growth.watch(POD, np.full((2, 1), 0.1), np.array([0.0])).tolist() == []
    assert growth.watch(POD, np.full((2, 1), 0.1), np.array([5.0])).tolist() == [0]


def test_a_pod_that_uses_none_of_a_kind_was_watched_all_the_same() -> None:
    """Tasks that only wait use no CPU at all: their app counted as unknown, and each was charged what it declares."""
    growth = Growth([False, True])
    growth.reset(0)
    for age in (2.0, 10.0, 20.0):
        growth.watch(POD, np.array([[0.0], [3.0]]), np.array([age]))
    told, peaks, ramps = growth.take_peaks(POD, PLENTY)
    assert told.tolist() == [0]
    assert peaks.tolist() == [[0.0, 3.0]]
    assert ramps.tolist() == [[2.0, 2.0]]
