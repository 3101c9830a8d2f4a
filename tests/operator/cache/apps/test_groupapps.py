"""Which apps the pods of a PodGroup are in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.groupapps import GroupApps

APPS = [("team", "one"), ("team", "two"), ("team", "three")]


def pod(number: int) -> PodRecord:
    """A pod that names the group `mpi`."""
    return PodRecord(name=f"m{number}", uid=f"u{number}", namespace="team", group="mpi")


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([*APPS, None]))))
def test_it_is_known_at_any_time_whether_a_group_is_of_several_apps(
    steps: list[tuple[int, tuple[str, str] | None]],
) -> None:
    """Whatever comes and goes; every app for which that is new is told."""
    groups, there = GroupApps(), dict[int, tuple[str, str]]()
    for number, app in steps:
        before = set(there.values())
        told = {*groups.leave(pod(number).uid)}
        there.pop(number, None)
        if app is not None:
            told |= {*groups.join(pod(number), app)}
            there[number] = app
        after = set(there.values())
        assert groups.several(pod(0)) is (len(after) > 1)
        if (len(before) > 1) is not (len(after) > 1):
            assert told >= after


def test_pods_without_a_group_are_not_counted() -> None:
    """Most pods of most clusters."""
    groups = GroupApps()
    alone = PodRecord(name="alone", uid="u", namespace="team")
    assert not groups.join(alone, APPS[0])
    assert not groups.leave("u")
    assert not groups.several(alone)
