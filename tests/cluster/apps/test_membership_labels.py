"""Labels that policies and frameworks of users name, and the name of an app that people know."""

from typing import Any

import msgspec
import pytest

from slackwater_cluster import names
from slackwater_cluster.apps.membership import keys_read
from slackwater_cluster.frameworks import ExtendedTable, Framework, LabelTerm, builtin
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord
from slackwater_cluster.watch import trim
from support.builders.owners import owner, pod
from support.builders.podindexes import index


@pytest.mark.parametrize(
    "text",
    ["victim\n", "\nvictim", "victim ", "spark/spark-1", "a\tb", "x" * 254, "é", "-a"],
    ids=["line-break", "leading", "space", "slash", "tab", "long", "not-ascii", "dash"],
)
def test_what_is_no_name_is_no_app(text: str) -> None:
    """An annotation holds any text; it neither replaces an app of that name nor joins a framework's."""
    found = index()
    forged = pod("a", annotations={names.APP: text, names.STAGE: text})
    found.set_pod(pod("v", {names.APP: "victim"}))
    found.set_pod(pod("driver", {"spark-app-selector": "spark-1", "spark-role": "driver"}))
    found.set_pod(forged)
    member = found.member(forged)
    assert (member.app, member.stage) == ("pod/a", "")
    assert "is not a name" in member.doubts[0]
    assert "\n" not in member.doubts[0]


def test_an_owner_whose_name_is_none_is_no_owner() -> None:
    """Owner references hold what the pod's creator wrote."""
    found = index()
    odd = pod("a", owners=[owner("Job", "job\nname", group="batch")])
    found.set_pod(odd)
    assert found.member(odd).app == "pod/a"
    assert found.unknown() == []


def test_a_label_claims_nothing_in_other_namespaces() -> None:
    """The same label in two namespaces names two apps."""
    found = index(other="default")
    here, there = (pod(name, {names.APP: "etl"}, namespace=name) for name in ("team", "other"))
    found.set_pod(here)
    assert found.set_pod(there) == []


@pytest.mark.parametrize(
    ("labels", "owners", "above", "name", "series"),
    [
        ({"batch.kubernetes.io/job-name": "backup-29112345"}, "Job/backup-29112345", "", "backup", "job/backup"),
        ({"batch.kubernetes.io/job-name": "train-first"}, "Job/train-first", "", "train-first", "job/train-first"),
        ({"batch.kubernetes.io/job-name": "train-7"}, "Job/train-7", "", "train-7", "job/train"),
        ({"ray.io/cluster": "sort-x7k2p"}, "RayCluster/sort-x7k2p", "", "sort-x7k2p", "ray/sort"),
        (
            {"ray.io/cluster": "sort-x7k2p", "ray.io/originated-from-cr-name": "sort"},
            "RayCluster/sort-x7k2p",
            "RayJob/sort",
            "sort",
            "sort",
        ),
        ({"ray.io/cluster": "sort-x7k2p"}, "RayCluster/sort-x7k2p", "RayJob/sort", "sort", "ray/sort"),
        ({"ray.io/cluster": "web-x7k2p"}, "RayCluster/web-x7k2p", "RayService/web", "web", "ray/web"),
        (
            {"ray.io/cluster": "sort-x7k2p-9fd4b"},
            "RayCluster/sort-x7k2p-9fd4b",
            "RayJob/sort-x7k2p RayCronJob/sort",
            "sort",
            "ray/sort",
        ),
        ({"workflows.argoproj.io/workflow": "flow-4x2bz"}, "Workflow/flow-4x2bz", "", "flow-4x2bz", "argo/flow"),
    ],
    ids=[
        "cron-job",
        "job",
        "numbered-job",
        "ray-cluster",
        "ray-job-by-label",
        "ray-job",
        "ray-service",
        "ray-cron-job",
        "workflow",
    ],
)
def test_the_name_people_know(labels: dict[str, str], owners: str, above: str, name: str, series: str) -> None:
    """And the one that runs share, under which sizes are learned."""
    groups = {"Job": "batch", "CronJob": "batch", "Workflow": "argoproj.io"}
    kinds = [text.split("/") for text in f"{owners} {above}".split()]
    chain = [owner(kind, called, group=groups.get(kind, "ray.io")) for kind, called in kinds]
    found = index()
    task = pod("a", labels, owners=chain[:1])
    found.set_pod(task)
    for low, high in zip(chain, [*chain[1:], None], strict=True):
        found.learn(low, [high] if high else [])
    found.set_pod(task)
    member = found.member(task)
    assert (member.name, member.series) == (name, series)


def test_a_run_is_not_told_by_its_passing_name() -> None:
    """An app is not settled before it is known who made the cluster: its name would change while it runs."""
    found = index()
    cluster = owner("RayCluster", "sort-x7k2p", group="ray.io")
    head = pod("a", {"ray.io/cluster": "sort-x7k2p", "ray.io/node-type": "head"}, owners=[cluster])
    found.set_pod(head)
    assert not found.member(head).settled
    assert found.unknown() == [(cluster, "team")]
    assert found.learn(cluster, []) == [head]
    assert (found.member(head).settled, found.member(head).name) == (True, "sort-x7k2p")


def test_the_owner_that_states_the_size_is_told_below_the_one_that_made_it() -> None:
    """A RayJob says nothing of its workers, its RayCluster does; also where the app is called otherwise."""
    found = index()
    cluster, job = (owner(kind, name, group="ray.io") for kind, name in (("RayCluster", "r-x7k2p"), ("RayJob", "r")))
    worker = pod("a", {"ray.io/cluster": "r-x7k2p", names.APP: "hourly"}, owners=[cluster])
    found.set_pod(worker)
    found.learn(cluster, [job])
    found.learn(job, [])
    assert found.review(worker) == []
    assert found.member(worker).owner == "RayCluster/r-x7k2p"


def test_role_labels_count_where_their_policy_is_in_force() -> None:
    """As in the admission policy: the labels of one policy say nothing about namespaces of another."""
    found = index(other="special")
    governance = found._governance
    spec = {"driverLabels": [{"key": "example.com/lead", "values": ["yes"]}]}
    governance.set("SlackPolicy", [CustomRecord(name="special", spec=spec), CustomRecord(name="default")])
    assert found.follow(builtin())
    here, there = (pod(name, {"example.com/lead": "yes"}, namespace=name) for name in ("team", "other"))
    assert (found.member(here).role, found.member(there).role) == ("unknown", "driver")
    assert "example.com/lead" in found.keys


def test_a_users_framework_is_read_from_its_configmap() -> None:
    """With the labels that must be kept of pods; a bad one is left out and told."""
    frameworks = ExtendedTable()
    frameworks.set({"house": {"a": "frameworks: [{name: house, app: [example.com/run]}]", "b": "nonsense: 1"}})
    assert [row.name for row in frameworks.rows] == ["house"]
    assert "house[b]" in str(frameworks.problems[0])
    found = index()
    found.follow(frameworks.table)
    task = pod("a", {"example.com/run": "r"})
    assert found.member(task).app == "house/r"
    assert "example.com/run" in found.keys
    frameworks.drop(["house"])
    assert frameworks.table == builtin()


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_a_users_framework_may_name_its_coordinator(where: str) -> None:
    """By a label, or by an annotation whose name ends in /coordinator: those are kept of every pod."""
    frameworks = ExtendedTable()
    row = "{name: house, app: [example.com/run], tasks: [{key: example.com/run}], coordinator: example.com/coordinator}"
    frameworks.set({"house": {"a": f"frameworks: [{row}]"}})
    found = index()
    found.follow(frameworks.table)
    meta: dict[str, Any] = {"name": "r-0", "namespace": "team", "uid": "u", "labels": {"example.com/run": "r"}}
    meta[where] = {**meta.get(where, {}), "example.com/coordinator": "r-0.r"}
    leader = trim.pod(msgspec.convert({"metadata": meta, "spec": {"hostname": "r-0"}}, wire.Pod))
    assert found.member(leader).role == "driver"


def test_labels_that_number_pods_are_not_read() -> None:
    """Siblings share one answer."""
    row = Framework(name="house", app=("example.com/run",), tasks=(LabelTerm(key="example.com/kind"),))
    keys = keys_read(builtin().extended([row]))
    assert {"example.com/run", "example.com/kind", "spark-app-name", names.APP} <= keys
    assert "spark-exec-id" not in keys
