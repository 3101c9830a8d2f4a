"""The whole loop on a cluster in memory: status of custom resources, metrics and idle cores."""

import asyncio

import pytest
from prometheus_client import generate_latest

import slackwater
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_operator.clients.extenderclient import NodeUse
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import enforcing, node
from support.fakes.loop import look_up, release_loop, seen, turn, written
from support.fakes.memoryapi import GIB


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
        'slackwater_operator_releases_total{how="nominated",queue="default"}',
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
    (first,) = [each for each in made.forecastlog.judged if each.expected is not None]  # when it started
    assert abs(first.wait - (first.expected or 0)) <= 21
    assert made.metrics.wait_error._value.get() == made.forecastlog.error
    reasons = [
        (body["status"].get("start") or {}).get("unknown", "") for body in written(world, "/trackedapps/next/status")
    ]
    assert any("apps like it had waited and started" in each for each in reasons)


def test_starts_are_timed_by_rounds_however_late_words_are_written() -> None:
    """Two apps that need the whole node: rounds alone tell the log that one waits, and when it has started."""
    world = enforcing(node("a", cpu=8))
    made = release_loop(world)

    async def once() -> None:
        await look_up(made)
        await made.turn()
        await made.releaser.writes.drain()

    def rounds(count: int) -> None:
        for _ in range(count):
            asyncio.run(once())
            world.schedule()
            world.now += 1

    rounds(1)  # what has started before the first look is nobody's pace
    world.create("first-0", app="first", cpu=8)
    world.create("second-0", app="second", cpu=8)
    rounds(20)
    world.finish(*[pod.uid for pod in world.pods.values() if pod.node])
    rounds(10)
    (judged,) = made.forecastlog.judged
    assert judged.wait == pytest.approx(20.0, abs=2.0)


def test_apps_that_wait_are_told_when_they_start_once_enough_have() -> None:
    """Whole-node apps one after the other; later ones are told an interval, and the queue tells the next."""
    world = enforcing(node("a", cpu=8))
    made = release_loop(world, track_seconds=1)
    seen(made, "AdmissionQueue", "default")
    for number in range(15):
        world.create(f"solo-{number:02}", app=f"solo-{number:02}", cpu=8)
    for done in range(14):
        if done == 12:  # enough have waited and started
            world.create("solo-15", app="solo-15", cpu=8)
        turn(made, world, 2)
        world.finish(*[pod.uid for pod in world.pods.values() if pod.node and not pod.done])
        turn(made, world, 3)
    starts = [body["status"].get("start") for body in written(world, "/trackedapps/solo-15/status")]
    known = [each for each in starts if each and each.get("source")]
    assert known
    assert all(0 <= each["lowSeconds"] <= each["middleSeconds"] <= each["highSeconds"] for each in known)
    assert made.releaser.result is not None
    status = asyncio.run(made.reporter.status(("AdmissionQueue", "default"), made.releaser.result, made.forecastlog))
    assert status["appsWaiting"] == 1
    assert status["nextLarge"]["source"] == "pace"


def test_a_queue_in_which_nothing_happens_is_written_once() -> None:
    """Apps have started at a pace and one waits for ever: what is told of the next one does not move with the clock.

    Nor does what is told of the queue's pool, and of how good its forecasts were.
    """
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default")
    world.configure("ReservationPool", "pool", queue="default")
    made = release_loop(world, track_seconds=1)
    seen(made, "AdmissionQueue", "default")
    seen(made, "ReservationPool", "pool")
    for number in range(13):
        world.create(f"solo-{number:02}", app=f"solo-{number:02}", cpu=8)
    for _ in range(12):
        turn(made, world, 2)
        world.finish(*[pod.uid for pod in world.pods.values() if pod.node and not pod.done])
        turn(made, world, 3)
    world.create("waits-0", app="waits", cpu=8)
    turn(made, world, 20)
    paths = ("/admissionqueues/default/status", "/reservationpools/pool/status")
    before = [written(world, path) for path in paths]
    assert any("pace" in str(body) for body in before[0])
    turn(made, world, 60)
    assert [written(world, path)[len(said) :] for path, said in zip(paths, before, strict=True)] == [[], []]


def test_reclaim_without_usage_is_warned_about() -> None:
    """The policy asks for learning, and nobody tells what pods use."""
    world = enforcing(node("a"))
    world.configure("SlackPolicy", "default", mode="enforce", reclaim={"enabled": True})
    made = release_loop(world)
    seen(made, "SlackPolicy", "default")
    result = made.releaser._look(None)
    status = asyncio.run(made.reporter.status(("SlackPolicy", "default"), result))
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
    world.objects["/api/v1/limitranges"] = {"metadata": {}, "items": [limit]}
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


def test_the_error_of_a_pools_forecast_is_the_same_in_status_and_metric() -> None:
    """What has ended is compared with what was said before either is told."""
    world = enforcing(node("a", cpu=8))
    world.configure("ReservationPool", "pool", queue="default", horizonSeconds=2)
    made = release_loop(world)
    made.reporter.every = 1.0
    seen(made, "ReservationPool", "pool")
    errors = set()
    for number in range(12):
        pod = world.create(f"task-{number}", cpu=2, app="etl")
        turn(made, world)
        told = [body["status"] for body in written(world, "reservationpools")]
        status = next(body["forecastError"] for body in reversed(told) if "forecastError" in body)
        (metric,) = made.metrics.forecast_error.collect()
        errors.add((status, round(metric.samples[0].value, 3)))
        if number % 3:
            world.finish(pod.uid)
    assert len(errors) > 1
    assert all(status == metric for status, metric in errors)


def idle_cores(made: ReleaseLoop) -> dict[str, float]:
    """The gauge, reasons with cores only."""
    (family,) = (each for each in made.metrics.registry.collect() if each.name == "slackwater_idle_cores")
    return {sample.labels["reason"]: sample.value for sample in family.samples if sample.value}


@pytest.mark.parametrize("labels", [{}, {names.ROLE: names.TASK}], ids=["a driver", "labelled later"])
def test_idle_cores_are_told_by_reason(labels: dict[str, str]) -> None:
    """A node of 8 cores given away by requests, half used: a pod waits because of what others are charged.

    A driver is who was one when it was created, as everywhere.
    """
    world = enforcing(node("a", cpu=8))
    world.create("driver", cpu=2, role="driver", app="one", labels=labels)
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
