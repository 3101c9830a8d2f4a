"""Which app a pod belongs to: its own labels, whoever vouches for a framework's, foreign groups, owners."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster.apps.owners import DEPTH, chain
from slackwater_cluster.apps.resolver import Resolver, Rule
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from support.builders.owners import Owners, owner, pod

RESOLVER = Resolver.of(builtin())
SPARK = {"spark-app-selector": "spark-6f5e2b", "spark-app-name": "etl"}


def test_own_labels_win() -> None:
    """A user's word about app, role and stage needs no guess."""
    labels = {
        **SPARK,
        "spark-role": "executor",
        "slackwater.io/app": "mine",
        "slackwater.io/role": "driver",
        "slackwater.io/stage": "a",
    }
    member = RESOLVER.resolve(pod("x", labels), Owners())
    assert (member.app, member.role, member.stage, member.rule) == ("mine", "driver", "a", Rule.OWN)


@pytest.mark.parametrize(
    "stranger",
    [
        pod("x", {**SPARK, "spark-role": "executor"}, owners=[owner("Pod", "other", uid="uid-other")]),
        pod(
            "x",
            {"ray.io/cluster": "raysort", "ray.io/node-type": "worker"},
            owners=[owner("RayCluster", "mine", group="ray.io")],
        ),
        pod("x", {"batch.kubernetes.io/job-name": "etl"}, owners=[owner("Job", "other", group="batch")]),
        pod("x", {"batch.kubernetes.io/job-name": "etl"}, owners=[owner("Job", "etl", group="batch.example.com")]),
    ],
    ids=["another pod", "another cluster", "another job", "another api group"],
)
def test_a_group_label_is_not_trusted_without_its_owner(stranger: PodRecord) -> None:
    """A pod cannot join an app by a label alone; it becomes what its owners make of it, and the claim is told."""
    driver = pod("etl-driver", {**SPARK, "spark-role": "driver"})
    other = pod("other", {**SPARK, "spark-app-selector": "another", "spark-role": "driver"})
    member = RESOLVER.resolve(stranger, Owners((driver, other)))
    assert member.rule in {Rule.OWNER, Rule.ALONE}
    assert len(member.doubts) == 1
    assert "confirms it" in member.doubts[0]


LED = {
    "job": ([owner("Job", "pi", group="batch")], {}, "job/pi"),
    "workflow": ([owner("Workflow", "flow", group="argoproj.io")], {}, "pod/led"),
    "own label": ([], {"slackwater.io/app": "mine"}, "mine"),
    "own annotation": ([], {}, "noted"),
    "foreign group": (
        [owner("Job", "pi", group="batch")],
        {"yunikorn.apache.org/app-id": "g"},
        "group/g@job/pi",
    ),
}


@pytest.mark.parametrize("case", LED)
def test_whoever_vouches_for_a_pod_is_in_the_same_app(case: str) -> None:
    """Executors are believed for their driver's label, and belong to whatever app the driver itself is in."""
    owners, labels, app = LED[case]
    notes = {"slackwater.io/app": "noted"} if case == "own annotation" else {}
    driver = pod("led", {**SPARK, **labels, "spark-role": "driver"}, owners=owners, annotations=notes)
    task = pod("led-1", {**SPARK, "spark-role": "executor"}, owners=[owner("Pod", "led", uid="uid-led")])
    found = [RESOLVER.resolve(each, Owners((driver, task))) for each in (driver, task)]
    assert [(member.app, member.role, member.settled) for member in found] == [
        (app, "driver", True),
        (app, "task", True),
    ]
    assert found[1].doubts == ()


def test_a_task_waits_for_what_its_driver_s_app_waits_for() -> None:
    """Nobody has looked yet what stands above the driver's Job: the task's app is no more settled than the driver's."""
    job = owner("Job", "pi", group="batch")
    driver = pod("led", {**SPARK, "spark-role": "driver"}, owners=[job])
    task = pod("led-1", {**SPARK, "spark-role": "executor"}, owners=[owner("Pod", "led", uid="uid-led")])
    assert RESOLVER.resolve(task, Owners((driver, task), unseen=frozenset({job.uid}))).unknown == job


def test_pods_that_vouch_for_each_other_vouch_for_nobody() -> None:
    """Two pods that own each other, with one label: neither joins an app by it."""
    ring = [
        pod(name, {**SPARK, "spark-role": "executor"}, owners=[owner("Pod", other, uid=f"uid-{other}")])
        for name, other in (("a", "b"), ("b", "a"))
    ]
    assert {RESOLVER.resolve(each, Owners(ring)).app for each in ring} == {"pod/a", "pod/b"}


@pytest.mark.parametrize(
    ("labels", "annotations", "more"),
    [
        ({"yunikorn.apache.org/app-id": "g"}, {}, {}),
        ({}, {"yunikorn.apache.org/app-id": "g"}, {}),
        ({"kueue.x-k8s.io/pod-group-name": "g"}, {}, {}),
        ({}, {}, {"group": "g"}),
    ],
    ids=["yunikorn", "yunikorn annotation", "kueue", "workload api"],
)
def test_foreign_group_ids(labels: dict[str, str], annotations: dict[str, str], more: dict[str, Any]) -> None:
    """Group ids of other schedulers make an app of bare pods."""
    member = RESOLVER.resolve(pod("x", labels, annotations=annotations, **more), Owners())
    assert (member.app, member.rule) == ("group/g", Rule.GROUP)


def test_foreign_group_does_not_join_pods_of_different_owners() -> None:
    """The same group id under two owners makes two apps."""
    group = {"kueue.x-k8s.io/pod-group-name": "g"}
    first = RESOLVER.resolve(pod("a", group, owners=[owner("ReplicaSet", "one")]), Owners())
    second = RESOLVER.resolve(pod("b", group, owners=[owner("ReplicaSet", "two")]), Owners())
    assert first.app != second.app


def test_owner_chain_stops_below_coarse_owners() -> None:
    """A Workflow or CronJob starts apps; it is none."""
    above = {
        "Job-step": (owner("Workflow", "flow", group="argoproj.io"),),
        "Job-nightly-291": (owner("CronJob", "nightly", group="batch"),),
    }
    for name in ("step", "nightly-291"):
        member = RESOLVER.resolve(pod("s", owners=[owner("Job", name, group="batch")]), Owners(above=above))
        assert member.app == f"job/{name}"


def test_pod_that_owns_pods_is_a_driver() -> None:
    """The structural rule: an unknown framework's driver shows itself by its children."""
    boss = pod("boss")
    child = pod("child", owners=[owner("Pod", "boss", uid="uid-boss")])
    known = Owners((boss, child))
    assert (RESOLVER.resolve(boss, known).app, RESOLVER.resolve(boss, known).role) == ("pod/boss", "driver")
    assert RESOLVER.resolve(child, known).app == "pod/boss"


def test_user_may_say_that_a_pod_with_children_is_a_task() -> None:
    """The explicit role stands even against the structural rule."""
    boss = pod("boss", {"slackwater.io/role": "task"})
    child = pod("child", owners=[owner("Pod", "boss", uid="uid-boss")])
    assert RESOLVER.resolve(boss, Owners((boss, child))).role == "task"


def test_lonely_pod_is_an_app_of_one() -> None:
    """Nothing known: an app of one pod."""
    member = RESOLVER.resolve(pod("x"), Owners())
    assert (member.app, member.role, member.rule) == ("pod/x", "unknown", Rule.ALONE)


@given(st.integers(min_value=1, max_value=40))
def test_chains_end_even_in_a_circle(length: int) -> None:
    """Owners that own each other do not hang the resolver."""
    ring = {f"K-{i}": (OwnerRef("K", str((i + 1) % length), f"K-{(i + 1) % length}", "", True),) for i in range(length)}
    found = chain(pod("x", owners=[owner("K", "0")]), Owners(above=ring))
    assert len(found.owners) == DEPTH


def test_no_id_is_longer_than_a_name_and_long_ones_stay_apart() -> None:
    """Beyond 253 characters the end of an id is a digest of the whole; runs of one series still share its name."""
    long = "x" * 240
    found = [RESOLVER.resolve(pod(f"{long}-{end}"), Owners((), {})) for end in ("289123450", "289123451")]
    assert [len(each.app) for each in found] == [253, 253]
    assert found[0].app != found[1].app
    assert {each.series for each in found} == {f"pod/{long}"}
