"""The whole loop on a cluster in memory: what apps are called, and when nothing is told of them."""

from typing import Any

from structlog.testing import capture_logs

from slackwater_cluster.objects.records import CustomRecord, PodRecord
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import release_loop, seen, turn, written


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
    world.cache.views.refresh()
    (each,) = world.cache.views.values()
    assert (each.name, each.series) == ("nightly-etl", "nightly-etl")


def test_a_new_leader_calls_an_app_as_the_one_before_it() -> None:
    """Only executors are left; the TrackedApp knows what the driver called it."""
    world = enforcing(node("a"))
    spark(world, "exec", "executor", "MyApp", owners=(owned("Pod", "driver", "gone"),))
    world.cache.learn(owned("Pod", "driver", "gone"), [])
    world.cache.views.refresh()
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


def test_names_as_long_as_kubernetes_allows_are_told_as_all_others() -> None:
    """An id is made of a kind and a name, or of two names: together they are longer than a name may be."""
    world = enforcing(node("a"))
    world.create("x" * 253, cpu=100)
    group = {"yunikorn.apache.org/app-id": "g" * 63}
    world.create("grouped", cpu=100, labels=group, owners=(owned("Job", "j" * 253, group="batch"),))
    world.cache.learn(owned("Job", "j" * 253, group="batch"), [])
    world.create("quick", cpu=100)
    made = release_loop(world)
    turn(made, world, 3)
    apps = {body["spec"]["app"] for body in written(world, "/trackedapps") if "spec" in body}
    assert {app[:6] for app in apps} == {"pod/xx", "group/", "pod/qu"}
    assert max(map(len, apps)) == 253


def test_one_app_that_cannot_be_written_keeps_nobody_from_being_told() -> None:
    """Whatever goes wrong with it: the apps behind it have their objects, and queues their status."""
    world = enforcing(node("a"))
    world.configure("AdmissionQueue", "default")
    for name in ("bad", "good"):
        world.create(name, cpu=100, app=name)

    def unforeseen(path: str) -> bool:
        if "trackedapps/bad" in path or path.endswith("slackpolicies/default/status"):
            raise ValueError(path)
        return False

    world.broken = unforeseen
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    seen(made, "AdmissionQueue", "default")
    with capture_logs() as logs:
        turn(made, world, 12)
    assert {log["event"] for log in logs if log["log_level"] == "error"} == {"app not told", "status not written"}
    assert written(world, "/trackedapps/good/status")
    assert written(world, "/admissionqueues/default/status")
    assert 1 <= made.metrics.errors.labels("status")._value.get() <= 3  # not tried again before it is another one


def test_an_app_that_was_seen_before_its_owners_were_known_is_called_after_its_ray_job() -> None:
    """Rounds go on while owners are looked up: the name that KubeRay made up stood for all of the app's life then."""
    world = enforcing(node("a"))
    cluster, job = owned("RayCluster", "sort-x7k2p", "rc", "ray.io"), owned("RayJob", "sort", "rj", "ray.io")
    labels = {"ray.io/cluster": "sort-x7k2p", "ray.io/node-type": "head"}
    world.create("head", role="", labels=labels, owners=(cluster,))
    world.cache.views.refresh()
    assert [each.settled for each in world.cache.views.values()] == [False]
    world.cache.learn(cluster, [job])
    world.cache.learn(job, [])
    world.cache.views.refresh()
    (each,) = world.cache.views.values()
    assert (each.id, each.name, each.series) == ("team/ray/sort-x7k2p", "sort", "ray/sort")
