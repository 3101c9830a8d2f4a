"""The whole loop on a cluster in memory: rounds, upkeep, look-ups, words and status."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from prometheus_client import generate_latest
from structlog.testing import capture_logs

import slackwater
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.watch.records import CustomRecord, PodRecord
from slackwater_operator.release.extenderclient import NodeUse
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import GIB, World, enforcing, node, owned
from support.fakes.loop import release_loop


def turn(made: ReleaseLoop, world: World, times: int = 1, seconds: float = 1.0) -> None:
    """Some turns, with time passing and pods being bound in between."""

    async def once() -> None:
        await made.look_up()
        await made.turn()
        await made.releaser.writes.drain()
        await made.maintain()

    for _ in range(times):
        asyncio.run(once())
        world.schedule()
        world.now += seconds


def seen(made: ReleaseLoop, kind: str, name: str, **status: Any) -> None:
    """An object as the watch shows it."""
    made.reporter.set(kind, [CustomRecord(name=name, generation=3, status=status)])


def written(world: World, part: str) -> list[Any]:
    """Bodies of writes whose path contains a part."""
    return [body for _, path, body in world.posted if part in path]


def test_one_turn_releases_and_the_next_ones_tell() -> None:
    """Pods run, the TrackedApp is made and brought up to date, an Event tells of the start."""
    world = enforcing(node("a"))
    for number in range(3):
        world.create(f"t{number}", app="etl")
    made = release_loop(world)
    turn(made, world, 20)
    assert all(pod.node for pod in world.pods.values())
    assert written(world, "/trackedapps/etl/status")[-1]["status"]["pods"]["bound"] == 3
    assert "Released" in {body["reason"] for body in written(world, "/events")}


def test_a_parked_pod_is_told() -> None:
    """Somebody took the room of a released pod: after the timeout it is parked, with an event that says so."""
    world = enforcing(node("a", cpu=2))
    pod = world.create("t", cpu=2, app="etl")
    made = release_loop(world)
    asyncio.run(made.turn())
    other = world.create("thief", cpu=2, namespace="kube-system", gates=(), scheduler="default-scheduler")
    world.change(other.uid, node="a", phase="Running")
    turn(made, world, 70)
    assert world.pods[pod.uid].parked
    told = [body for body in written(world, "/events") if body["reason"] == "Parked"]
    assert [(body["involvedObject"]["name"], body["type"]) for body in told] == [("t", "Normal")]


def test_at_rest_nothing_is_written() -> None:
    """After everything was told, further turns write nothing at all."""
    world = enforcing(node("a", cpu=2))
    for number in range(4):
        world.create(f"t{number}", app="etl")
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    turn(made, world, 60)
    before = (len(world.posted), len(world.writes))
    turn(made, world, 60)
    assert (len(world.posted), len(world.writes)) == before


def test_held_pods_get_a_reason_only_in_quiet_times() -> None:
    """Not while releases go on, and once per class."""
    world = enforcing(node("a", cpu=1))
    pod = world.create("t", cpu=4, app="etl")
    made = release_loop(world)
    made.releaser.writes.last_release = world.now
    turn(made, world, 3)
    assert names.REASON not in world.pods[pod.uid].annotations
    turn(made, world, 10)
    assert world.pods[pod.uid].annotations[names.REASON] == "larger-than-any-node"
    assert sum("/pods/t" in write for write in world.writes) == 1


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
    assert made.cache.histories.categories() == {"team/job/big": Category.LARGE, "team/etl": Category.LARGE}


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


@pytest.mark.parametrize(("tasks", "size"), [(0, 4), (2, None)], ids=["driver only", "with tasks of its own"])
def test_a_new_leader_sizes_an_app_that_is_here_already_by_the_run_before_it(tasks: int, size: int | None) -> None:
    """At once, not after its next change; what was learned of an app that has tasks is of this run, not the last."""
    world = enforcing(node("a", cpu=32))
    world.create("n-28901-driver", role="driver", app="nightly-28901")
    for number in range(tasks):
        world.create(f"n-28901-{number}", app="nightly-28901")
    world.cache.refresh()
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


def test_app_that_is_gone_is_not_told_as_held() -> None:
    """Two seconds after its pods were deleted the TrackedApp counts none of them."""
    world = enforcing(node("a", cpu=1))
    pod = world.create("t", cpu=4, app="etl")
    made = release_loop(world)
    turn(made, world, 12)
    assert written(world, "/trackedapps/etl/status")[-1]["status"]["pods"]["held"] == 1
    world.delete(world.pods[pod.uid])
    turn(made, world, 2)
    told = written(world, "/trackedapps/etl/status")
    assert (told[-1]["status"]["phase"], sum(told[-1]["status"]["pods"].values())) == ("Finished", 0)
    turn(made, world, 10)
    assert len(written(world, "/trackedapps/etl/status")) == len(told)


def stalled(world: World, *, bare: bool, evict: bool = True) -> ReleaseLoop:
    """Two drivers on the only node, a task of each waits, and none fits."""
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": evict})
    for name in ("older", "younger"):
        owners = [] if bare else [owned("Controller", name)]
        boss = world.create(f"{name}-driver", cpu=4, role="driver", app=name, owners=owners)
        world.change(boss.uid, node="a", gates=(), phase="Running", started=world.now)
        world.create(f"{name}-task", cpu=4, app=name)
        world.now += 5
    return release_loop(world)


@dataclass
class Guarded(World):
    """A cluster whose disruption budgets refuse every eviction, with this status and these words."""

    status: int = 429
    words: str = ""
    asked: int = 0

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """Evictions are refused, everything else as in any world."""
        if not path.endswith("/eviction"):
            return await super().write(method, path, body, content_type=content_type)
        self.asked += 1
        return Answer(self.status, msgspec.json.encode({"message": self.words}))


def drivers(world: World) -> list[str]:
    """Driver pods that exist."""
    return sorted(pod.name for pod in world.pods.values() if pod.labels[names.ROLE] == names.DRIVER)


def test_a_stall_is_ended_by_evicting_the_youngest_driver() -> None:
    """Once; it is told by event and metric, and the task of the other driver runs in the room it left."""
    world = enforcing(node("a", cpu=8))
    made = stalled(world, bare=False)
    turn(made, world, 30)
    assert drivers(world) == ["older-driver"]
    assert [each for each in world.writes if "eviction" in each] == [
        "POST /api/v1/namespaces/team/pods/younger-driver/eviction"
    ]
    assert made.metrics.evictions.labels("default")._value.get() == 1
    told = [body for body in written(world, "/events") if body["reason"] == "Stalled"]
    assert sorted(body["involvedObject"]["name"] for body in told) == ["older-driver", "younger-driver"]
    assert (
        "held are 2 tasks of 2 apps, and none runs; no node of the 1 that they can use has room" in told[0]["message"]
    )
    assert {pod.name: pod.node for pod in world.pods.values()}["older-task"] == "a"


@pytest.mark.parametrize(("bare", "evict"), [(True, True), (False, False)], ids=["bare pods", "not asked to"])
def test_a_stall_is_only_told_where_nobody_may_be_evicted(bare: bool, evict: bool) -> None:
    """A driver that no controller brings back is never evicted, nor any where the queue does not say so."""
    world = enforcing(node("a", cpu=8))
    made = stalled(world, bare=bare, evict=evict)
    with capture_logs() as logs:
        turn(made, world, 30)
    assert drivers(world) == ["older-driver", "younger-driver"]
    assert made.metrics.stalls.labels("default")._value.get() >= 1
    assert "stall" in {each["event"] for each in logs}
    told = {body["involvedObject"]["name"] for body in written(world, "/events") if body["reason"] == "Stalled"}
    assert told == {"older-driver", "younger-driver"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "Cannot evict pod as it would violate the pod's disruption budget."),
        (500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."),
    ],
    ids=["a budget", "two budgets"],
)
def test_a_driver_that_a_budget_keeps_is_told_and_asked_again(status: int, words: str) -> None:
    """The stall goes on: each time that it lasted long enough the driver is asked; what was answered is an event."""
    world = Guarded(now=1000.0, status=status, words=words)
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(node("a", cpu=8))
    made = stalled(world, bare=False)
    turn(made, world, 30)
    assert drivers(world) == ["older-driver", "younger-driver"]
    assert 2 <= world.asked <= 3
    told = [body for body in written(world, "/events") if body["reason"] == "NotEvicted"]
    assert [body["involvedObject"]["name"] for body in told] == ["younger-driver"]
    assert words in told[0]["message"]
    assert made.metrics.evictions.labels("default")._value.get() == 0


@pytest.mark.parametrize("evict", [True, False], ids=["asked to", "not asked to"])
def test_a_node_whose_memory_runs_out_is_relieved_where_its_queue_says_so(evict: bool) -> None:
    """The loop looks every ten seconds: one task goes, told by event and metric; the other stays."""
    world = enforcing(node("a", memory=32))
    world.configure("AdmissionQueue", "default", relief={"evictYoungestTask": evict})
    made = release_loop(world)
    for name in ("zero", "one"):
        world.create(name, app=name, owners=[owned("Job", name, group="batch")])
        turn(made, world, 3)
    world.uses = {uid: Resources(memory=15 * GIB) for uid in world.pods}
    for _ in range(30):
        full = 0.5 + 15 * len(world.pods)
        world.samples = {"a": NodeUse(Resources(memory=full * GIB), world.now - 1, False)}
        turn(made, world)
    assert sorted(pod.name for pod in world.pods.values()) == (["zero"] if evict else ["one", "zero"])
    told = [body["involvedObject"]["name"] for body in written(world, "/events") if body["reason"] == "Outgrown"]
    assert told == (["one"] if evict else [])
    assert made.metrics.task_evictions.labels("default", "evicted")._value.get() == len(told)


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("SlackPolicy", "default", {"namespaces", "warnings"}),
        ("AdmissionQueue", "default", {"capacity", "budget", "driversRunning", "podsHeld"}),
        ("ReservationPool", "pool", {"delta", "total", "small", "large"}),
    ],
)
def test_status_of_custom_resources(kind: str, name: str, fields: set[str]) -> None:
    """A condition with the generation it speaks about, and the numbers of the last round."""
    world = enforcing(node("a"))
    world.configure("AdmissionQueue", "default")
    world.configure("ReservationPool", "pool", queue="default")
    world.create("t", app="etl")
    made = release_loop(world)
    seen(made, kind, name)
    turn(made, world, 2)
    body = written(world, f"/{name}/status")[0]["status"]
    assert fields <= set(body)
    assert (body["conditions"][0]["status"], body["observedGeneration"]) == ("True", 3)


def test_a_budget_that_is_used_up_is_written_once() -> None:
    """Tasks without drivers leave drivers no budget: 0 is said, once."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default")
    made = release_loop(world)
    seen(made, "AdmissionQueue", "default")
    turn(made, world, 12)
    path = "/apis/slackwater.io/v1alpha1/admissionqueues/default/status"
    assert world.statuses[path]["budget"] == {"cpu": "4", "memory": "34359738368"}
    world.create("t", app="etl")
    turn(made, world, 24)
    assert world.statuses[path]["budget"] == {"cpu": "0", "memory": "0"}
    before = len(world.posted)
    turn(made, world, 60)
    assert len(world.posted) == before


def test_everything_that_is_counted_can_be_scraped() -> None:
    """Held pods by queue and reason, waits, latencies, drivers, pools, stalls, errors, amounts and the version."""
    world = enforcing(node("a", cpu=8))
    world.configure("ReservationPool", "pool", queue="default")
    for name in ("one", "two"):
        world.create(f"{name}-driver", cpu=1, role="driver", app=name)
        for number in range(6):
            world.create(f"{name}-{number}", cpu=2, app=name)
    made = release_loop(world)
    turn(made, world, 6)
    text = generate_latest(made.metrics.registry).decode()
    for line in (
        'slackwater_operator_held_pods{queue="default",reason=',
        'slackwater_operator_admission_wait_seconds_count{role="task"}',
        "slackwater_operator_release_seconds_count",
        'slackwater_operator_drivers{queue="default",state="running"}',
        'slackwater_operator_drivers{queue="default",state="waiting"}',
        'slackwater_operator_pool_delta{pool="pool"}',
        'slackwater_operator_forecast_error_slots{pool="pool"}',
        "# TYPE slackwater_operator_stalls_total counter",
        "# TYPE slackwater_operator_task_evictions_total counter",
        "# TYPE slackwater_operator_errors_total counter",
        'slackwater_operator_queue_capacity{queue="default",resource="cpu"} 8.0',
        'slackwater_operator_queue_reservation{queue="default",resource="cpu"}',
        'slackwater_operator_queue_budget{queue="default",resource="cpu"}',
        f'slackwater_operator_build_info{{version="{slackwater.__version__}"}} 1.0',
    ):
        assert line in text, line


def test_wait_estimates_are_told_with_their_past_error() -> None:
    """Gangs wait for the end of a wave of tasks; the first one's estimate is compared with what came."""
    world = enforcing(node("a", cpu=8))
    world.configure("ReservationPool", "pool", queue="default")
    made = release_loop(world, track_seconds=1)
    for number in range(7):  # they start three seconds apart, and so they are expected to end
        world.create(f"wave-{number}", app="wave", stage="map")
        turn(made, world, 3)
    wave = [pod.uid for pod in world.pods.values() if pod.node]
    for name in ("next", "then"):
        for number in range(8):
            world.create(f"{name}-{number}", app=name, annotations={names.GANG: "true", names.TASKS: "8"})
    for uid in wave[:6]:
        world.finish(uid)
        turn(made, world)
    turn(made, world, 12)
    world.finish(*wave[6:])
    turn(made, world, 5)
    told = [body["status"].get("waitSeconds") for body in written(world, "/trackedapps/next/status")]
    assert any(wait is not None and 0 <= wait <= 21 for wait in told)
    (first,) = [each for each in made.startlog.judged if each.expected is not None]  # when it started
    assert abs(first.wait - (first.expected or 0)) <= 21
    assert made.metrics.wait_error._value.get() == made.startlog.error
    reasons = [
        (body["status"].get("start") or {}).get("unknown", "") for body in written(world, "/trackedapps/next/status")
    ]
    assert any("apps like it have waited and started" in each for each in reasons)


def test_apps_that_wait_are_told_when_they_start_once_enough_have() -> None:
    """Whole-node apps one after the other; later ones are told an interval, and the queue tells the next."""
    world = enforcing(node("a", cpu=8))
    made = release_loop(world, track_seconds=1)
    seen(made, "AdmissionQueue", "default")
    for number in range(16):
        world.create(f"solo-{number:02}", app=f"solo-{number:02}", cpu=8)
    for _ in range(14):
        turn(made, world, 2)
        world.finish(*[pod.uid for pod in world.pods.values() if pod.node and not pod.done])
        turn(made, world, 3)
    starts = [body["status"].get("start") for body in written(world, "/trackedapps/solo-15/status")]
    known = [each for each in starts if each and each.get("source")]
    assert known
    assert all(0 <= each["lowSeconds"] <= each["middleSeconds"] <= each["highSeconds"] for each in known)
    assert made.releaser.outlook is not None
    status = asyncio.run(made.reporter.status(("AdmissionQueue", "default"), made.releaser.outlook, made.startlog))
    assert status["appsWaiting"] == 1
    assert status["nextLarge"]["source"] == "pace"


def test_reclaim_without_usage_is_warned_about() -> None:
    """The policy asks for learning, and nobody tells what pods use."""
    world = enforcing(node("a"))
    world.configure("SlackPolicy", "default", mode="enforce", reclaim={"enabled": True})
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    outlook = made.releaser._look(None)
    status = asyncio.run(made.reporter.status(("SlackPolicy", "default"), outlook))
    assert any("reclaim.enabled has no effect" in warning for warning in status["warnings"])


def test_the_limits_of_a_namespace_are_warned_of_as_soon_as_it_joins() -> None:
    """Not only when they are read again after a minute: its first pods may be refused before that."""
    world = enforcing(node("a"))
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    turn(made, world, 12)
    path = "/apis/slackwater.io/v1alpha1/slackpolicies/default/status"
    assert world.statuses[path]["warnings"] == []
    limit = {"metadata": {"namespace": "late", "name": "least"}, "spec": {"limits": [{"min": {"cpu": "1"}}]}}
    world.objects["/api/v1/limitranges"] = {"items": [limit]}
    world.namespace("late")
    turn(made, world, 12)
    assert "LimitRange late/least refuses cpu requests below 1" in world.statuses[path]["warnings"][0]


def test_tracked_apps_of_ended_apps_are_removed_after_a_while() -> None:
    """A minute here; the app is gone, its object goes."""
    world = enforcing(node("a"))
    pod = world.create("t", app="etl")
    made = release_loop(world)
    turn(made, world, 2)
    world.delete(world.pods[pod.uid])
    turn(made, world, 70)
    assert [path for method, path, _ in world.posted if method == "DELETE"] == [
        "/apis/slackwater.io/v1alpha1/namespaces/team/trackedapps/etl"
    ]


def test_a_failed_turn_is_counted_and_the_next_one_goes_on() -> None:
    """An error in one turn is not the end, many in a row are."""
    world = enforcing(node("a"))
    made = release_loop(world, period=0.001, idle_period=0.001)

    async def fail() -> int:
        raise ValueError("broken")

    made.releaser.round = fail  # type: ignore[method-assign]  # the part that breaks
    with capture_logs() as logs, pytest.raises(ValueError, match="broken"):
        asyncio.run(made.run())
    assert [each["event"] for each in logs].count("failed") == 20
    assert made.metrics.errors.labels("turn")._value.get() == 20


def spark(world: World, name: str, role: str, called: str, **more: Any) -> PodRecord:
    """A pod of one Spark app, labelled with what it calls the app."""
    labels = {"spark-app-selector": "spark-697870a6d7a34b0f8e2f3c5d6a7b8c9d", "spark-role": role}
    return world.create(name, role="", labels={**labels, "spark-app-name": called}, **more)


def test_a_spark_app_keeps_its_driver_s_name() -> None:
    """The code's appName labels executors, --name the driver, whose name counts even when only executors are left."""
    world = enforcing()
    driver = spark(world, "driver", "driver", "nightly-etl")
    spark(world, "exec", "executor", "MyApp", owners=(owned("Pod", "driver", driver.uid),))
    made = release_loop(world)
    turn(made, world, 3)
    world.add_nodes(node("a"))
    turn(made, world, 20)
    (body,) = [body for body in written(world, "/trackedapps") if "spec" in body]
    assert (body["spec"]["name"], body["metadata"]["name"][:12]) == ("nightly-etl", "nightly-etl-")
    assert any("app nightly-etl starts" in event["message"] for event in written(world, "/events"))
    world.delete(driver)
    world.cache.refresh()
    (each,) = world.cache.views.values()
    assert (each.name, each.series) == ("nightly-etl", "nightly-etl")


def test_a_new_leader_calls_an_app_as_the_one_before_it() -> None:
    """Only executors are left; the TrackedApp knows what the driver called it."""
    world = enforcing(node("a"))
    spark(world, "exec", "executor", "MyApp", owners=(owned("Pod", "driver", "gone"),))
    world.cache.learn(owned("Pod", "driver", "gone"), [])
    world.cache.refresh()
    (each,) = world.cache.views.values()
    made = release_loop(world)
    status = {"learned": {"series": "nightly-etl", "tasks": 1}}
    spec = {"app": each.app, "name": "nightly-etl"}
    made.tracker.set([CustomRecord(name="t", namespace="team", spec=spec, status=status)])
    made.tracker.restore(world.cache)
    (each,) = world.cache.views.values()
    assert (each.name, each.series) == ("nightly-etl", "nightly-etl")


def test_nothing_is_told_of_an_app_before_its_owners_were_looked_up() -> None:
    """A Dask scheduler below a ReplicaSet: no event, no TrackedApp; the cluster above it may yet confirm its label."""
    world = enforcing(node("a"))
    labels = {"dask.org/cluster-name": "simple", "dask.org/component": "scheduler"}
    replicas, cluster = (
        owned("ReplicaSet", "simple-7c", "rs", "apps"),
        owned("DaskCluster", "simple", "dc", "kubernetes.dask.org"),
    )
    world.create("s", role="", labels=labels, owners=(replicas,))
    made = release_loop(world)
    world.broken = lambda path: path == "/apis" or path.startswith("/apis/apps")
    turn(made, world, 3)
    assert not written(world, "/trackedapps")
    assert not written(world, "/events")
    world.broken = lambda _: False
    world.cache.learn(replicas, [cluster])
    world.cache.learn(cluster, [])
    turn(made, world, 3)
    assert [body["spec"]["app"] for body in written(world, "/trackedapps") if "spec" in body] == ["dask/simple"]
    assert not any(body["reason"] == "Doubted" for body in written(world, "/events"))


def idle_cores(made: ReleaseLoop) -> dict[str, float]:
    """The gauge, reasons with cores only."""
    (family,) = (each for each in made.metrics.registry.collect() if each.name == "slackwater_idle_cores")
    return {sample.labels["reason"]: sample.value for sample in family.samples if sample.value}


def test_idle_cores_are_told_by_reason() -> None:
    """A node of 8 cores given away by requests, half used: a pod waits because of what others are charged."""
    world = enforcing(node("a", cpu=8))
    world.create("driver", cpu=2, role="driver", app="one")
    made = release_loop(world)
    turn(made, world, 3)
    for number in range(4):
        world.create(f"task-{number}", cpu=2, app="one")
    turn(made, world, 6)
    assert not idle_cores(made)  # nothing is measured yet
    world.uses = {pod.uid: Resources(cpu=0.5) for pod in world.pods.values() if pod.name == "driver"}
    held, charged = Resources(cpu=8, memory=5 * GIB), Resources(cpu=2, memory=GIB)
    world.samples = {"a": NodeUse(Resources(cpu=4, memory=GIB), world.now, False, held, charged)}
    turn(made, world, 40)
    assert idle_cores(made) == {"drivers-unused": 1.5, "tasks-unused": 2.5}


def test_idle_cores_of_a_cluster_without_waiting_pods() -> None:
    """Nothing waits, whatever is charged."""
    world = enforcing(node("a", cpu=8))
    world.create("task", cpu=2, app="one")
    made = release_loop(world)
    world.samples = {"a": NodeUse(Resources(cpu=1), world.now, False, Resources(cpu=2), Resources())}
    turn(made, world, 40)
    assert idle_cores(made) == {"nothing-waits": 7}
