"""What one app's pods say of its place in the queue."""

from __future__ import annotations

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import NamespaceRecord, PodRecord
from slackwater_operator.cache.apps.apphistory import AppHistory
from slackwater_operator.cache.apps.appindex import AppIndex
from slackwater_operator.cache.apps.appview import AppView, app_view
from slackwater_operator.cache.podstate import InFlightPods
from support.builders.owners import pod


def seen(*pods: PodRecord) -> AppView:
    """The app that these pods form."""
    governance = Governance()
    governance.set_namespaces([NamespaceRecord(name="team", labels={names.MANAGED: "true"})])
    index = AppIndex(governance)
    for each in pods:
        index.set(each)
    (key,) = index.keys()
    return app_view(*key, index.app(key), InFlightPods(), builtin())


def one(name: str, cpu: float, *, created: float, role: str = "task", **more: object) -> PodRecord:
    """A pod of the app, held unless it has a node."""
    size = Resources(cpu=cpu)
    gates = () if "node" in more else (names.GATE,)
    labels = {names.APP: "etl", names.ROLE: role}
    fields = {"gates": gates, "scheduler": names.SCHEDULER, "declared": size, "native": size, "created": created}
    return pod(name, labels, **{**fields, **more})  # type: ignore[arg-type]  # any field of a pod


def test_one_pod_of_a_high_class_does_not_lift_the_others() -> None:
    """Quotas on a PriorityClass would else be worth nothing: the lowest of the pods that wait counts."""
    low, high = one("low", 4, created=1), one("high", 0.01, created=2, priority=1000)
    assert seen(low, high).priority == 0
    assert seen(high).priority == 1000


def test_a_driver_s_class_is_its_own() -> None:
    """It starts early by it; its tasks wait by theirs."""
    driver = one("driver", 1, created=1, role="driver", priority=1000)
    assert seen(driver).priority == 1000
    running = one("driver", 1, created=1, role="driver", priority=1000, node="a", phase="Running")
    assert seen(running).priority == 1000
    assert seen(running, one("task", 4, created=2)).priority == 0


def test_a_small_pod_that_never_ends_keeps_no_place() -> None:
    """Neither the age of the name nor that it has started: the batch that comes later waits like any other."""
    forever = one("forever", 0.01, created=1, node="a", phase="Running")
    later = seen(forever, one("task", 4, created=900))
    assert (later.submitted, later.started) == (900, False)
    assert seen(forever).started


def test_an_app_at_work_keeps_its_age() -> None:
    """Stages of different sizes, and tasks that have ended, speak for those that come after them."""
    maps = [one(f"map-{i}", 1, created=1, node="a", phase="Succeeded", finished=890.0) for i in range(4)]
    at_work = seen(*maps, one("reduce", 8, created=900))
    assert (at_work.submitted, at_work.started) == (1, True)


def test_a_driver_that_passed_speaks_for_its_tasks() -> None:
    """However small it is: that is how frameworks are made."""
    driver = one("driver", 0.1, created=1, role="driver", node="a", phase="Running")
    app = seen(driver, one("task", 16, created=900))
    assert (app.submitted, app.started) == (1, True)


def test_pods_that_wait_are_told_apart_by_what_the_scheduler_counts_of_them() -> None:
    """The ceiling changed while the app lives: one that was not lowered fits less, and speaks for itself alone."""
    lowered = Resources(cpu=1.0)
    ended = one("ended", 2, created=0, node="a", phase="Succeeded", finished=0.5)
    before = one("before", 2, created=1)
    after = [one(name, 2, created=2, native=lowered) for name in ("after", "later")]
    whole, further = seen(ended, before, *after).groups
    assert (whole.native, whole.held, whole.finished) == (None, (before.uid,), 1)
    assert (further.native, further.held, further.finished) == (lowered, tuple(pod.uid for pod in after), 0)


def test_a_pod_that_was_deleted_behind_its_gate_is_no_pod_that_ran() -> None:
    """A Job's pods are shown for a moment after they are deleted: the app has not started, and ended nothing."""
    gone = one("gone", 1, created=1, deleted=5.0)
    app = seen(gone, one("held", 1, created=2))
    assert not app.started
    assert sum(group.finished + group.charged for group in app.groups) == 0
    assert app.counts.done == 0
    assert seen(gone).over


def test_a_gang_of_which_one_was_deleted_behind_its_gate_was_never_whole() -> None:
    """It would go on with what there is, and run as a smaller one than it says."""
    history = AppHistory()
    history.see(seen(one("gone", 1, created=1, deleted=5.0), one("held", 1, created=2)))
    assert not history.assembled
    history.see(seen(one("ended", 1, created=1, node="a", phase="Succeeded"), one("held", 1, created=2)))
    assert history.assembled


def test_a_driver_that_was_deleted_behind_its_gate_leads_nobody() -> None:
    """A finalizer keeps it in sight: its tasks would wait for it for ever. Alone, the app keeps its name."""
    gone = one("gone", 1, created=1, role="driver", deleted=5.0)
    left = seen(gone, one("task", 1, created=2))
    assert [group.driver for group in left.groups] == [False]
    assert not left.has_driver
    assert (seen(gone).groups, seen(gone).name) == ((), "etl")
