"""What is expected of pods and nodes, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slackwater.estimation.podmatrix import BLOCK
from slackwater.estimation.risk import Outlook, PodLevels, Usual, by_app, outlook, promised, unread_use, usual

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


def test_places_in_a_row_and_one_by_one_are_sampled_alike() -> None:
    """To the last bit: those in a row are written in place."""
    uses = np.random.default_rng(2).random((3, 2, 5))
    row, single = PodLevels.empty(5, kinds=2), PodLevels.empty(5, kinds=2)
    for use in uses:
        row.sample(use[:, 1:4], 300.0, at=slice(1, 4))
        single.sample(use[:, 3:0:-1], 300.0, at=np.array([3, 2, 1]))
    for name in ("seen", "level", "variance"):
        assert np.array_equal(getattr(row, name), getattr(single, name))
    assert (row.seen.tolist(), row.level.all(axis=0).tolist()) == (
        [0, 900, 900, 900, 0],
        [False, True, True, True, False],
    )


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
    assert usual(watched((0.0,)), np.array([1e-200])) == Usual(1.0, 0.0, 0.0)  # its square is 0
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


def test_above_the_centre_a_spread_is_at_least_a_thousandth_of_the_requests() -> None:
    """Requests of 2,000, centre 4 and a spread of 0.5: z = 3 promises 4 + 3 · 2, and z = −3 promises 4 − 3 · 0.5."""
    expected = Outlook(np.full(2, 4.0), np.full(2, 0.5))
    assert promised(expected, np.array([3.0, -3.0]), np.full(2, 2000.0)).tolist() == [10.0, 2.5]


def test_a_promise_is_not_below_what_is_used_already() -> None:
    """Centre 4, spread 2, z = −0.25: 3.5 where 3 are used, 5 where 5 are, and Σ requests where more than those are."""
    expected = Outlook(np.full(3, 4.0), np.full(3, 2.0))
    assert promised(expected, -0.25, np.full(3, 20.0), np.array([3.0, 5.0, 21.0])).tolist() == [3.5, 5.0, 20.0]


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


def many(pods: int) -> tuple[PodLevels, NDArray[np.float64], NDArray[np.intp]]:
    """Pods watched twice, their requests, and the node of each: three on a node."""
    rng = np.random.default_rng(pods)
    levels = PodLevels.empty(pods)
    for _ in range(2):
        levels.sample(rng.random(pods), rng.uniform(1.0, 9.0, pods))
    return levels, rng.uniform(1.0, 2.0, pods), np.arange(pods) // 3


def test_pods_worked_on_in_blocks_are_worked_on_as_one_by_one() -> None:
    """More pods than a block: each has the level, its node the outlook, that it has among few pods."""
    pods, known = 3 * BLOCK, Usual(0.3, 0.01, 0.02)
    levels, request, home = many(pods)
    whole = outlook(levels, request, home, pods // 3, known)
    some = slice(BLOCK - 6, BLOCK + 6)  # four nodes, about a border of blocks; the pods of one lie on both sides
    first = home[some][0]
    part = outlook(levels.take(some), request[some], home[some] - first, 5, known)
    assert part.centre[1:4].tolist() == whole.centre[first + 1 : first + 4].tolist()
    assert part.spread[1:4].tolist() == whole.spread[first + 1 : first + 4].tolist()
    alone = levels.take(some)
    use, dt = np.linspace(0.0, 1.0, pods), np.linspace(1.0, 9.0, pods)
    before = PodLevels(alone.seen.copy(), alone.level.copy(), alone.variance.copy())
    before.sample(use[some], dt[some])
    levels.sample(use, dt)
    assert levels.level[some].tolist() == before.level.tolist()
    assert levels.variance[some].tolist() == before.variance.tolist()


def test_usual_of_many_pods_is_their_weighted_mean() -> None:
    """Added up block by block, or all at once."""
    levels, request, _ = many(2 * BLOCK + 5)
    found, weight, share = usual(levels, request), levels.seen / (levels.seen + HOUR), levels.level / request
    assert found.mean == pytest.approx(np.average(share, weights=weight))
    assert found.variance == pytest.approx(np.average(levels.variance / request**2, weights=weight))
    assert found.between == pytest.approx(np.average((share - found.mean) ** 2, weights=weight))


def test_kinds_are_sampled_together_as_each_by_itself() -> None:
    """Seconds watched are those of the pod; levels are those of each kind."""
    uses = np.array([[2.0, 4.0], [30.0, 10.0]])
    both, apart = PodLevels.empty(2, 2), [PodLevels.empty(2), PodLevels.empty(2)]
    for step in (uses, 2 * uses, uses):
        both.sample(step, 5.0)
        for kind, each in enumerate(apart):
            each.sample(step[kind], 5.0)
    for kind, each in enumerate(apart):
        assert both.of(kind).level.tolist() == each.level.tolist()
        assert both.of(kind).variance.tolist() == each.variance.tolist()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40))
def test_groups_are_those_of_equal_labels(pods: list[tuple[int, int]]) -> None:
    """In the order of nodes and apps, as `np.unique` numbers them; pods without an app come first, each alone."""
    home, apps = np.array(pods, np.intp).reshape(-1, 2).T
    label = np.where(apps == 0, -1 - np.arange(len(apps)), home * (apps.max(initial=0) + 1) + apps)
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    found = by_app(home, apps)
    assert found.group.tolist() == group.tolist()
    assert found.home.tolist() == home[first].tolist()


def test_pods_without_a_reading_use_what_they_want_or_a_part_of_what_is_left() -> None:
    """On the first node 3 of the 6 wanted are left, on the second one more than enough, on the third one nothing."""
    found = unread_use(np.array([4.0, 2.0, 5.0, 1.0]), np.array([0, 0, 1, 2]), np.array([3.0, 9.0, -1.0, 7.0]))
    assert found.tolist() == [2.0, 1.0, 5.0, 0.0]
