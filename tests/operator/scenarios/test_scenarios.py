"""What users reported of other schedulers, played through on a cluster in memory. Each must end well here."""

from slackwater_cluster.objects.records import PodRecord
from support.builders.apps import Life, live
from support.fakes.cluster import Operator, World, enforcing, node, owned


def kinds(world: World) -> tuple[int, int]:
    """Drivers and tasks on nodes."""
    bound = [pod for pod in world.pods.values() if pod.node and not pod.done]
    drivers = sum(pod.labels["slackwater.io/role"] == "driver" for pod in bound)
    return drivers, len(bound) - drivers


def test_drivers_never_fill_the_cluster() -> None:
    """spark-operator 594, 883, 1757: thirty apps at once on four nodes; unprotected, only drivers would run."""
    world = enforcing(*(node(name, cpu=8) for name in "abcd"))
    lives = [Life(world, f"app-{number}", tasks=4, cpu=2, driver_cpu=2, seconds=5).begin() for number in range(30)]
    operator = world.operator()
    for _ in range(3):
        operator.step(0)
        world.schedule()
        world.now += 1
    drivers, _ = kinds(world)
    # C/(AMC + TC) = 32/(2 + 2): with each driver one of its tasks fits.
    assert 0 < drivers <= 8
    assert live(world, operator, lives, 1000) < 1000


def test_one_oversized_app_does_not_block_the_others() -> None:
    """spark-operator 2512: an app that can never fit is refused with its numbers, and everybody else goes on."""
    world = enforcing(node("a", cpu=8))
    giant = Life(world, "giant", tasks=1, cpu=64, driver_cpu=1).begin()
    others = [Life(world, f"app-{number}", driver_cpu=1).begin() for number in range(3)]
    operator = world.operator()
    assert live(world, operator, others, 200) < 200
    assert not giant.over
    said = operator.said("giant")
    assert (said.reason, said.phase.value) == ("infeasible", "Refused")
    assert "65 cpu" in said.sentence


def test_oversized_app_starts_once_a_large_node_joins() -> None:
    """Infeasible is judged anew on node changes."""
    world = enforcing(node("a", cpu=8))
    giant = Life(world, "giant", tasks=1, cpu=64, driver_cpu=1).begin()
    operator = world.operator()
    operator.step()
    world.add_nodes(node("large", cpu=128))
    assert live(world, operator, [giant], 100) < 100


def test_workers_do_not_fill_the_cluster_before_their_heads() -> None:
    """Kuberay 3592: workers of many clusters exist before their heads; each waits until its head is bound."""
    world = enforcing(node("a", cpu=8), node("b", cpu=8))
    for number in range(8):
        for worker in range(4):
            world.create(
                f"c{number}-w{worker}", app=f"cluster-{number}", labels={"ray.io/cluster": f"cluster-{number}"}
            )
    operator = world.operator()
    operator.step()
    assert world.released == []
    assert operator.said("cluster-0").reason == "waiting-for-driver"
    for number in range(8):
        labels = {"ray.io/cluster": f"cluster-{number}"}
        world.create(f"c{number}-head", app=f"cluster-{number}", role="driver", labels=labels)
    operator.step()
    heads = [world.pods[uid].name for uid in world.released]
    assert heads
    assert all(name.endswith("-head") for name in heads)
    for _ in range(5):
        world.schedule()
        operator.step()
    drivers, tasks = kinds(world)
    assert drivers > 0
    assert tasks > 0


def test_a_gang_does_not_starve_behind_small_jobs() -> None:
    """Kueue 8309: under best-effort FIFO a stream of small jobs keeps a gang out for ever; here it gets its turn."""
    world = enforcing(node("a", cpu=8), node("b", cpu=8))
    world.configure("ReservationPool", "pool", queue="default")
    gang = Life(world, "gang", tasks=12, cpu=1, seconds=10, gang=True).begin()
    lives = [gang]
    operator = world.operator()
    for second in range(900):
        if second % 3 == 0:
            lives.append(Life(world, f"small-{second}", tasks=2, cpu=1, seconds=9).begin())
        operator.step(0)
        world.schedule()
        world.now += 1
        for life in lives:
            life.step()
        if gang.over:
            break
    assert gang.over, operator.said("gang").sentence


def test_small_jobs_are_not_trapped_behind_large_ones() -> None:
    """DRESS: with a pool, a small job starts while large ones wait for their side of it."""
    world = enforcing(*(node(name, cpu=10) for name in "abcd"))
    world.configure("ReservationPool", "pool", queue="default", delta={"initial": 0.2, "minimum": 0.2})
    large = [Life(world, f"large-{number}", tasks=30, seconds=60).begin() for number in range(3)]
    operator = world.operator()
    live(world, operator, large, 5)
    small = Life(world, "small", tasks=2, seconds=3).begin()
    assert live(world, operator, [small], 30) < 30
    assert not all(life.over for life in large)


def test_dynamic_allocation_grows_and_shrinks() -> None:
    """Executors that come and go while gated or running leave no trace."""
    world = enforcing(node("a", cpu=8))
    operator = world.operator()
    boss = world.create("driver", role="driver", app="dyn")
    operator.step()
    world.schedule()
    first = [world.create(f"e{number}", app="dyn", cpu=2) for number in range(6)]
    operator.step()
    world.schedule()
    world.delete(*first)
    world.cache.views.refresh()
    assert world.cache.views["team/dyn"].counts.held == 0
    again = [world.create(f"f{number}", app="dyn", cpu=2) for number in range(3)]
    operator.step()
    world.schedule()
    assert all(world.pods[pod.uid].node for pod in again)
    assert world.pods[boss.uid].node


def job_pod(world: World, number: int, attempt: int = 0) -> PodRecord:
    """A pod of an indexed Job."""
    labels = {"batch.kubernetes.io/job-name": "sweep", "batch.kubernetes.io/job-completion-index": str(number)}
    owner = owned("Job", "sweep", group="batch")
    return world.create(f"sweep-{number}-{attempt}", labels=labels, owners=[owner], role="")


def indexed_job() -> tuple[World, Operator, list[PodRecord]]:
    """A Job of four pods on two cores, after the first round."""
    world = enforcing(node("a", cpu=2))
    world.cache.learn(owned("Job", "sweep", group="batch"), ())
    pods = [job_pod(world, number) for number in range(4)]
    operator = world.operator()
    operator.step()
    world.schedule()
    return world, operator, pods


def test_indexed_job_is_one_app_and_its_retries_belong_to_it() -> None:
    """Indices make no apps of their own; a pod made anew for a failed one goes like the rest, without a new start."""
    world, operator, pods = indexed_job()
    assert list(world.cache.views) == ["team/job/sweep"]
    world.finish(pods[0].uid, phase="Failed")
    again = job_pod(world, 0, attempt=1)
    for _ in range(3):
        world.finish(*(pod.uid for pod in world.pods.values() if pod.node and not pod.done))
        operator.step()
        world.schedule()
    counts = world.cache.views["team/job/sweep"].counts
    assert (counts.done, counts.held) == (5, 0) or world.pods[again.uid].node
    assert list(world.cache.views) == ["team/job/sweep"]


def test_suspended_job_gives_back_what_it_held_and_comes_back() -> None:
    """Suspending deletes the pods, held and running alike; resumed, the Job waits for its turn as any other."""
    world, operator, pods = indexed_job()
    other = world.create("other", cpu=2, app="other")
    operator.step()
    assert other.uid not in world.released
    world.delete(*(world.pods[pod.uid] for pod in pods))
    operator.step()
    world.schedule()
    assert world.pods[other.uid].node
    assert "team/job/sweep" not in world.cache.views
    resumed = [job_pod(world, number, attempt=1) for number in range(2)]
    operator.step()
    assert not set(world.released) & {pod.uid for pod in resumed}
    world.finish(other.uid)
    operator.step()
    assert {pod.uid for pod in resumed} <= set(world.released)


def test_a_stall_from_outside_is_found_and_ended() -> None:
    """Nodes are lost and only drivers are left: reported, and the youngest driver with a controller gives way."""
    world = enforcing(node("a", cpu=8), node("b", cpu=8))
    world.configure("AdmissionQueue", "default", stall={"afterSeconds": 10, "evictYoungestDriver": True})
    lives = [Life(world, f"app-{number}", tasks=2, cpu=4, driver_cpu=4, seconds=500).begin() for number in range(2)]
    operator = world.operator()
    for _ in range(4):
        operator.step()
        world.schedule()
        for life in lives:
            life.step()
    for pod in [pod for pod in world.pods.values() if pod.labels["slackwater.io/role"] == "task"]:
        world.delete(pod)
    drivers = [pod for pod in world.pods.values() if pod.node]
    assert len(drivers) == 2
    for pod in drivers:  # both end up on the node that stays
        world.change(pod.uid, node="a")
    world.lose_node("b")
    found = []
    for _ in range(30):
        for life in lives:
            life.step()
        operator.step()
        world.schedule()
        result = operator.releaser.result
        assert result is not None
        found = operator.stalls.look(result)
        if found:
            break
    assert [action.stall.queue for action in found] == ["default"]
    assert found[0].victim is not None
    assert found[0].stall.waiting == 4


def test_a_ten_thousand_pod_job_does_not_hold_up_others() -> None:
    """One huge job and a small one after it: with a pool both have pods running after a few rounds."""
    world = enforcing(*(node(f"n{number}", cpu=16) for number in range(4)))
    world.configure("ReservationPool", "pool", queue="default")
    for number in range(10_000):
        world.create(f"huge-{number}", app="huge")
    world.create("small", app="small")
    operator = world.operator()
    for _ in range(3):
        operator.step()
        world.schedule()
    apps = {pod.labels["slackwater.io/app"] for pod in world.pods.values() if pod.node}
    assert apps == {"huge", "small"}


def jobset_pod(world: World, name: str, coordinator: str = "") -> PodRecord:
    """A pod of a JobSet, whose annotation names the host of the coordinator if the JobSet has one."""
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": name}
    annotations = {"jobset.sigs.k8s.io/coordinator": coordinator} if coordinator else {}
    owners = [owned("JobSet", "train", group="jobset.x-k8s.io")]
    return world.create(name, role="unknown", labels=labels, annotations=annotations, owners=owners, hostname=name)


def test_a_jobset_without_a_coordinator_waits_for_nobody() -> None:
    """JobSet 0.11 with a leader and workers as its documentation writes them: all of them were held for ever."""
    world = enforcing(node("a", cpu=8))
    pods = [jobset_pod(world, name) for name in ("leader", "worker-0", "worker-1")]
    world.operator().step()
    assert {pod.uid for pod in pods} == set(world.released)


def test_a_jobset_with_a_coordinator_starts_with_it() -> None:
    """Workers wait for the pod that the JobSet names."""
    world = enforcing(node("a", cpu=8))
    worker = jobset_pod(world, "worker-0", coordinator="leader.train")
    operator = world.operator()
    operator.step()
    assert world.released == []
    leader = jobset_pod(world, "leader", coordinator="leader.train")
    for _ in range(4):
        operator.step()
        world.schedule()
    assert world.released == [leader.uid, worker.uid]
