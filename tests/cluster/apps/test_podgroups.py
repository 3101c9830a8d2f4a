"""What is known of Kubernetes' own PodGroups, and of the pods that name them."""

from __future__ import annotations

from slackwater_cluster.apps.podgroups import PodGroups
from slackwater_cluster.apps.size import MOST_TASKS
from slackwater_cluster.objects.records import PodGroupRecord, PodRecord

POD = PodRecord(name="m0", namespace="team", group="mpi")
ALONE = PodRecord(name="alone", namespace="team")


def group(least: int, namespace: str = "team") -> PodGroupRecord:
    """A PodGroup named `mpi`; 0 is one with the basic policy."""
    return PodGroupRecord(name="mpi", namespace=namespace, least=least)


def test_a_pod_knows_the_size_of_its_gang() -> None:
    """Of a group of the same name elsewhere, or without a gang policy, it knows none."""
    groups = PodGroups()
    groups.set("v1beta1", [group(3, namespace="other")])
    assert groups.least(POD) == 0
    groups.set("v1beta1", [group(3)])
    assert (groups.least(POD), groups.least(ALONE)) == (3, 0)
    groups.set("v1beta1", [group(0)])
    assert groups.least(POD) == 0


def test_a_number_that_nobody_can_mean_is_bounded() -> None:
    """It is a number of tasks as `slackwater.io/tasks` is."""
    groups = PodGroups()
    groups.set("v1beta1", [group(2**31 - 1)])
    assert groups.least(POD) == MOST_TASKS
    groups.set("v1beta1", [group(-7)])
    assert groups.least(POD) == 0


def test_it_is_told_of_what_something_is_new() -> None:
    """A scheduler writes conditions on groups all the time, and no pod is looked at for that."""
    groups = PodGroups()
    key = ("team", "mpi")
    assert groups.set("v1beta1", [group(0)]) == {key}
    assert groups.set("v1beta1", [group(0)]) == frozenset()
    assert groups.set("v1beta1", [group(2)]) == {key}
    assert groups.drop("v1beta1", [group(2)]) == {key}
    assert groups.drop("v1beta1", [group(2)]) == frozenset()


def test_a_group_is_waited_for_only_where_groups_are_served() -> None:
    """Elsewhere nobody would ever make it."""
    groups = PodGroups()
    assert not groups.missing(POD)
    groups.served = lambda: True
    assert groups.missing(POD)
    assert not groups.missing(ALONE)
    groups.set("v1beta1", [group(0)])
    assert not groups.missing(POD)


def test_groups_that_one_version_of_the_api_forgets_are_known_by_the_other() -> None:
    """While a cluster is upgraded; and the newer one tells that its scheduler queues groups whole."""
    groups = PodGroups()
    groups.set("v1alpha2", [group(3)])
    assert not groups.queued_whole(POD)
    groups.set("v1beta1", [group(3)])
    groups.drop("v1alpha2", [group(3)])
    assert groups.least(POD) == 3
    assert groups.queued_whole(POD)
    groups.drop("v1beta1", [group(3)])
    assert groups.least(POD) == 0
    assert not groups.queued_whole(POD)
