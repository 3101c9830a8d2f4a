"""What is expected of pods and nodes, worked by hand."""

import numpy as np
import pytest

from slackwater.estimation.risk import Outlook, PodLevels, Usual, by_app, outlook, promised, usual

HOUR = 3600.0


def watched(*uses: tuple[float, ...], dt: float = 300.0) -> PodLevels:
    """Pods that showed these uses, one tuple per sample."""
    levels = PodLevels.empty(len(uses[0]))
    for use in uses:
        levels.sample(np.array(use), dt)
    return levels


def test_the_first_samples_count_alike() -> None:
    """Mean and variance of 2, 4, 6: 4 and 8/3."""
    levels = watched((2.0,), (4.0,), (6.0,))
    assert levels.level[0] == pytest.approx(4.0)
    assert levels.variance[0] == pytest.approx(8 / 3)
    assert levels.seen[0] == 900.0


def test_later_samples_weigh_by_their_half_life() -> None:
    """A pod watched for long at 0 that uses 8 for one half-life is believed to use 4."""
    levels = watched(*[(0.0,)] * 1000, (8.0,), dt=HOUR)
    assert levels.level[0] == pytest.approx(4.0)


def test_another_pod_in_the_same_place_starts_from_nothing() -> None:
    """Forgetting touches only that place."""
    levels = watched((2.0, 3.0))
    levels.forget(np.array([True, False]))
    assert levels.seen.tolist() == [0.0, 300.0]
    assert levels.level.tolist() == [0.0, 3.0]


def test_usual_is_a_share_of_the_request() -> None:
    """Pods that use half and a quarter of what they ask for, watched equally long: three eighths, between them 1/64."""
    levels = watched((1.0, 1.0))
    found = usual(levels, np.array([2.0, 4.0]))
    assert found.mean == pytest.approx(0.375)
    assert found.variance == 0.0
    assert found.between == pytest.approx(1 / 64)


def test_pods_that_ask_for_nothing_say_nothing_about_requests() -> None:
    """And where nobody has been watched, a pod is expected to use all it asks for."""
    assert usual(watched((1.0,)), np.array([0.0])) == Usual(1.0, 0.0, 0.0)
    assert usual(PodLevels.empty(0), np.zeros(0)) == Usual(1.0, 0.0, 0.0)


def test_an_unseen_pod_is_expected_by_its_request() -> None:
    """Request 10, usually 30 % of it, variance 0.01 within and 0.04 between: 3 ± √(0.05 × 100)."""
    found = outlook(PodLevels.empty(1), np.array([10.0]), np.array([0]), 1, Usual(0.3, 0.01, 0.04))
    assert found.centre[0] == pytest.approx(3.0)
    assert found.spread[0] == pytest.approx(np.sqrt(5.0))


def test_a_pod_watched_for_an_hour_is_half_its_own() -> None:
    """TRUST is an hour: (its 8 + usual 4) / 2."""
    levels = watched(*[(8.0,)] * 12)
    found = outlook(levels, np.array([10.0]), np.array([0]), 1, Usual(0.4, 0.0, 0.0))
    assert found.centre[0] == pytest.approx(6.0)


def test_where_pods_differ_more_than_they_change_their_own_use_counts_at_once() -> None:
    """Variance within a pod 1, between pods 9: k is 400 s, so after 1,200 s it is (3 × its 8 + usual 4) / 4."""
    levels = watched((8.0,), dt=1200.0)
    found = outlook(levels, np.array([10.0]), np.array([0]), 1, Usual(0.4, 0.01, 0.09))
    assert found.centre[0] == pytest.approx((3 * 8.0 + 4.0) / 4)
    assert found.spread[0] == pytest.approx(np.sqrt(0.75 * 1.0 + 0.25 * 9.0))


def test_an_unseen_pod_counts_by_what_is_usual_however_steady_pods_are() -> None:
    """No variance within pods at all: the one that was never seen is still expected to use its usual share."""
    found = outlook(PodLevels.empty(1), np.array([10.0]), np.array([0]), 1, Usual(0.4, 0.0, 0.09))
    assert found.centre[0] == pytest.approx(4.0)
    assert found.spread[0] == pytest.approx(3.0)


def test_a_known_app_replaces_what_is_usual() -> None:
    """Pod 0's app is known to use 2 with a variance of 9; pod 1 counts by its request."""
    prior = np.array([2.0, np.nan]), np.array([9.0, np.nan])
    found = outlook(PodLevels.empty(2), np.array([10.0, 10.0]), np.array([0, 1]), 2, Usual(0.5, 0.0, 0.0), prior)
    assert found.centre.tolist() == [2.0, 5.0]
    assert found.spread.tolist() == [3.0, 0.0]


def test_nodes_add_up_their_own_pods() -> None:
    """Centres add, spreads add as variances; a node without pods expects nothing."""
    home = np.array([0, 0, 2])
    found = outlook(PodLevels.empty(3), np.full(3, 10.0), home, 3, Usual(0.5, 0.09, 0.0))
    assert found.centre.tolist() == [10.0, 0.0, 5.0]
    assert found.spread.tolist() == pytest.approx([np.sqrt(18.0), 0.0, 3.0])


def test_a_promise_never_leaves_the_requests() -> None:
    """Centre 4, spread 2: with z = 1.5 it is 7; it stays within 0 and Σ requests."""
    expected = Outlook(np.array([4.0]), np.array([2.0]))
    assert promised(expected, 1.5, np.array([20.0])).tolist() == [7.0]
    assert promised(expected, np.inf, np.array([20.0])).tolist() == [20.0]
    assert promised(Outlook(np.zeros(1), np.zeros(1)), np.inf, np.array([20.0])).tolist() == [20.0]
    assert promised(expected, -5.0, np.array([20.0])).tolist() == [0.0]


def test_pods_of_one_app_rise_together() -> None:
    """Nodes of four pods with deviation 2 each: of one app 8, of four apps or of none 4."""
    home, apps = np.repeat([0, 1, 2], 4), np.array([7, 7, 7, 7, 1, 2, 3, 4, 0, 0, 0, 0])
    known, request = Usual(0.5, 0.0, 0.04), np.full(12, 10.0)
    found = outlook(PodLevels.empty(12), request, home, 3, known, together=by_app(home, apps))
    assert found.spread.tolist() == pytest.approx([8.0, 4.0, 4.0])
    assert found.centre.tolist() == pytest.approx([20.0, 20.0, 20.0])


def test_an_app_on_two_nodes_rises_on_each_by_itself() -> None:
    """One app, two pods here and two there: groups of two."""
    together = by_app(np.array([0, 1, 0, 1]), np.array([5, 5, 5, 5]))
    assert together.home.tolist() == [0, 1]
    assert together.group.tolist() == [0, 1, 0, 1]


def test_no_pods_are_no_groups() -> None:
    """An empty cluster has nothing to add up."""
    assert len(by_app(np.zeros(0, np.intp), np.zeros(0, np.intp)).home) == 0
