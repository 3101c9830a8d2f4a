"""One answer per pod while pods, owners, policies and frameworks come and go."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from slackwater_cluster import names
from slackwater_cluster.apps.membership import REMEMBERED, PodIndex
from slackwater_cluster.apps.owners import FEW_OWNERS
from slackwater_cluster.apps.recent import RecentAnswers
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from support.builders.owners import owner, pod
from support.builders.podindexes import governed, index
from support.soak.sizes import sizes

SPARK = {"spark-app-selector": "spark-1", "spark-app-name": "pi"}
DRIVER = {**SPARK, "spark-role": "driver"}
EXECUTOR = {**SPARK, "spark-role": "executor"}


def executor(name: str, driver: str) -> PodRecord:
    """An executor that this driver pod owns."""
    return pod(name, EXECUTOR, owners=[owner("Pod", driver, uid=f"uid-{driver}")])


def apps(found: PodIndex) -> dict[str, str]:
    """App by name of pod."""
    return {each.name: found.member(each).app for each in found.pods.values()}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_two_drivers_with_one_id_are_two_apps_in_whatever_order_they_are_seen(order: tuple[int, ...]) -> None:
    """The first to be created keeps the id, executors follow their driver."""
    pods = (
        pod("first", DRIVER, created=1.0),
        pod("second", DRIVER, created=2.0),
        executor("first-exec", "first"),
        executor("second-exec", "second"),
    )
    found = index()
    for number in order:
        found.set_pod(pods[number])
    assert apps(found) == {
        "first": "spark/spark-1",
        "first-exec": "spark/spark-1",
        "second": "spark/spark-1@uid-seco",
        "second-exec": "spark/spark-1@uid-seco",
    }
    assert "id of its own" in found.member(pods[1]).doubts[0]


def test_tasks_follow_a_driver_that_comes_after_it_was_looked_up() -> None:
    """A list in several pieces: the look-up found the driver before its record came, which alone has its labels."""
    found = index()
    task = executor("exec", "late")
    found.set_pod(task)
    found.learn(task.owners[0], ())
    assert apps(found) == {"exec": "pod/late"}
    assert found.set_pod(pod("late", DRIVER)) == [task]
    assert apps(found) == {"exec": "spark/spark-1", "late": "spark/spark-1"}


def test_tasks_follow_a_driver_whose_labels_or_owners_change() -> None:
    """As after a fresh start; a change of what recognition does not read concerns nobody else."""
    found = index()
    task = executor("exec", "d")
    found.set_pod(pod("d", DRIVER))
    found.set_pod(task)
    other = {**DRIVER, "spark-app-selector": "spark-2"}
    assert task in found.set_pod(pod("d", other))
    fresh = index()
    for each in found.pods.values():
        fresh.set_pod(each)
    assert apps(found) == apps(fresh) == {"d": "spark/spark-2", "exec": "pod/d"}
    assert found.set_pod(pod("d", {**other, "team": "x"}, annotations={names.REASON: "room"})) == []
    above = owner("SparkApplication", "pi", group="sparkoperator.k8s.io")
    assert task in found.set_pod(pod("d", other, owners=[above]))


def test_tasks_follow_a_driver_that_is_put_into_another_app() -> None:
    """By an annotation of its user, which comes after they were seen."""
    found = index()
    task = executor("exec", "d")
    found.set_pod(pod("d", DRIVER))
    found.set_pod(task)
    assert task in found.set_pod(pod("d", DRIVER, annotations={names.APP: "mine"}))
    assert apps(found) == {"d": "mine", "exec": "mine"}


def test_a_driver_under_another_owner_takes_no_id_over() -> None:
    """It and its executors are what its own owner makes of them, whatever id its label repeats."""
    found = index()
    job = owner("Job", "evil", group="batch")
    for each in (pod("good", DRIVER), executor("exec", "good"), pod("evil", DRIVER, owners=[job])):
        found.set_pod(each)
    found.set_pod(executor("evil-exec", "evil"))
    found.learn(job, ())
    assert apps(found) == {
        "good": "spark/spark-1",
        "exec": "spark/spark-1",
        "evil": "job/evil",
        "evil-exec": "job/evil",
    }


def test_whose_app_changes_is_told() -> None:
    """When the first driver ends the second takes the id over, with its executors."""
    found = index()
    first, second = pod("first", DRIVER, created=1.0), pod("second", DRIVER, created=2.0)
    task = executor("exec", "second")
    for each in (first, second, task):
        found.set_pod(each)
    changed = found.set_pod(pod("first", DRIVER, created=1.0, phase="Succeeded"))
    assert {each.name for each in changed} == {"second", "exec"}
    assert apps(found)["exec"] == "spark/spark-1"


def test_a_driver_that_died_and_came_back_keeps_its_app() -> None:
    """A failed driver is no duplicate of its successor."""
    found = index()
    found.set_pod(pod("first", DRIVER, created=1.0, phase="Failed"))
    found.set_pod(pod("second", DRIVER, created=2.0))
    assert set(apps(found).values()) == {"spark/spark-1"}


def test_executors_of_a_driver_outside_the_cluster_are_one_app() -> None:
    """Client mode: nothing owns them, nothing is doubted, and no driver is waited for."""
    found = index()
    tasks = [pod(f"exec-{number}", EXECUTOR) for number in range(3)]
    for each in tasks:
        found.set_pod(each)
    members = {found.member(each) for each in tasks}
    (member,) = members
    assert (member.app, member.role, member.name, member.doubts) == ("spark/spark-1@client", "task", "pi", ())
    assert member.client


def test_a_pod_without_owner_never_joins_a_driver_s_app() -> None:
    """The label alone would let any pod of the namespace be counted as part of it."""
    found = index()
    found.set_pod(pod("driver", DRIVER))
    found.set_pod(pod("stranger", EXECUTOR))
    assert apps(found) == {"driver": "spark/spark-1", "stranger": "spark/spark-1@client"}


def test_executors_of_a_notebook_are_one_app_of_its_own() -> None:
    """Client mode inside a pod that Spark did not make: the notebook is an app by itself."""
    found = index()
    found.set_pod(pod("notebook"))
    tasks = [executor(f"exec-{number}", "notebook") for number in range(2)]
    for each in tasks:
        found.set_pod(each)
    assert {found.member(each).app for each in tasks} == {"spark/spark-1@notebook"}
    assert not found.member(tasks[0]).doubts
    assert apps(found)["notebook"] == "pod/notebook"


def test_nothing_is_doubted_before_owners_were_looked_up() -> None:
    """A Dask scheduler below ReplicaSet and Deployment: its cluster stands above both."""
    found = index()
    replicas = owner("ReplicaSet", "simple-scheduler-7c", group="apps")
    deployment = owner("Deployment", "simple-scheduler", group="apps")
    scheduler = pod("s", {"dask.org/cluster-name": "simple", "dask.org/component": "scheduler"}, owners=[replicas])
    found.set_pod(scheduler)
    for known, above in ((replicas, deployment), (deployment, owner("DaskCluster", "simple"))):
        member = found.member(scheduler)
        assert not member.settled
        assert not member.doubts
        assert found.unknown() == [(known, "team")]
        assert found.learn(known, [above]) == [scheduler]
    assert found.member(scheduler).app == "dask/simple"
    assert found.unknown() == []


def forger(uid: str, kind: str, group: str = "") -> PodRecord:
    """A pod of another tenant that names an owner of this uid."""
    return pod("forger", owners=[owner(kind, "any", uid=uid, group=group, namespace="evil")], namespace="evil")


@pytest.mark.parametrize("first", [False, True], ids=["after", "before"])
def test_a_uid_that_another_tenant_writes_makes_nobody_a_driver(*, first: bool) -> None:
    """Uids can be read in metrics; owners are in the namespace of what they own."""
    found, task = index(evil="default"), pod("task", {"batch.kubernetes.io/job-name": "j"})
    forged = forger(task.uid, "Pod")
    for each in (forged, task) if first else (task, forged):
        found.set_pod(each)
    assert found.member(task).role != names.DRIVER
    found.drop_pod(forged)
    assert found.member(task).role != names.DRIVER


def test_what_is_found_above_an_owner_of_another_tenant_says_nothing_of_ours() -> None:
    """The same uid is looked up in both namespaces; it does not exist in the other."""
    found, step = index(evil="default"), owner("Step", "s", uid="step-1", group="acme.io")
    mine, forged = pod("p", owners=[step]), forger("step-1", "Step", "acme.io")
    for each in (forged, mine):
        found.set_pod(each)
    assert {(known.name, namespace) for known, namespace in found.unknown()} == {("any", "evil"), ("s", "team")}
    found.learn(forged.owners[0], [])
    found.learn(step, [owner("Pipeline", "main", group="acme.io")])
    found.learn(owner("Pipeline", "main", group="acme.io"), [])
    assert found.member(mine).app == "pipeline/main"


def test_pods_that_look_alike_are_recognised_once_though_their_owner_is_not_known_yet() -> None:
    """A cluster is listed faster than owners can be looked up: 150,000 pods must not each be puzzled over."""

    class Asked(PodIndex):
        questions = 0

        def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
            self.questions += 1
            return super().parents(owner)

    found, job = Asked(governed()), owner("Job", "j", group="batch")
    for number in range(100):
        found.set_pod(pod(f"p{number}", owners=[job]))
    assert found.questions <= 2
    assert found.unknown() == [(job, "team")]


def test_an_answer_given_before_the_owner_was_known_is_forgotten_when_it_is() -> None:
    """By a look-up, or because the owner is a pod that shows up later; for all pods that look alike."""
    found, job = index(), owner("Job", "j", group="batch")
    below, tasks = (
        [pod(f"p{each}", owners=[job]) for each in range(3)],
        [executor(f"e{each}", "d") for each in range(3)],
    )
    for each in (*below, *tasks):
        found.set_pod(each)
        assert not found.member(each).settled
    assert found.learn(job, [owner("JobSet", "train", group="jobset.x-k8s.io")]) == below
    assert found.learn(owner("JobSet", "train", group="jobset.x-k8s.io"), ()) == below
    assert found.set_pod(pod("d", DRIVER)) == tasks
    assert {found.member(each).app for each in below} == {"jobset/train"}
    assert {found.member(each).app for each in tasks} == {"spark/spark-1"}
    assert all(found.member(each).settled for each in (*below, *tasks))


@pytest.mark.parametrize("order", list(permutations(["alpha", "beta", "gamma"])))
def test_pods_whose_owners_are_no_app_are_apps_of_their_own(order: tuple[str, ...]) -> None:
    """An Argo Workflow owns them all and is no app: each has its own name, before it is looked up and after."""
    found, workflow = index(), owner("Workflow", "wf", group="argoproj.io")
    for name in order:
        found.set_pod(pod(name, owners=[workflow]))
    alone = {name: f"pod/{name}" for name in order}
    assert apps(found) == alone
    found.learn(workflow, [owner("CronWorkflow", "nightly", group="argoproj.io")])
    found.learn(owner("CronWorkflow", "nightly", group="argoproj.io"), ())
    assert apps(found) == alone
    assert all(found.member(each).settled for each in found.pods.values())


def test_a_false_label_is_doubted_once_all_owners_are_known() -> None:
    """The same pod below a Deployment that nobody owns."""
    found = index()
    deployment = owner("Deployment", "web", group="apps")
    liar = pod("s", {"dask.org/cluster-name": "simple"}, owners=[deployment])
    found.set_pod(liar)
    found.learn(deployment, ())
    assert "no DaskCluster" in found.member(liar).doubts[0]


def test_an_owner_nobody_waits_for_is_not_asked_about() -> None:
    """Its only pod went before the answer came."""
    found = index()
    gone = pod("a", owners=[owner("Job", "j", group="batch")])
    found.set_pod(gone)
    found.drop_pod(gone)
    assert found.unknown() == []


def test_driver_and_executors_may_be_labelled_with_different_names() -> None:
    """spark-submit --name labels the driver, the code's appName the executors; both are the same app."""
    found = index()
    driver = pod("driver", {**DRIVER, "spark-app-name": "nightly-etl"})
    task = executor("exec", "driver")
    found.set_pod(driver)
    found.set_pod(task)
    assert found.member(driver).app == found.member(task).app
    assert (found.member(driver).name, found.member(task).name) == ("nightly-etl", "pi")


def test_what_is_remembered_of_pods_that_are_gone_is_forgotten() -> None:
    """1,200 short apps, one after the other: memory is that of the pods that are there."""
    found = index()
    for number in range(1200):
        job = owner("Job", f"j{number}", uid=f"job-{number}", group="batch")
        driver = pod(f"d{number}", DRIVER, owners=[job])
        task = executor(f"e{number}", f"d{number}")
        for each in (driver, task):
            found.set_pod(each)
        found.learn(job, [])
        assert all(found.member(each).settled for each in (driver, task))
        for each in (driver, task):
            found.drop_pod(each)
    held = sizes(found)
    assert held["PodIndex._gone"] == held["PodIndex._owner_looks"] == 0
    assert held["PodIndex._parents"] <= FEW_OWNERS + 1
    assert sum(count for name, count in held.items() if name.startswith("RecentAnswers")) <= 2 * REMEMBERED


def test_answers_of_pods_that_are_there_are_kept() -> None:
    """Others come and go in any number; who is asked about all the time is recognised once."""
    recent = RecentAnswers[int, str]()
    recent.put(0, "stays", 10)
    for number in range(1, 1000):
        assert recent.get(0) == "stays"
        recent.put(number, "passes", 10)
    assert len(recent) <= 20


def test_who_becomes_a_duplicate_or_the_first_is_told_and_nobody_else() -> None:
    """Among many drivers with one id a change concerns two of them at most."""
    found = index()
    drivers = [pod(f"d{number}", DRIVER, created=float(number)) for number in range(2, 6)]
    told = [{each.name for each in found.set_pod(driver)} for driver in drivers]
    assert told == [set()] * 4
    older = pod("d1", DRIVER, created=1.0)
    assert [each.name for each in found.set_pod(older)] == ["d2"]
    assert found.drop_pod(drivers[2]) == []
    assert [each.name for each in found.drop_pod(older)] == ["d2"]
    assert apps(found) == {"d2": "spark/spark-1", "d3": "spark/spark-1@uid-d3", "d5": "spark/spark-1@uid-d5"}
