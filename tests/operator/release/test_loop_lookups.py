"""The whole loop on a cluster in memory: owners and sizes that are looked up."""

from typing import Any

import msgspec
import pytest

from slackwater.pools.pools import Category
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.apps.ownerlookup import READY
from slackwater_cluster.objects.records import CustomRecord, PodRecord
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import release_loop, turn, written


def test_owners_are_looked_up_through_discovery() -> None:
    """Pod, Job, JobSet: the app is named by the JobSet, and its size read from it."""
    world = enforcing(node("a", cpu=32))
    job = owned("Job", "train-w-0", uid="job", group="batch")
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    owner = {
        "kind": "JobSet",
        "name": "train",
        "uid": "set",
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "controller": True,
    }
    world.objects = {
        "/apis": {"groups": [{"name": "batch", "preferredVersion": {"version": "v1"}}]},
        "/apis/batch/v1": {"resources": [{"kind": "Job", "name": "jobs", "namespaced": True}]},
        "/apis/batch/v1/namespaces/team/jobs/train-w-0": {"metadata": {"uid": "job", "ownerReferences": [owner]}},
    }
    world.create("w-0", labels=labels, owners=[job])
    made = release_loop(world)
    turn(made, world)
    turn(made, world, 3)
    assert list(made.cache.views) == ["team/jobset/train"]


def test_owner_that_is_gone_does_not_hold_a_pod_for_ever() -> None:
    """An executor whose driver was deleted long ago is released as what it is: a pod."""
    world = enforcing(node("a"))
    pod = world.create("exec", labels={"spark-app-selector": "s"}, owners=[owned("Pod", "driver", uid="long-gone")])
    made = release_loop(world)
    turn(made, world, 3)
    assert world.pods[pod.uid].node == "a"


def test_size_is_read_from_the_frameworks_object() -> None:
    """A Ray head alone: how many workers will come stands in its RayCluster."""
    world = enforcing(node("a"))
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    world.objects["/apis/ray.io/v1/namespaces/team/rayclusters/r"] = {
        "spec": {"workerGroupSpecs": [{"replicas": 5, "template": template}]}
    }
    labels = {"ray.io/cluster": "r", "ray.io/node-type": "head"}
    world.create(
        "head", role="driver", labels=labels, owners=[owned("RayCluster", "r", group="ray.io")], gates=(names.GATE, "x")
    )
    made = release_loop(world)
    turn(made, world, 2)
    size = made.cache.views["team/ray/r"].size
    assert size is not None
    assert (size.tasks, size.request["cpu"]) == (5, 2.0)


@pytest.mark.parametrize("named", ["v1", "v2beta1", "v9"])
@pytest.mark.parametrize("served", ["v1", "v2beta1"])
def test_size_is_asked_for_in_the_version_that_pods_name_then_in_the_table_s(named: str, served: str) -> None:
    """MPIJobs of the training operator are of v1, those of the MPI operator of v2beta1."""
    world = enforcing(node("a"))
    body = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 5}}}}
    world.objects[f"/apis/kubeflow.org/{served}/namespaces/team/mpijobs/m"] = body
    labels = {
        "training.kubeflow.org/job-name": "m",
        "training.kubeflow.org/operator-name": "mpijob-controller",
        "training.kubeflow.org/job-role": "launcher",
    }
    above = msgspec.structs.replace(owned("MPIJob", "m", group="kubeflow.org"), version=named)
    world.create("launcher", role="driver", labels=labels, owners=[above], gates=(names.GATE, "x"))
    made = release_loop(world)
    turn(made, world, 2)
    size = made.cache.views["team/mpi/m"].size
    assert (size.tasks if size else None) == (5 if served in (named, "v2beta1") else None)


def test_job_whose_pods_are_still_being_made_is_not_small() -> None:
    """One pod of forty exists; the Job above it says what is to come, and the category follows from that."""
    world = enforcing(*(node(name, cpu=10) for name in "abcd"))
    world.configure("ReservationPool", "pool", queue="default")
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}
    body = {"metadata": {"uid": "Job-big"}, "spec": {"parallelism": 40, "template": template}}
    world.objects["/apis/batch/v1/namespaces/team/jobs/big"] = body
    labels = {"batch.kubernetes.io/job-name": "big"}
    world.create("big-0", labels=labels, owners=[owned("Job", "big", group="batch")])
    world.create("named-0", app="etl", labels=labels, owners=[owned("Job", "big", group="batch")])
    made = release_loop(world)
    turn(made, world)
    assert made.cache.views.histories.categories() == {"team/job/big": Category.LARGE, "team/etl": Category.LARGE}


def test_a_size_that_nobody_told_is_asked_for_again() -> None:
    """The API server does not answer: the app goes without its size, and has it a while later."""
    world = enforcing(node("a"))
    world.configure("ReservationPool", "pool", queue="default")
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    path = "/apis/batch/v1/namespaces/team/jobs/big"
    world.objects[path] = {"metadata": {"uid": "Job-big"}, "spec": {"parallelism": 40, "template": template}}
    world.cache.learn(owned("Job", "big", group="batch"), ())
    labels = {"batch.kubernetes.io/job-name": "big"}
    pod = world.create("big-0", labels=labels, owners=[owned("Job", "big", group="batch")])
    made = release_loop(world)
    world.broken = lambda asked: asked == path
    turn(made, world, 2)
    assert made.cache.views["team/job/big"].size is None
    assert world.pods[pod.uid].node, "nobody waits for an answer that does not come"
    world.broken = lambda _: False
    turn(made, world, 15)
    size = made.cache.views["team/job/big"].size
    assert size is not None
    assert size.tasks == 40


@pytest.mark.parametrize("ready", [False, True], ids=["it is just starting", "it is ready"])
def test_a_size_is_refused_by_a_ready_server_only(ready: bool) -> None:
    """An API server that has not read its roles yet refuses all: the size is asked for again; else never."""
    world = enforcing(node("a"))
    world.configure("ReservationPool", "pool", queue="default")
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    job = "/apis/batch/v1/namespaces/team/jobs/big"
    world.objects[job] = {"metadata": {"uid": "Job-big"}, "spec": {"parallelism": 40, "template": template}}
    world.cache.learn(owned("Job", "big", group="batch"), ())
    world.create("big-0", labels={"batch.kubernetes.io/job-name": "big"}, owners=[owned("Job", "big", group="batch")])
    refused, get = {job: 403, READY: 200 if ready else 500}, world.get

    async def refusing(path: str, *parameters: Any, **more: Any) -> Answer:
        return Answer(refused[path], b"{}") if path in refused else await get(path, *parameters, **more)

    def tasks() -> int | None:
        size = made.cache.views["team/job/big"].size
        return size.tasks if size else None

    world.get = refusing  # type: ignore[method-assign]
    made = release_loop(world)
    turn(made, world, 2)
    assert tasks() is None
    refused.clear()
    turn(made, world, 15)
    assert tasks() == (None if ready else 40)


TORCH = {"training.kubeflow.org/job-name": "fit", "training.kubeflow.org/job-role": "worker"}
VOLCANO = {"volcano.sh/job-name": "fit", "volcano.sh/task-spec": "worker"}
REPLICAS = {"Worker": {"replicas": 1}}


@pytest.mark.parametrize(
    ("labels", "owner", "path", "spec", "goes"),
    [
        (TORCH, ("PyTorchJob", "kubeflow.org"), "kubeflow.org/v1", {"pytorchReplicaSpecs": REPLICAS}, True),
        (
            TORCH,
            ("PyTorchJob", "kubeflow.org"),
            "kubeflow.org/v1",
            {"pytorchReplicaSpecs": {**REPLICAS, "Master": {}}},
            False,
        ),
        (TORCH, ("JAXJob", "kubeflow.org"), "kubeflow.org/v1", {"pytorchReplicaSpecs": REPLICAS}, False),
        (VOLCANO, ("Job", "batch.volcano.sh"), "batch.volcano.sh/v1alpha1", {"tasks": [{"name": "worker"}]}, True),
        (
            VOLCANO,
            ("Job", "batch.volcano.sh"),
            "batch.volcano.sh/v1alpha1",
            {"tasks": [{"name": "worker"}, {"name": "master"}]},
            False,
        ),
    ],
    ids=["workers only", "with a master", "another kind of that name", "Volcano, no master", "Volcano, with a master"],
)
def test_workers_do_not_wait_for_a_driver_that_their_object_does_not_have(
    labels: dict[str, str], owner: tuple[str, str], path: str, spec: dict[str, Any], goes: bool
) -> None:
    """The object says that there is no master: they go at once."""
    world = enforcing(node("a"))
    above = owned(owner[0], "fit", group=owner[1])
    plural = "jobs" if "volcano" in path else "pytorchjobs"
    world.objects[f"/apis/{path}/namespaces/team/{plural}/fit"] = {"metadata": {"uid": above.uid}, "spec": spec}
    world.cache.learn(above, ())
    pod = world.create("w0", labels=labels, owners=[above])
    made = release_loop(world)
    turn(made, world, 3)
    assert bool(world.pods[pod.uid].node) is goes


LEADS = {"jobset.sigs.k8s.io/coordinator": "fit-w-0-0.fit"}


@pytest.mark.parametrize(
    ("annotations", "goes"), [({}, True), (LEADS, False)], ids=["nobody leads", "a coordinator leads"]
)
def test_pods_of_a_jobset_without_a_launcher_wait_for_its_coordinator_only(
    annotations: dict[str, str], goes: bool
) -> None:
    """Its object, asked for the sake of a pool, names no launcher: that says nothing of a coordinator."""
    world = enforcing(node("a"))
    world.configure("ReservationPool", "pool", queue="default")
    above = owned("JobSet", "fit", group="jobset.x-k8s.io")
    body = {"metadata": {"uid": above.uid}, "spec": {"replicatedJobs": [{"name": "w"}]}}
    world.objects["/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/fit"] = body
    world.cache.learn(above, ())
    labels = {"jobset.sigs.k8s.io/jobset-name": "fit", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    pod = world.create("fit-w-0-1", labels=labels, owners=[above], annotations=annotations)
    made = release_loop(world)
    turn(made, world, 3)
    assert bool(world.pods[pod.uid].node) is goes


@pytest.mark.parametrize("app", ["etl", ""], ids=["our label", "the Job's name"])
@pytest.mark.parametrize("tasks", [0, 1], ids=["alone", "with a task of its own making"])
def test_job_around_a_driver_says_nothing_of_tasks(app: str, tasks: int) -> None:
    """Six of eight CPUs for the driver: another pod like it would not fit, and none will come; it runs at once."""
    world = enforcing(node("a", cpu=8))
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "6", "memory": "1Gi"}}}]}}
    body = {"metadata": {"uid": "Job-one"}, "spec": {"parallelism": 1, "template": template}}
    world.objects["/apis/batch/v1/namespaces/team/jobs/one"] = body
    labels = {"batch.kubernetes.io/job-name": "one"}
    boss = world.create(
        "one-0", cpu=6, role="driver", app=app, labels=labels, owners=[owned("Job", "one", group="batch")]
    )
    for number in range(tasks):
        world.create(f"t{number}", app=app, labels=labels, owners=[owned("Pod", "one-0", uid=boss.uid)])
    made = release_loop(world)
    turn(made, world, 2)
    assert made.cache.views[f"team/{app or 'job/one'}"].size is None
    assert world.pods[boss.uid].node == "a"


def test_sizes_of_runs_outlive_the_leader() -> None:
    """What a run turned out to be stands in its TrackedApp; a new leader knows the next run by it."""
    world = enforcing(node("a", cpu=32))
    pods = [world.create("n-28900-driver", role="driver", app="nightly-28900")]
    pods += [world.create(f"n-28900-{number}", cpu=0.5, app="nightly-28900") for number in range(4)]
    made = release_loop(world)
    turn(made, world, 3)
    world.delete(*[world.pods[pod.uid] for pod in pods])
    turn(made, world, 3)
    status = written(world, "/trackedapps/nightly-28900/status")[-1]["status"]
    assert status["phase"] == "Finished"
    assert status["learned"] == {"series": "nightly", "tasks": 4, "request": {"cpu": "500m", "memory": str(2**30)}}
    world.restart()
    fresh = release_loop(world)
    spec = {"app": "nightly-28900"}
    fresh.tracker.set([CustomRecord(name="nightly-28900", namespace="team", spec=spec, status=status)])
    fresh.tracker.restore(fresh.cache)
    turn(fresh, world, 90)
    assert not [path for method, path, _ in world.posted if method == "DELETE"]  # the last of its series stays
    world.create("n-28901-driver", role="driver", app="nightly-28901")
    turn(fresh, world)
    size = fresh.cache.views["team/nightly-28901"].size
    assert size is not None
    assert (size.tasks, size.request["cpu"], size.source) == (4, 0.5, "history")


GANG = {names.GANG: "true", names.TASKS: "3"}


def broken_gang(world: World, **more: Any) -> tuple[dict[str, Any], list[PodRecord]]:
    """One member ended and is gone with its node, another is made anew; what a leader wrote of it, and who is left."""
    pods = [world.create(f"g-{number}", cpu=1, annotations=GANG, **more) for number in range(3)]
    made = release_loop(world)
    turn(made, world, 3)
    world.finish(pods[0].uid)
    again = world.create("g-1-again", cpu=1, annotations=GANG, **more)
    turn(made, world, 12)
    status = next(body["status"] for body in reversed(written(world, "/status")) if "assembled" in body["status"])
    world.delete(*[world.pods[pod.uid] for pod in pods])
    world.change(again.uid, node="", phase="Pending", gates=(names.GATE,), started=0.0, scheduled=0.0)
    return status, [again, world.create("g-2-again", cpu=1, annotations=GANG, **more)]


def led_anew(world: World, app: str, status: dict[str, Any]) -> None:
    """Another leader takes over, and knows what the one before it wrote."""
    world.restart()
    fresh = release_loop(world)
    fresh.cache.views.refresh()
    fresh.tracker.set([CustomRecord(name="gang", namespace="team", spec={"app": app}, status=status)])
    fresh.tracker.restore(fresh.cache)
    turn(fresh, world, 90)


def test_what_is_left_of_a_gang_goes_on_under_a_new_leader() -> None:
    """Nobody sees any more that all were there, but it was written."""
    world = enforcing(node("a", cpu=1), node("b", cpu=8))
    status, rest = broken_gang(world, app="gang")
    led_anew(world, "gang", status)
    assert all(world.pods[pod.uid].node for pod in rest)


def test_so_does_one_whose_owners_are_to_be_looked_up() -> None:
    """Its app has another name before that; what was written waits for it."""
    world = enforcing(node("a", cpu=1), node("b", cpu=8))
    owner = {"kind": "JobSet", "name": "train", "uid": "set", "apiVersion": "jobset.x-k8s.io/v1", "controller": True}
    world.objects = {
        "/apis": {"groups": [{"name": "batch", "preferredVersion": {"version": "v1"}}]},
        "/apis/batch/v1": {"resources": [{"kind": "Job", "name": "jobs", "namespaced": True}]},
        "/apis/batch/v1/namespaces/team/jobs/train-w": {"metadata": {"uid": "job", "ownerReferences": [owner]}},
    }
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    job = owned("Job", "train-w", uid="job", group="batch")
    status, rest = broken_gang(world, labels=labels, owners=[job])
    led_anew(world, "jobset/train", status)
    assert all(world.pods[pod.uid].node for pod in rest)


def test_a_part_of_the_next_try_of_a_gang_waits_for_all_of_it() -> None:
    """What was written is of the run before it: all its pods were made later."""
    world = enforcing(node("a", cpu=1), node("b", cpu=8))
    status, rest = broken_gang(world, app="gang")
    world.delete(*[world.pods[pod.uid] for pod in rest])
    world.now += 100
    tried = [world.create(f"g-{number}-next", cpu=1, app="gang", annotations=GANG) for number in range(2)]
    led_anew(world, "gang", status)
    assert not any(world.pods[pod.uid].node for pod in tried)


@pytest.mark.parametrize(("tasks", "size"), [(0, 4), (2, None)], ids=["driver only", "with tasks of its own"])
def test_a_new_leader_sizes_an_app_that_is_here_already_by_the_run_before_it(tasks: int, size: int | None) -> None:
    """At once, not after its next change; what was learned of an app that has tasks is of this run, not the last."""
    world = enforcing(node("a", cpu=32))
    world.create("n-28901-driver", role="driver", app="nightly-28901")
    for number in range(tasks):
        world.create(f"n-28901-{number}", app="nightly-28901")
    world.cache.views.refresh()
    made = release_loop(world)
    status = {"learned": {"series": "nightly", "tasks": 4, "request": {"cpu": "500m"}}}
    spec = {"app": "nightly-28901"}
    made.tracker.set([CustomRecord(name="nightly-28901", namespace="team", spec=spec, status=status)])
    made.tracker.restore(world.cache)
    found = world.cache.views["team/nightly-28901"].size
    assert (found.tasks if found else None) == size


def test_an_app_submitted_again_with_lower_requests_is_judged_by_these() -> None:
    """Refused as infeasible, taken away, and back under its name as the refusal advised: what it asked then is over."""
    world = enforcing(node("a", cpu=2))
    made = release_loop(world)
    for attempt, cpu in (("first", 4.0), ("second", 0.5)):
        pods = [world.create(f"{attempt}-driver", cpu=0.1, role="driver", app="etl")]
        pods += [world.create(f"{attempt}-{number}", cpu=cpu, app="etl") for number in range(2)]
        turn(made, world, 5)
        if attempt == "first":
            assert written(world, "/trackedapps/etl/status")[-1]["status"]["reason"] == "infeasible"
            world.delete(*[world.pods[pod.uid] for pod in pods])
            turn(made, world, 2)
    assert all(world.pods[pod.uid].node == "a" for pod in pods)
