"""Which app a pod belongs to: labels and owner references as the frameworks really write them."""

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

SPARK = {"spark-app-selector": "spark-6f5e2b", "spark-app-name": "etl", "spark-version": "4.0.0"}
spark_driver = pod("etl-driver", {**SPARK, "spark-role": "driver"})
spark_executor = pod(
    "etl-exec-1",
    {**SPARK, "spark-role": "executor", "spark-exec-id": "1", "spark-exec-resourceprofile-id": "0"},
    owners=[owner("Pod", "etl-driver", uid="uid-etl-driver")],
)
OPERATED = {**SPARK, "sparkoperator.k8s.io/app-name": "pi", "sparkoperator.k8s.io/submission-id": "77"}
pi_driver = pod(
    "pi-driver",
    {**OPERATED, "spark-role": "driver"},
    owners=[owner("SparkApplication", "pi", group="sparkoperator.k8s.io")],
)
pi_executor = pod(
    "pi-exec-1", {**OPERATED, "spark-role": "executor"}, owners=[owner("Pod", "pi-driver", uid="uid-pi-driver")]
)
APACHE = {**SPARK, "spark.operator/spark-app-name": "pi"}
apache_driver = pod(
    "pi-0-driver",
    {**APACHE, "spark-role": "driver"},
    owners=[owner("SparkApplication", "pi", group="spark.apache.org")],
)
FLINK = {"app": "session", "type": "flink-native-kubernetes"}
RAY = {"ray.io/cluster": "raysort", "ray.io/is-ray-node": "yes", "app.kubernetes.io/created-by": "kuberay-operator"}
MPI = {"training.kubeflow.org/job-name": "pi-mpi", "training.kubeflow.org/operator-name": "mpi-operator"}
TORCH = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/operator-name": "pytorchjob-controller"}
JOBSET = {"jobset.sigs.k8s.io/jobset-name": "train", "batch.kubernetes.io/job-name": "train-workers-0"}
LWS = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": "1"}
DASK = {"dask.org/cluster-name": "simple"}

# Owners above owners, as the API server would answer.
ABOVE = {
    "ReplicaSet-session-5d": (owner("Deployment", "session", group="apps"),),
    "Job-pi-mpi-launcher": (owner("MPIJob", "pi-mpi", group="kubeflow.org"),),
    "Job-train-workers-0": (owner("JobSet", "train", group="jobset.x-k8s.io"),),
    "JobSet-train": (owner("TrainJob", "train", group="trainer.kubeflow.org"),),
    "Job-raysort-submit": (owner("RayJob", "raysort", group="ray.io"),),
    "StatefulSet-llm": (owner("LeaderWorkerSet", "llm", group="leaderworkerset.x-k8s.io"),),
    "StatefulSet-llm-1": (owner("Pod", "llm-1", uid="uid-llm-1"),),
    "ReplicaSet-simple-scheduler-7c": (owner("Deployment", "simple-scheduler", group="apps"),),
    "Deployment-simple-scheduler": (owner("DaskCluster", "simple", group="kubernetes.dask.org"),),
    "Job-nightly-291": (owner("CronJob", "nightly", group="batch"),),
    "Job-step": (owner("Workflow", "flow", group="argoproj.io"),),
}
llm_leader = pod(
    "llm-1", {**LWS, "leaderworkerset.sigs.k8s.io/worker-index": "0"}, owners=[owner("StatefulSet", "llm")]
)
PODS = (spark_driver, spark_executor, pi_driver, pi_executor, apache_driver, llm_leader)
OWNERS = Owners(PODS, ABOVE)

# Each is a pod with its expected app, role and stage.
REAL = {
    "spark driver": (spark_driver, "spark/spark-6f5e2b", "driver", ""),
    "spark executor": (spark_executor, "spark/spark-6f5e2b", "task", "0"),
    "spark-operator driver": (pi_driver, "spark-operator/pi", "driver", ""),
    "spark-operator executor": (pi_executor, "spark-operator/pi", "task", ""),
    "driver of Apache's operator": (apache_driver, "spark-application/pi", "driver", ""),
    "executor of Apache's operator": (
        pod(
            "pi-0-exec-1",
            {**APACHE, "spark-role": "executor"},
            owners=[owner("Pod", "pi-0-driver", uid="uid-pi-0-driver")],
        ),
        "spark-application/pi",
        "task",
        "",
    ),
    "flink jobmanager": (
        pod("jm", {**FLINK, "component": "jobmanager"}, owners=[owner("ReplicaSet", "session-5d", group="apps")]),
        "flink/session",
        "driver",
        "jobmanager",
    ),
    "flink taskmanager": (
        pod("tm", {**FLINK, "component": "taskmanager"}, owners=[owner("Deployment", "session", group="apps")]),
        "flink/session",
        "task",
        "taskmanager",
    ),
    "ray head": (
        pod(
            "head",
            {**RAY, "ray.io/node-type": "head", "ray.io/group": "headgroup"},
            owners=[owner("RayCluster", "raysort", group="ray.io")],
        ),
        "ray/raysort",
        "driver",
        "headgroup",
    ),
    "ray worker": (
        pod(
            "w1",
            {**RAY, "ray.io/node-type": "worker", "ray.io/group": "gpu"},
            owners=[owner("RayCluster", "raysort", group="ray.io")],
        ),
        "ray/raysort",
        "task",
        "gpu",
    ),
    "rayjob submitter": (
        pod(
            "raysort-submit",
            {
                "ray.io/originated-from-cr-name": "raysort",
                "ray.io/originated-from-crd": "RayJob",
                "batch.kubernetes.io/job-name": "raysort-submit",
            },
            owners=[owner("Job", "raysort-submit", group="batch")],
        ),
        "rayjob-submitter/raysort",
        "driver",
        "",
    ),
    "mpi launcher": (
        pod(
            "launcher",
            {**MPI, "training.kubeflow.org/job-role": "launcher", "batch.kubernetes.io/job-name": "pi-mpi-launcher"},
            owners=[owner("Job", "pi-mpi-launcher", group="batch")],
        ),
        "mpi/pi-mpi",
        "driver",
        "launcher",
    ),
    "mpi worker": (
        pod(
            "pi-worker-0",
            {**MPI, "training.kubeflow.org/job-role": "worker", "training.kubeflow.org/replica-index": "0"},
            owners=[owner("MPIJob", "pi-mpi", group="kubeflow.org")],
        ),
        "mpi/pi-mpi",
        "task",
        "worker",
    ),
    "pytorch master": (
        pod(
            "bert-master-0",
            {**TORCH, "training.kubeflow.org/job-role": "master", "training.kubeflow.org/replica-type": "master"},
            owners=[owner("PyTorchJob", "bert", group="kubeflow.org")],
        ),
        "training/bert",
        "driver",
        "master",
    ),
    "pytorch worker": (
        pod(
            "bert-worker-0",
            {**TORCH, "training.kubeflow.org/replica-type": "worker"},
            owners=[owner("PyTorchJob", "bert", group="kubeflow.org")],
        ),
        "training/bert",
        "task",
        "worker",
    ),
    "tensorflow parameter server": (
        pod(
            "mnist-ps-0",
            {"training.kubeflow.org/job-name": "mnist", "training.kubeflow.org/replica-type": "ps"},
            owners=[owner("TFJob", "mnist", group="kubeflow.org")],
        ),
        "training/mnist",
        "task",
        "ps",
    ),
    "trainer v2 launcher": (
        pod(
            "train-launcher-0-0",
            {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "launcher"},
            owners=[owner("Job", "train-workers-0", group="batch")],
        ),
        "jobset/train",
        "driver",
        "launcher",
    ),
    "trainer v2 node": (
        pod(
            "train-node-0-0",
            {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "node"},
            owners=[owner("Job", "train-workers-0", group="batch")],
        ),
        "jobset/train",
        "task",
        "node",
    ),
    "jobset worker": (
        pod(
            "train-workers-0-1",
            {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "workers"},
            owners=[owner("Job", "train-workers-0", group="batch")],
            hostname="train-workers-0-1",
            annotations={"jobset.sigs.k8s.io/coordinator": "train-workers-0-0.train"},
        ),
        "jobset/train",
        "task",
        "workers",
    ),
    "jobset coordinator": (
        pod(
            "train-workers-0-0",
            {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "workers"},
            owners=[owner("Job", "train-workers-0", group="batch")],
            hostname="train-workers-0-0",
            annotations={"jobset.sigs.k8s.io/coordinator": "train-workers-0-0.train"},
        ),
        "jobset/train",
        "driver",
        "workers",
    ),
    "leaderworkerset leader": (llm_leader, "leaderworkerset/llm/1", "driver", ""),
    "leaderworkerset worker": (
        pod(
            "llm-1-1", {**LWS, "leaderworkerset.sigs.k8s.io/worker-index": "1"}, owners=[owner("StatefulSet", "llm-1")]
        ),
        "leaderworkerset/llm/1",
        "task",
        "",
    ),
    "dask scheduler": (
        pod(
            "simple-scheduler",
            {**DASK, "dask.org/component": "scheduler"},
            owners=[owner("ReplicaSet", "simple-scheduler-7c")],
        ),
        "dask/simple",
        "driver",
        "",
    ),
    "dask worker": (
        pod(
            "simple-worker",
            {**DASK, "dask.org/component": "worker", "dask.org/workergroup-name": "default"},
            owners=[owner("DaskWorkerGroup", "simple-default", group="kubernetes.dask.org")],
        ),
        "dask/simple",
        "task",
        "default",
    ),
    "argo step": (
        pod(
            "flow-1",
            {"workflows.argoproj.io/workflow": "flow"},
            owners=[owner("Workflow", "flow", group="argoproj.io")],
        ),
        "argo/flow",
        "task",
        "",
    ),
    "indexed job": (
        pod(
            "etl-0",
            {"batch.kubernetes.io/job-name": "etl", "batch.kubernetes.io/job-completion-index": "0"},
            owners=[owner("Job", "etl", group="batch")],
        ),
        "job/etl",
        "task",
        "",
    ),
    "volcano master": (
        pod(
            "tf-master-0",
            {"volcano.sh/job-name": "tf", "volcano.sh/task-spec": "master"},
            owners=[owner("Job", "tf", group="batch.volcano.sh")],
        ),
        "volcano/tf",
        "driver",
        "master",
    ),
}


@pytest.mark.parametrize(("seen", "app", "role", "stage"), REAL.values(), ids=REAL)
def test_pods_of_real_frameworks(seen: PodRecord, app: str, role: str, stage: str) -> None:
    """Labels and owners as each framework writes them lead to its app, role and stage."""
    member = RESOLVER.resolve(seen, OWNERS)
    assert (member.app, member.role, member.stage) == (app, role, stage)
    assert member.rule is Rule.FRAMEWORK
    assert member.settled
    assert member.doubts == ()


def test_own_labels_win() -> None:
    """A user's word about app, role and stage needs no guess."""
    labels = {
        **spark_executor.labels,
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
    other = pod("other", {**SPARK, "spark-app-selector": "another", "spark-role": "driver"})
    member = RESOLVER.resolve(stranger, Owners((spark_driver, other)))
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
    found = [RESOLVER.resolve(each, Owners((driver, task), ABOVE)) for each in (driver, task)]
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


def test_executor_that_comes_before_its_driver_waits_for_it() -> None:
    """Nothing is settled until the owner was seen; then the executor joins its app."""
    early = RESOLVER.resolve(spark_executor, Owners((spark_executor,)))
    assert not early.settled
    assert RESOLVER.resolve(spark_executor, OWNERS).app == "spark/spark-6f5e2b"


def test_owners_that_were_never_looked_up_are_asked_for() -> None:
    """A JobSet stands above the Job: until somebody looks, the answer names whom to ask about."""
    seen = REAL["jobset worker"][0]
    member = RESOLVER.resolve(seen, Owners(unseen=frozenset({"Job-train-workers-0"})))
    assert member.unknown == owner("Job", "train-workers-0", group="batch")


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
    assert RESOLVER.resolve(pod("s", owners=[owner("Job", "step", group="batch")]), OWNERS).app == "job/step"
    assert (
        RESOLVER.resolve(pod("n", owners=[owner("Job", "nightly-291", group="batch")]), OWNERS).app == "job/nightly-291"
    )


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
