"""Judgements of custom resources: what is told on the object, and when its condition changes."""

from typing import Any

import msgspec
import pytest

from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.frameworks import Framework, LabelTerm
from slackwater_cluster.objects import wire
from slackwater_operator.status.conditions import MOST_OF_ONE, conditions, judge, limits, unlisted
from support.fakes.cluster import enforcing, node


def test_judgements_name_the_rival() -> None:
    """Overlapping queues, unknown queues, second pools and selectors without nodes are told on the object."""
    world = enforcing(node("a"))
    world.configure("AdmissionQueue", "one", namespaces=["team"])
    world.configure("AdmissionQueue", "two", namespaces=["team"], nodeSelector={"pool": "x"})
    world.configure("AdmissionQueue", "three", namespaces=["rest"], nodeSelector={"pool": "x"})
    world.configure("ReservationPool", "lost", queue="nowhere")
    world.configure("ReservationPool", "first", queue="one")
    world.configure("ReservationPool", "second", queue="one")
    governing = world.cache.governing
    assert judge("AdmissionQueue", "one", governing).ready
    assert "served by queue one" in judge("AdmissionQueue", "two", governing).message
    assert judge("AdmissionQueue", "three", governing, [{}]).reason == "NoNodes"
    assert judge("ReservationPool", "lost", governing).reason == "UnknownQueue"
    assert "pool first already" in judge("ReservationPool", "second", governing).message
    assert judge("SlackPolicy", "default", governing).message == "in force in 1 namespace"


def test_broken_resource_keeps_the_last_good_one() -> None:
    """What cannot be read is told and changes nothing."""
    world = enforcing()
    world.configure("SlackPolicy", "default", mode="nonsense")
    assert world.cache.governing.mode("team").value == "enforce"
    found = judge("SlackPolicy", "default", world.cache.governing)
    assert (found.ready, found.reason) == (False, "Invalid")


def test_limit_ranges_and_quotas_are_warned_about() -> None:
    """A minimum that lowered requests fall below, a ratio they exceed, and a quota that counts them."""
    item = {"min": {"cpu": "1"}, "maxLimitRequestRatio": {"memory": "1"}}
    ranges, quotas = [limit_range([item])], [quota({"requests.cpu": "10"})]
    found = limits(SlackPolicySpec(), ranges, quotas, ["team"])
    assert len(found) == 3
    assert limits(SlackPolicySpec(), ranges, quotas, []) == ()


def test_a_ratio_above_the_ceiling_is_warned_about_too() -> None:
    """Limits of three times the request are allowed; lowered to a half, only those of 1.5 times are."""
    item = {"maxLimitRequestRatio": {"cpu": "3"}}
    (found,) = limits(SlackPolicySpec(), [limit_range([item])], [], ["team"])
    assert "a task whose cpu limit is more than 1.5 × what it declares is refused" in found


@pytest.mark.parametrize("said", [None, [], [{"min": None, "maxLimitRequestRatio": None}]])
def test_a_limit_range_that_limits_nothing_is_no_fault(said: Any) -> None:
    """An API server takes one without limits, and shows them as null."""
    assert limits(SlackPolicySpec(), [limit_range(said)], [quota(None)], ["team"]) == ()


def test_warnings_about_one_namespace_leave_room_for_those_about_others() -> None:
    """A status holds a hundred, in the order of their words."""
    item = {"min": {"cpu": "1"}}
    many = [limit_range([item], f"r{number}", "a-team") for number in range(200)]
    found = limits(SlackPolicySpec(), [*many, limit_range([item], "r", "z-team")], [], ["a-team", "z-team"])
    assert len(found) == MOST_OF_ONE + 1
    assert "z-team" in found[-1]


def limit_range(said: Any, name: str = "r", namespace: str = "team") -> wire.LimitRange:
    """A LimitRange as an API server shows it."""
    body = {"metadata": {"namespace": namespace, "name": name}, "spec": {"limits": said}}
    return msgspec.convert(body, wire.LimitRange)


def quota(hard: Any) -> wire.ResourceQuota:
    """A ResourceQuota as an API server shows it."""
    body = {"metadata": {"namespace": "team", "name": "q"}, "spec": {"hard": hard}}
    return msgspec.convert(body, wire.ResourceQuota)


def test_frameworks_of_users_need_their_labels_in_the_policy() -> None:
    """Else the API server would not know their roles."""
    row = Framework(name="house", app=("x/run",), drivers=(LabelTerm(key="x/part", values=("leader",)),))
    assert len(unlisted([row], SlackPolicySpec())) == 1
    spec = SlackPolicySpec.model_validate({"driverLabels": [{"key": "x/part", "values": ["leader"]}]})
    assert unlisted([row], spec) == ()


def test_condition_time_moves_with_the_status_only() -> None:
    """A second look that finds the same keeps the time."""
    world = enforcing()
    judged = judge("SlackPolicy", "default", world.cache.governing)
    first = conditions([], judged, 1, "t1")
    second = conditions(first, judged, 2, "t2")
    assert second[0]["lastTransitionTime"] == "t1"
    assert second[0]["observedGeneration"] == 2
