"""What is learned about the pods of an app."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slackwater.errors import BadNumber
from slackwater.estimation.growth import OLD, Growth
from slackwater.estimation.peaks import ENOUGH, MARGIN, NO_APP, PODS, Peaks

PLENTY = np.full((1, 1), np.inf)  # declared


def watch(growth: Growth, curve: list[tuple[float, float]]) -> list[int]:
    """Show one pod's use at its ages; return at which points it had settled."""
    growth.reset(0)
    return [
        step
        for step, (age, use) in enumerate(curve)
        if growth.watch(np.array([0]), np.array([[use]]), np.array([age])).size
    ]


def teach(peaks: Peaks, app: int, peak: float, ramp: float) -> None:
    """One pod of one kind."""
    peaks.learn(np.array([app]), np.array([[peak]]), np.array([[ramp]]))


@pytest.mark.parametrize(
    ("curve", "peak", "ramp"),
    [
        ([(5.0, 1.0), (10.0, 3.5), (15.0, 3.6), (20.0, 2.0)], 3.6, 10.0),
        ([(5.0, 3.6), (10.0, 3.6)], 3.6, 5.0),
        ([(OLD + 1, 3.6)], 3.6, 0.0),
        ([(OLD + 1, 1.0), (OLD + 9, 3.6)], 3.6, OLD + 9),
    ],
    ids=["grows", "at once", "first met when old", "met when old, still growing"],
)
def test_peak_and_the_age_at_which_it_was_reached(curve: list[tuple[float, float]], peak: float, ramp: float) -> None:
    """The ramp ends at 90 % of the peak."""
    growth = Growth([True])
    watch(growth, curve)
    _, peaks, ramps = growth.take_peaks(np.array([0]), PLENTY)
    assert (peaks.tolist(), ramps.tolist()) == ([[peak]], [[ramp]])


def test_a_pod_settles_when_it_has_not_grown_for_as_long_as_it_grew() -> None:
    """Reached at 10, so settled from 20 on."""
    assert watch(Growth([True]), [(5.0, 1.0), (10.0, 3.6), (15.0, 3.6), (20.0, 3.6)]) == [3]


def test_a_pod_teaches_once() -> None:
    """When it has settled or, before that, when it ends."""
    growth = Growth([True])
    watch(growth, [(5.0, 1.0), (10.0, 1.0)])
    assert [growth.take_peaks(np.array([0]), PLENTY)[0].size for _ in range(2)] == [1, 0]


def test_a_pod_never_measured_teaches_nothing() -> None:
    """Zero would be a dangerous lesson."""
    growth = Growth([True])
    growth.reset(0)
    assert growth.take_peaks(np.array([0]), PLENTY)[0].size == 0


def test_floor_holds_until_a_quarter_after_the_ramp_ends() -> None:
    """Then measurement speaks for itself."""
    peaks = Peaks(1)
    app = peaks.identify("etl")
    teach(peaks, app, 3.6, 90.0)
    ages = np.array([0.0, 112.0, 112.5, 0.0, 0.0])
    floors = peaks.floors(np.array([app, app, app, NO_APP, peaks.identify("new")]), ages)
    assert floors.tolist() == [[3.6, 3.6, 0.0, 0.0, 0.0]]


def test_a_floor_for_life_is_kept_and_forgotten_like_any_lesson() -> None:
    """At any age, also after a restart, until enough other pods of the app have told."""
    first, again = Peaks(1), Peaks(1)
    first.learn_for_life(first.identify("etl"), np.array([3.6]), np.array([True]))
    again.restore(first.lessons())
    app = again.find("etl")
    assert again.floors(np.array([app]), np.array([1e6])).tolist() == [[3.6]]
    assert (again.young_for_life(app), again.young_for_life(NO_APP)) == (True, False)
    for _ in range(PODS):
        teach(again, app, 0.2, 5.0)
    assert not again.young_for_life(app)


def test_the_largest_of_the_last_pods_counts() -> None:
    """One lazy pod changes nothing; after enough of them the old peak is forgotten."""
    peaks = Peaks(1)
    app = peaks.identify("etl")
    teach(peaks, app, 3.6, 90.0)
    teach(peaks, app, 0.2, 5.0)
    assert [values.tolist() for values in peaks.expected(app)] == [[3.6], [90.0]]
    for _ in range(PODS):
        teach(peaks, app, 0.2, 5.0)
    assert [values.tolist() for values in peaks.expected(app)] == [[0.2], [5.0]]


def test_many_pods_teach_at_once() -> None:
    """As one after another: each app keeps its own, and the last ones stay."""
    bulk, single = Peaks(1), Peaks(1)
    apps = np.array([bulk.identify(name) for name in ("a", "b", "", "a", "b")] * 10)
    sizes = np.linspace(50.0, 1.0, len(apps))[:, None]
    bulk.learn(apps, sizes, 2 * sizes)
    for app, size in zip([single.identify(name) for name in ("a", "b", "", "a", "b")] * 10, sizes[:, 0], strict=True):
        teach(single, app, size, 2 * size)
    for app in (1, 2):
        assert bulk.expected(app)[0].tolist() == single.expected(app)[0].tolist() != [50.0]


def test_pods_without_an_app_are_not_an_app() -> None:
    """They have nothing in common."""
    peaks = Peaks(1)
    teach(peaks, peaks.identify(""), 3.6, 90.0)
    assert not peaks


def test_names_that_never_come_back_do_not_fill_the_memory() -> None:
    """The app asked for longest ago is forgotten first."""
    peaks = Peaks(1, limit=2)
    for name in ("old", "kept"):
        teach(peaks, peaks.identify(name), 1.0, 1.0)
    peaks.identify("old")
    peaks.identify("new")
    assert peaks.expected(peaks.identify("old"))[0].tolist() == [1.0]
    assert peaks.expected(peaks.identify("kept"))[0].tolist() == [0.0]


def test_an_app_whose_pods_are_there_keeps_its_id() -> None:
    """However long ago it was asked for: another app under that id would learn from its pods."""
    held: list[int] = []
    peaks = Peaks(1, limit=40, in_use=lambda: np.array(held, np.intp))
    held.append(peaks.identify("long"))
    teach(peaks, held[0], 1.0, 1.0)
    ids = [peaks.identify(f"build-{number}") for number in range(200)]
    assert held[0] not in ids
    assert peaks.find("long") == held[0]
    assert max(ids) <= 40, "names that never come back do not fill the memory"


def test_more_apps_than_may_be_remembered_have_their_own_ids_while_their_pods_are_there() -> None:
    """The bound is for names that are gone; once these are, no more ids are made."""
    held: set[int] = set()
    peaks = Peaks(1, limit=4, in_use=lambda: np.array(list(held), np.intp))
    for number in range(50):
        held.add(peaks.identify(f"app-{number}"))
    assert len(held) == 50
    most = max(held)
    held.clear()
    assert max(peaks.identify(f"later-{number}") for number in range(200)) <= most + 1


def test_an_id_that_is_given_again_knows_nothing() -> None:
    """Whatever was learned under it."""
    peaks = Peaks(1, limit=40)
    for number in range(200):
        app = peaks.identify(f"app-{number}")
        assert peaks.expected(app)[0].tolist() == [0.0]
        teach(peaks, app, 1.0, 1.0)


def known(peak: float, ramp: float = 30.0, lessons: int = ENOUGH) -> tuple[Peaks, int]:
    """An app whose pods all came to use `peak`."""
    peaks = Peaks(1)
    app = peaks.identify("etl")
    for _ in range(lessons):
        teach(peaks, app, peak, ramp)
    return peaks, app


@pytest.mark.parametrize(
    ("lessons", "ramp", "capped"),
    [(ENOUGH, 30.0, True), (ENOUGH - 1, 30.0, False), (PODS, 0.0, False)],
    ids=["enough pods", "one too few", "all first met when old"],
)
def test_a_well_known_app_is_believed_to_use_what_it_used(lessons: int, ramp: float, *, capped: bool) -> None:
    """And a margin; pods that may still have been growing when we came prove nothing."""
    peaks, app = known(2.0, ramp, lessons)
    cap = 2.0 * (1 + MARGIN) if capped else math.inf
    assert peaks.of_new_pod(app)[1].tolist() == [cap]
    assert peaks.caps(np.array([app, NO_APP]), np.zeros((1, 2))).tolist() == [[cap, math.inf]]


def test_a_pod_above_its_apps_peak_is_capped_by_its_own_use() -> None:
    """Nobody is charged less than what was measured."""
    peaks, app = known(2.0)
    assert peaks.caps(np.array([app]), np.array([[3.0]])).tolist() == [[pytest.approx(3.0 * (1 + MARGIN))]]


def test_a_pod_that_outgrows_its_app_corrects_it_at_once() -> None:
    """However old it is: the next pods of the app will grow like it."""
    peaks, app = known(2.0)
    peaks.correct(np.array([app, app]), np.array([[3.0, 1.0]]), np.zeros((1, 2)))
    assert [values.tolist() for values in peaks.expected(app)] == [[3.0], [30.0]]


def test_an_unknown_app_is_not_corrected() -> None:
    """A pod teaches when it has settled, not before."""
    peaks, app = known(2.0, lessons=1)
    peaks.correct(np.array([app]), np.array([[3.0]]), np.zeros((1, 1)))
    assert peaks.expected(app)[0].tolist() == [2.0]


@pytest.mark.parametrize("field", ["peak", "ramp"])
def test_bad_lessons_name_their_field(field: str) -> None:
    """NaN would poison every later maximum."""
    peaks = Peaks(1)
    values = {"peak": 1.0, "ramp": 1.0} | {field: math.nan}
    with pytest.raises(BadNumber) as caught:
        teach(peaks, peaks.identify("etl"), **values)
    assert caught.value.field == field
