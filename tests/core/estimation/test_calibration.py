"""Scores, the factor read off them, and promises that wait for their horizon."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.errors import BadNumber
from slackwater.estimation.calibration import (
    ENOUGH,
    EVERY,
    MACHINES,
    NARROWEST,
    NOTHING_CAME,
    SCORES,
    SPAN,
    Calibration,
    Kept,
    MachineTypes,
    Promise,
    Promises,
    sufficient,
    tail_quantile,
)
from slackwater.estimation.risk import Outlook

KEPT = np.zeros(ENOUGH, np.bool_)


def promise(at: float, peak: float = 5.0, requests: float = 100.0, used: float = 0.0, nodes: int = 1) -> Promise:
    """A promise for one node, or some alike, with centre 4 and spread 2."""
    expected = Outlook(np.full(nodes, 4.0), np.full(nodes, 2.0))
    return Promise(at, expected, np.full(nodes, peak), np.full(nodes, requests), np.full(nodes, used))


def watching(nodes: int, horizon: float = 60.0) -> Promises:
    """No promise yet for so many nodes, of which all were seen at 0."""
    promises = Promises(horizon, every=10.0, after=0.0)
    for _ in range(nodes):
        promises.add_node()
    promises.lose(np.zeros(nodes, np.bool_), 0.0, np.zeros(nodes))
    return promises


def test_what_suffices_is_a_value_that_was_seen() -> None:
    """Ninety-nine windows 1 to 99: 95 suffices for 95 % of the time; of three windows only the largest does."""
    assert sufficient(np.arange(1.0, 100.0), [0.5, 0.95, 1.0]).tolist() == [50.0, 95.0, 99.0]
    assert sufficient(np.array([3.0, 1.0, 2.0]), [0.95, 0.25]).tolist() == [3.0, 1.0]


def test_what_suffices_does_so_for_the_next_value_too() -> None:
    """Of a hundred values, the one for 90 % is exceeded by the next in about a tenth of 20,000 cases."""
    draws = np.random.default_rng(0).normal(size=(20_000, 101))
    bounds = np.array([sufficient(row[:-1], [0.9])[0] for row in draws])
    assert (draws[:, -1] > bounds).mean() == pytest.approx(0.1, abs=0.01)


def test_the_quantile_is_read_off_where_enough_scores_lie_above() -> None:
    """1 to 1,000 at 5 %: rank ⌈0.95 × 1,001⌉ = 951."""
    assert tail_quantile(np.arange(1.0, 1001.0), 0.05) == 951.0


def test_an_exponential_tail_goes_on_where_scores_end() -> None:
    """100,000 draws of an exponential: beyond all that 200 of them showed, −ln(risk) is found within a sixth."""
    draws = np.random.default_rng(0).exponential(size=(200, 500))
    found = np.mean([tail_quantile(each, 0.0005) for each in draws])
    assert found == pytest.approx(-np.log(0.0005), rel=1 / 6)


def test_promises_that_were_never_tested_are_no_part_of_the_tail() -> None:
    """Of 1,000 promises 20 were tested, with scores 1 to 20: the tail begins at 1 and has a mean excess of 9.5."""
    scores = np.append(np.full(980, NOTHING_CAME), np.arange(1.0, 21.0))
    assert tail_quantile(scores, 0.03) == NOTHING_CAME
    assert tail_quantile(scores, 0.002) == pytest.approx(1.0 + 9.5 * np.log(0.02 / 0.002))


@pytest.mark.parametrize(("later", "score", "exceeded"), [(4.9, NOTHING_CAME, False), (6.0, 1.0, True)])
def test_a_promise_above_which_nothing_came_holds_nothing_against_z(later: float, score: float, exceeded: bool) -> None:
    """Centre 4, spread 2, and 5 used when it was made, so 5 were promised. Without that floor 4.9 would score 0.45."""
    made = replace(promise(0.0, peak=5.0, used=5.0), excused=np.array([5.0]))
    watched = Promises(horizon=100.0, after=0.0)
    watched.put(made)
    over = watched.watch(100.0, np.array([later]), np.array([0]))
    judged = over[0].judged()
    assert (judged.scores.tolist(), judged.exceeded.tolist()) == ([score], [exceeded])


def test_a_young_class_promises_only_the_requests() -> None:
    """An infinite factor, until enough was compared."""
    calibration = Calibration(0.01)
    assert calibration.factor == np.inf
    calibration.learn(np.ones(ENOUGH - 1), KEPT[1:])
    assert calibration.factor == np.inf
    calibration.learn(np.ones(1), KEPT[:1])
    assert calibration.factor == 1.0


def test_many_nodes_at_one_moment_are_one_promise() -> None:
    """Where three promises are asked for, two of a thousand nodes are too few."""
    calibration = Calibration(0.01, least=3)
    for young in (True, True, False):
        calibration.learn(np.ones(1000), np.zeros(1000, np.bool_))
        assert calibration.young == young


def test_the_margin_widens_while_more_is_exceeded_than_asked() -> None:
    """The probability asked for shrinks, z grows, and neither without a bound."""
    scores = np.random.default_rng(0).normal(size=2000)
    kept, broken = Calibration(0.05, overlap=12.0), Calibration(0.05, overlap=12.0)
    kept.learn(scores, np.zeros(2000, np.bool_))
    broken.learn(scores, np.arange(2000) < 200)
    assert broken.kept.realised == 0.1
    assert NARROWEST * 0.05 <= broken.asked < kept.asked
    assert broken.factor > kept.factor


def test_the_margin_widens_on_machines_whose_promises_are_exceeded() -> None:
    """Small machines break their promises, large ones keep theirs: all together look as if all was well."""
    scores = np.random.default_rng(0).normal(size=2000)
    machines = MachineTypes.of(["small"] * 200 + ["large"] * 1800)
    exceeded = np.arange(2000) < 60
    calibration = Calibration(0.05, overlap=1.0)
    calibration.learn(scores, exceeded, machines)
    assert calibration.kept.realised == 0.03
    assert {name: kept.realised for name, kept in calibration.machines.items()} == {"large": 0.0, "small": 0.3}
    assert calibration.factor_of("small") > calibration.factor_of("large") == calibration.factor_of("not seen yet")
    of_nodes = calibration.factors(MachineTypes.of(["small", "not seen yet", "large"]))
    assert of_nodes.tolist() == [calibration.factor_of(name) for name in ("small", "not seen yet", "large")]


def test_types_of_machines_are_bounded() -> None:
    """Whoever labels nodes may make as many as they like."""
    calibration = Calibration(0.05)
    names = [f"type-{number}" for number in range(3 * MACHINES)] + [""]
    calibration.learn(np.zeros(len(names)), np.zeros(len(names), np.bool_), MachineTypes.of(names))
    assert len(calibration.machines) == MACHINES
    assert "" not in calibration.machines


def test_a_type_of_machine_that_has_left_fades_away() -> None:
    """Its realised rate is no longer shown, and its place is free."""
    calibration = Calibration(0.05)
    both, new = MachineTypes.of(["old"] * 20 + ["new"] * 20), MachineTypes.of(["new"] * 20)
    calibration.learn(np.zeros(40), np.arange(40) < 8, both)
    for _ in range(9):
        calibration.learn(np.zeros(40), np.zeros(40, np.bool_), both)
    assert list(calibration.machines) == ["new", "old"]
    for _ in range(300):
        calibration.learn(np.zeros(20), np.zeros(20, np.bool_), new)
    assert list(calibration.machines) == ["new"]


def test_a_new_type_of_machine_is_told_apart_from_those_that_were() -> None:
    """As many types as are told apart have left, one after the other; all nodes are of another one now."""
    calibration = Calibration(0.05)
    for number in range(MACHINES):
        calibration.learn(np.zeros(200), np.zeros(200, np.bool_), MachineTypes.of([f"type-{number}"] * 200))
    calibration.learn(np.zeros(10), np.ones(10, np.bool_), MachineTypes.of(["today"] * 10))
    assert calibration.machines["today"].realised == 1.0
    assert len(calibration.machines) == MACHINES


def test_a_risk_that_no_memory_can_show_is_halved() -> None:
    """40,000 scores hold 40 beyond one in a thousand, and 400 beyond one in a hundred."""
    scores = np.zeros(SCORES)
    rare, usual = Calibration(0.001, overlap=1.0), Calibration(0.01, overlap=1.0)
    for each in (rare, usual):
        each.learn(scores, np.zeros(1, np.bool_))
    assert 0.00045 < rare.asked < 0.0005
    assert 0.0095 < usual.asked < 0.01


@pytest.mark.parametrize(("days", "asked"), [(0.25, 0.00929), (1, 0.00955), (4, 0.009757)])
def test_a_tenth_of_a_standard_error_is_taken_off_the_risk(days: float, asked: float) -> None:
    """Of 100 machines every quarter of an hour, 24 promises telling one story: a day shows four violations at 1 %.

    Their number is uncertain by two in four, a half of the rate; with one more to be safe, 1 / √5.
    """
    calibration = Calibration(0.01, overlap=24.0)
    calibration.learn(np.zeros(int(9600 * days)), np.zeros(int(9600 * days), np.bool_))
    assert calibration.asked == pytest.approx(asked, abs=5e-6)


def test_old_scores_make_way() -> None:
    """Memory is bounded, and a class that has changed is followed."""
    calibration = Calibration(0.05)
    for value in [1.0] * 10 + [9.0] * 10:
        calibration.learn(np.full(SCORES // 10, value), np.zeros(1, np.bool_))
    assert calibration.count == SCORES
    assert calibration.factor == 9.0


@pytest.mark.parametrize(("nodes", "every"), [(5000, 50.0), (120, 50.0), (12, 50.0), (120, EVERY)])
def test_scores_reach_back_a_day_whatever_the_number_of_nodes(nodes: int, every: float) -> None:
    """Of promises made every 50 s for 5,000 nodes some are kept of each, and as many of the first as of the last."""
    calibration = Calibration(0.01, every=every)
    promises = int(1.5 * max(SPAN / every, SCORES / nodes))
    for number in range(promises):
        calibration.learn(np.full(nodes, float(number)), np.zeros(nodes, np.bool_))
    first = calibration.scores.min()
    assert (promises - first) * every >= min(SPAN, SCORES / nodes * every)
    assert SCORES / 2 <= calibration.count < SCORES + nodes
    _, counts = np.unique(calibration.scores, return_counts=True)
    assert counts.max() <= 1.5 * counts.min()


def test_scores_of_all_nodes_are_kept_by_turns() -> None:
    """Where some of a promise's scores are kept, they are other nodes' with each promise."""
    calibration = Calibration(0.01, every=50.0)
    for _ in range(2000):
        calibration.learn(np.arange(1000.0), np.zeros(1000, np.bool_))
    assert len(np.unique(calibration.scores)) == 1000


def test_what_was_exceeded_counts_half_after_a_day_however_often_promises_are_made() -> None:
    """Every quarter of an hour, or every 50 s."""
    for every in (EVERY, 50.0):
        calibration = Calibration(0.05, every=every)
        calibration.learn(np.zeros(1000), np.ones(1000, np.bool_))
        for _ in range(int(86_400 / every)):
            calibration.learn(np.zeros(1), np.zeros(1, np.bool_))
        assert calibration.kept.exceeded == pytest.approx(500, rel=0.03)


def test_restored_scores_make_way_one_after_the_other() -> None:
    """Not all at once when the last of them does."""
    calibration = Calibration(0.05)
    calibration.restore(np.zeros(SCORES), Kept(), {})
    for _ in range(24):
        calibration.learn(np.ones(SCORES // 96), np.zeros(1, np.bool_))
    assert calibration.count == pytest.approx(SCORES, rel=0.05)
    assert calibration.scores.mean() == pytest.approx(0.25, rel=0.1)


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.1, float("nan")])
def test_a_risk_is_a_probability(risk: float) -> None:
    """Anything else is refused with what to write instead."""
    with pytest.raises(BadNumber, match="1%"):
        Calibration(risk)


def test_a_promise_is_about_the_pods_that_were_there() -> None:
    """Node 0 has pods since 0 and since 50; the promise of 10 knows the first alone. Use 6 then 3: peak 6, score 1."""
    promises = Promises(horizon=100.0, every=30.0, after=0.0)
    promises.put(promise(10.0))
    home, since = np.array([0, 0]), np.array([0.0, 50.0])
    assert promises.watch(60.0, np.array([6.0, 90.0]), promises.places(home, since)) == []
    (over,) = promises.watch(110.0, np.array([3.0, 90.0]), promises.places(home, since))
    scores, exceeded, _ = over.judged()
    assert scores.tolist() == [1.0]
    assert exceeded.tolist() == [True]


def test_promises_are_put_aside_now_and_then() -> None:
    """One every 30 s; each sees its own pods and ends by itself."""
    promises = Promises(horizon=60.0, every=30.0, after=0.0)
    for at in (0.0, 10.0, 30.0):
        promises.put(promise(at))
    home, since = np.array([0, 0]), np.array([0.0, 20.0])
    (first,) = promises.watch(60.0, np.array([4.0, 2.0]), promises.places(home, since))
    (second,) = promises.watch(90.0, np.array([1.0, 1.0]), promises.places(home, since))
    assert (first.at, first.used.tolist()) == (0.0, [4.0])
    assert (second.at, second.used.tolist()) == (30.0, [6.0])


def test_a_promise_for_a_node_that_was_not_measured_is_not_judged() -> None:
    """Neither that of a node that came later."""
    promises = watching(2)
    promises.put(promise(0.0, nodes=2))
    promises.lose(np.array([True, False]), 10.0, np.array([0.0, 10.0]))
    promises.add_node()
    (over,) = promises.watch(60.0, np.array([6.0, 6.0, 6.0]), promises.places(np.arange(3), np.zeros(3)))
    assert over.judged().rows.tolist() == [1]


@pytest.mark.parametrize(("gaps", "rows"), [((4.0, 2.0), [0, 1]), ((4.0, 3.0), [1])])
def test_a_promise_is_judged_by_what_was_seen_where_no_more_than_a_tenth_of_it_was_missed(
    gaps: tuple[float, float], rows: list[int]
) -> None:
    """Else each time that samples did not come for a few seconds, the promises of a whole horizon came to nothing."""
    promises = watching(2)
    promises.put(promise(0.0, nodes=2))
    for start, seconds in zip((10.0, 30.0), gaps, strict=True):
        promises.lose(np.array([True, False]), start + seconds, np.array([start, start]))
        promises.lose(np.array([False, False]), start + seconds, np.array([start + seconds, start + seconds]))
    (over,) = promises.watch(60.0, np.array([6.0, 6.0]), promises.places(np.arange(2), np.zeros(2)))
    assert over.judged().rows.tolist() == rows


@pytest.mark.parametrize(("looks", "missed"), [((19.0,), 4.0), ((19.0, 20.0), 5.0), ((19.0, 20.0, 26.0), 11.0)])
def test_all_of_a_silence_is_missed_though_it_is_noticed_late(looks: tuple[float, ...], missed: float) -> None:
    """Seen last at 15, too long ago at 19: four seconds are missed already, and then those between two looks."""
    promises = watching(1)
    first, later = promise(0.0), promise(16.0)
    promises.put(first)
    promises.lose(np.array([False]), 15.0, np.array([15.0]))
    promises.put(later)
    for now in looks:
        promises.lose(np.array([True]), now, np.array([15.0]))
    assert first.missed.tolist() == [missed]
    assert later.missed.tolist() == [missed - 1.0]  # made in the midst of it
    assert first.watched.tolist() == [missed <= 6.0]


def test_silences_are_told_apart_when_nodes_come_and_go() -> None:
    """The second of three nodes is silent since 10; the first goes, another comes."""
    promises, made = watching(3, horizon=600.0), promise(0.0, nodes=3)
    promises.put(made)
    promises.lose(np.array([False, True, False]), 20.0, np.array([20.0, 10.0, 20.0]))
    promises.drop_node(0)
    promises.add_node()
    promises.lose(np.array([True, False, True]), 25.0, np.array([10.0, 25.0, -np.inf]))
    assert made.missed.tolist()[:2] == [15.0, 0.0]
    assert made.watched.tolist() == [True, True, False]


def test_what_is_promised_for_a_node_while_nobody_sees_it_is_not_judged() -> None:
    """However soon samples come: what is expected of it rests on none, or on old ones."""
    promises = watching(2)
    promises.lose(np.array([True, False]), 0.0, np.array([-np.inf, 0.0]))
    promises.put(promise(0.0, nodes=2))
    promises.lose(np.array([False, False]), 1.0, np.ones(2))
    (over,) = promises.watch(60.0, np.array([6.0, 6.0]), promises.places(np.arange(2), np.zeros(2)))
    assert over.judged().rows.tolist() == [1]


def test_the_first_promises_are_not_compared() -> None:
    """Nothing is known yet of how much pods vary: the first that counts is made 40 s after the first of all."""
    promises = Promises(horizon=100.0, every=30.0, after=40.0)
    for at in (0.0, 30.0, 60.0):
        promises.put(promise(at))
    use, places = np.array([5.0]), promises.places(np.array([0]), np.array([0.0]))
    assert promises.watch(130.0, use, places) == []
    (only,) = promises.watch(160.0, use, places)
    assert only.at == 60.0


def test_what_was_steady_and_grew_once_has_a_score_of_some_size() -> None:
    """Nothing moved for long, then a twentieth of the requests came: fifty times a thousandth of them, not millions.

    That far below the centre nothing is divided by more than it moved: no promise made later gets bolder by it.
    """
    expected = Outlook(np.full(2, 20.0), np.full(2, 1e-6))
    made = Promise(0.0, expected, np.full(2, 21.0), np.full(2, 100.0), np.array([25.0, 19.0]))
    assert made.judged().scores.tolist() == pytest.approx([50.0, -1e6])


def test_what_never_moves_is_judged_too() -> None:
    """A promise of what is used is kept, whatever the order in which use is added up."""
    expected = Outlook(np.full(2, 0.3), np.zeros(2))
    made = Promise(0.0, expected, np.full(2, 0.3), np.full(2, 1.0), np.array([0.3, 0.1 + 0.2]), np.full(2, 0.3))
    scores, exceeded, rows = made.judged()
    assert (rows.tolist(), exceeded.tolist(), scores.tolist()) == ([0, 1], [False] * 2, [NOTHING_CAME] * 2)


def test_what_exceeds_the_requests_is_not_the_promise_s_fault() -> None:
    """Requests of 10 were promised in full and 15 are used: reservations alone overload that node."""
    scores, exceeded = promise(0.0, peak=10.0, requests=10.0, used=15.0).judged()[:2]
    assert scores.tolist() == [3.0]
    assert not exceeded.any()


def test_with_a_long_horizon_enough_promises_are_kept_to_promise_something() -> None:
    """Fewer than a horizon's lie within a day where it is two days long: as many are kept, and known again."""
    long = Calibration(overlap=12, every=4 * 3600.0, least=12)
    for _ in range(40):
        long.learn(np.linspace(-1.0, 1.0, 5000), np.zeros(5000, np.bool_))
    assert not long.young
    again = Calibration(overlap=12, every=4 * 3600.0, least=12)
    again.restore(long.scores, long.kept, long.machines)
    assert not again.young
