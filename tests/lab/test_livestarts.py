"""How what people were told about starts is held against what happened."""

from slackwater.pools.forecastlog import coverage
from slackwater.pools.startforecast import Source, StartInterval
from slackwater_monitor.sources.views import Start
from support.bench.livestarts import LiveStarts, Said, interval


def told(low: float, high: float) -> StartInterval:
    """An interval from now."""
    return StartInterval(low, (low + high) / 2, high, Source.PACE)


FOUND = LiveStarts(
    looked=[
        Said("a", 100.0, told(10.0, 30.0)),  # it starts in 20 s: inside
        Said("b", 100.0, "not known yet"),
        Said("a", 105.0, told(5.0, 25.0)),  # too soon after the first look to count
        Said("a", 110.0, told(11.0, 20.0)),  # in 10 s: outside
        Said("b", 112.0, told(0.0, 60.0)),  # in 28 s: inside
        Said("c", 112.0, told(0.0, 60.0)),  # never starts
        Said("a", 121.0, told(0.0, 60.0)),  # has started meanwhile
    ],
    asked=[Said("a", 99.0, told(0.0, 5.0)), Said("d", 100.0, told(5.0, 9.0))],
    starts={"a": 120.0, "b": 140.0, "d": 101.0},
)


def test_the_first_look_at_each_app_is_judged_once() -> None:
    """One interval that held, one app of which nothing was known; one that never started says nothing."""
    good = coverage(FOUND.first())
    assert (good.known, good.unknown, good.inside, good.error, good.wait) == (1, 1, 1.0, 0.0, 20.0)


def test_later_looks_count_once_in_so_many_seconds() -> None:
    """Each from its own moment, until the app has started."""
    assert [(each.wait, isinstance(each.told, StartInterval)) for each in FOUND.later(10.0)] == [
        (10.0, True),
        (28.0, True),
    ]
    assert coverage(FOUND.later(10.0)).inside == 0.5


def test_before_submission_only_apps_that_had_to_wait_count() -> None:
    """Of an app that starts at once no interval is needed."""
    assert [each.wait for each in FOUND.before()] == [21.0]


def test_what_a_page_shows_is_judged_as_it_stands() -> None:
    """An interval, or the sentence that there is none."""
    assert interval(Start(1.0, 2.0, 3.0, "pace")) == StartInterval(1.0, 2.0, 3.0, Source.PACE)
    assert interval(Start(unknown="too few")) == "too few"
