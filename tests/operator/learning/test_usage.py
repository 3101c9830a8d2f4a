"""Requests learned from what earlier tasks of an app used."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.customresources.slackpolicy import Reclaim
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.learning import usage
from slackwater_operator.learning.usage import ENOUGH, Likeness, UsageHistory, percentile, resized

LIKE: Likeness = ("team", "etl", "task", "")
ON = Reclaim(enabled=True)


def task(declared: float = 2.0, native: float = 1.0) -> PodRecord:
    """A task that was lowered to half."""
    return PodRecord(
        name="t",
        uid="new",
        annotations={names.SHRUNK: "200/150"},
        native=Resources(cpu=native),
        declared=Resources(cpu=declared),
    )


def learned(*peaks: float) -> UsageHistory:
    """Tasks that came, used so much, and went."""
    learning = UsageHistory()
    for number, peak in enumerate(peaks):
        learning.observe({f"old-{number}": (LIKE, Resources(cpu=peak))})
    learning.observe({})
    return learning


def test_heavy_tasks_get_more_than_the_ceiling_rule_left_them() -> None:
    """They used 1.5 of 2 declared: 1.5 and a fifth on top."""
    wanted = learned(*[1.5] * ENOUGH).wanted(LIKE, task(), ON)
    assert wanted is not None
    assert abs(wanted["cpu"] - 1.8) < 1e-9


def test_nothing_is_concluded_from_few_tasks_or_when_switched_off() -> None:
    """Off by default, and never from less than five tasks."""
    assert learned(*[1.5] * (ENOUGH - 1)).wanted(LIKE, task(), ON) is None
    assert learned(*[1.5] * ENOUGH).wanted(LIKE, task(), Reclaim()) is None


def test_light_tasks_stay_where_the_ceiling_put_them() -> None:
    """Never below declared ÷ ceiling, so there is nothing to write."""
    assert learned(*[0.1] * ENOUGH).wanted(LIKE, task(), ON) is None


@given(st.lists(st.floats(0, 100), min_size=ENOUGH, max_size=40), st.floats(0.1, 50))
def test_wanted_lies_between_ceiling_rule_and_declared(peaks: list[float], declared: float) -> None:
    """Whatever was measured."""
    wanted = learned(*peaks).wanted(LIKE, task(declared, declared / 2), ON)
    if wanted is not None:
        assert declared / 2 - 1e-9 <= wanted["cpu"] <= declared + 1e-9


def test_a_task_counts_with_its_peak() -> None:
    """Its last sample may be low: what counts is the most it ever used."""
    learning = UsageHistory()
    learning.observe({"u": (LIKE, Resources(cpu=1.9))})
    learning.observe({"u": (LIKE, Resources(cpu=0.1))})
    learning.observe({})
    assert learning.lessons(LIKE) == 1
    for number in range(ENOUGH - 1):
        learning.observe({f"x{number}": (LIKE, Resources(cpu=1.9))})
    learning.observe({})
    wanted = learning.wanted(LIKE, task(), ON)
    assert wanted is not None
    assert wanted["cpu"] == 2.0


def test_percentile_is_one_of_the_values() -> None:
    """The smallest that covers so many percent."""
    assert percentile([1, 2, 3, 4], 50) == 2
    assert percentile([1, 2, 3, 4], 95) == 4


def test_patch_spreads_over_containers_within_their_limits() -> None:
    """Each container grows by the same factor, but not beyond its own limit."""
    containers: list[Mapping[str, Any]] = [
        {"name": "a", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "600m"}}},
        {"name": "b", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}},
        {"name": "c"},
    ]
    native, wanted = Resources(cpu=1, memory=2.0**26), Resources(cpu=1.8, memory=2.0**26)
    patch = resized(containers, native, wanted)
    assert patch is not None
    assert patch["spec"]["containers"] == [
        {"name": "a", "resources": {"requests": {"cpu": "600m"}}},
        {"name": "b", "resources": {"requests": {"cpu": "900m", "memory": str(2**26)}}},
    ]


def test_what_is_remembered_is_bounded() -> None:
    """Series and stages are named by tenants: 100,000 of them used to keep 123 MiB."""
    history = UsageHistory()
    for number in range(usage.MOST_LIKENESSES + 50):
        history.observe({f"u{number}": (("ns", f"series{number}", "task", ""), Resources(cpu=1.0))})
    assert history.lessons(("ns", "series0", "task", "")) == 0
    assert history.lessons(("ns", f"series{usage.MOST_LIKENESSES}", "task", "")) == 1
