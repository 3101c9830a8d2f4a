"""Which pods form which app while pods, owners and rules change."""

from slackwater_cluster import names
from slackwater_cluster.frameworks import Framework, LabelTerm, builtin
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import NamespaceRecord
from slackwater_operator.cache.apps.appindex import AppIndex
from support.builders.owners import owner, pod


def index() -> AppIndex:
    """An empty index in which every pod of namespace `team` counts."""
    governance = Governance()
    governance.set_namespaces([NamespaceRecord(name="team", labels={names.MANAGED: "true"})])
    return AppIndex(governance)


def apps(found: AppIndex) -> dict[str, list[str]]:
    """Names of pods by app."""
    result: dict[str, list[str]] = {}
    for key in list(found.keys()):
        result[key[1]] = sorted(each.record.name for each in found.app(key))
    return result


def test_pods_join_and_leave_their_app() -> None:
    """By own label; the last one to leave takes the app with it."""
    found = index()
    first, second = (pod(name, {"slackwater.io/app": "etl"}) for name in ("a", "b"))
    found.set(first)
    found.set(second)
    assert apps(found) == {"etl": ["a", "b"]}
    found.drop(first)
    found.drop(second)
    assert apps(found) == {}


def test_relabelled_pod_changes_its_app() -> None:
    """Both the old and the new app are put together anew."""
    found = index()
    found.set(pod("a", {"slackwater.io/app": "one"}))
    found.dirty.clear()
    found.set(pod("a", {"slackwater.io/app": "two"}))
    assert apps(found) == {"two": ["a"]}
    assert found.dirty == {("team", "one"), ("team", "two")}


def test_pods_that_do_not_count_are_left_out() -> None:
    """Unmanaged namespaces have no apps; one that stops to count leaves."""
    found = index()
    found.set(pod("a", namespace="other"))
    assert apps(found) == {}


def test_a_pod_that_does_not_count_is_known_as_the_owner_of_others() -> None:
    """A notebook that a DaemonSet runs is no pod of ours; the executors that it owns are one app, in whatever order."""
    daemons = owner("DaemonSet", "notebooks", group="apps")
    notebook = pod("nb", owners=[daemons], node="n")
    spark = {"spark-app-selector": "s", "spark-role": "executor"}
    task = pod("exec", spark, owners=[owner("Pod", "nb", uid="uid-nb")])
    for order in ((notebook, task), (task, notebook), (pod("nb", gates=(names.GATE,)), task, notebook)):
        found = index()
        for each in order:
            found.set(each)
        found.learn(daemons, ())
        assert apps(found) == {"spark/s@nb": ["exec"]}
        assert found.pod("uid-nb") is None
        assert [each.name for each in found.pods()] == ["exec"]
        found.drop(notebook)
        found.drop(task)
        assert not found.index.pods


def test_owner_found_later_moves_the_pod_to_its_app() -> None:
    """A JobSet above the Job: unknown at first, asked for, learned."""
    found = index()
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    job = owner("Job", "train-w-0", group="batch")
    found.set(pod("a", labels, owners=[job]))
    assert [each for each, _ in found.unknown()] == [job]
    found.learn(job, [owner("JobSet", "train", group="jobset.x-k8s.io")])
    assert apps(found) == {"jobset/train": ["a"]}
    assert found.unknown() == []


def test_executor_before_its_driver() -> None:
    """It joins the app as soon as the driver is seen."""
    found = index()
    labels = {"spark-app-selector": "s"}
    found.set(pod("exec", {**labels, "spark-role": "executor"}, owners=[owner("Pod", "driver", uid="uid-driver")]))
    assert "spark/s" not in apps(found)
    found.set(pod("driver", {**labels, "spark-role": "driver"}))
    assert apps(found) == {"spark/s": ["driver", "exec"]}


def test_driver_that_is_gone_keeps_its_executors_together() -> None:
    """Executors outlive their driver for a moment."""
    found = index()
    labels = {"spark-app-selector": "s"}
    driver = pod("driver", {**labels, "spark-role": "driver"})
    found.set(driver)
    found.set(pod("exec", {**labels, "spark-role": "executor"}, owners=[owner("Pod", "driver", uid="uid-driver")]))
    found.drop(driver)
    found.set(pod("late", {**labels, "spark-role": "executor"}, owners=[owner("Pod", "driver", uid="uid-driver")]))
    assert apps(found) == {"spark/s": ["exec", "late"]}


def test_first_child_makes_a_driver() -> None:
    """The structural rule acts when the child appears."""
    found = index()
    found.set(pod("boss"))
    found.set(pod("child", owners=[owner("Pod", "boss", uid="uid-boss")]))
    member = found.member("uid-boss")
    assert member is not None
    assert member.role == "driver"


def test_new_rules_recognise_everybody_anew() -> None:
    """A framework from a ConfigMap acts on pods that are already there."""
    found = index()
    found.set(pod("a", {"example.com/run": "r"}))
    row = Framework(name="house", app=("example.com/run",), tasks=(LabelTerm(key="example.com/run"),))
    found.follow(builtin().extended([row]))
    assert apps(found) == {"house/r": ["a"]}
