"""Pods as the frameworks really write them: labels and owner references lead to app, role and stage."""

import pytest

from slackwater_cluster.apps.resolver import Resolver, Rule
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.objects.records import PodRecord
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
    "StatefulSet-spark-s-spark-6f5e2b-0": (owner("Pod", "etl-driver", uid="uid-etl-driver"),),
    "ReplicaSet-session-5d": (owner("Deployment", "session", group="apps"),),
    "Job-pi-mpi-launcher": (owner("MPIJob", "pi-mpi", group="kubeflow.org"),),
    "Job-train-workers-0": (owner("JobSet", "train", group="jobset.x-k8s.io"),),
    "JobSet-train": (owner("TrainJob", "train", group="trainer.kubeflow.org"),),
    "Job-raysort-submit": (owner("RayJob", "raysort", group="ray.io"),),
    "StatefulSet-llm": (owner("LeaderWorkerSet", "llm", group="leaderworkerset.x-k8s.io"),),
    "StatefulSet-llm-1": (owner("Pod", "llm-1", uid="uid-llm-1"),),
    "ReplicaSet-simple-scheduler-7c": (owner("Deployment", "simple-scheduler", group="apps"),),
    "Deployment-simple-scheduler": (owner("DaskCluster", "simple", group="kubernetes.dask.org"),),
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
    "spark executor of the StatefulSet allocator": (
        pod(
            "spark-s-spark-6f5e2b-0-0",
            {**SPARK, "spark-role": "executor", "spark-exec-resourceprofile-id": "0"},
            owners=[owner("StatefulSet", "spark-s-spark-6f5e2b-0", group="apps")],
        ),
        "spark/spark-6f5e2b",
        "task",
        "0",
    ),
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
