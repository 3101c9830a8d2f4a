"""Queues and pools are looked at again, for pods that came around the gate."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_extender.cache.gatebypass import SILENCE
from slackwater_operator.status.appstatus import written
from support.builders import objects
from support.fakes.extender import World, custom
from support.fakes.placing import two


def driver() -> dict[str, Any]:
    """A driver of 2 cores."""
    return objects.pod("driver", cpu="2", labels={"slackwater.io/role": "driver", "slackwater.io/app": "a"})


def led() -> World:
    """Two nodes, and an operator that leads: it has just asked for their room."""
    made = two()
    made.get("/v1/rooms")
    return made


def queue(made: World, budget: str, running: int = 1) -> None:
    """A queue with this much left for drivers."""
    status = {"budget": {"cpu": budget, "memory": "64Gi"}, "driversRunning": running}
    made.parts.cache.guard.set("AdmissionQueue", [custom("main", {}, status)])


def test_a_driver_over_budget_is_refused() -> None:
    """Even where the node has room."""
    made = led()
    queue(made, "1")
    answer = made.filter(driver(), "idle")
    assert answer["FailedAndUnresolvableNodes"] == {"idle": "slackwater: driver budget used up"}


def test_a_used_up_budget_as_the_operator_writes_it_refuses() -> None:
    """Nothing left of any kind is written as 0, which is known, and not left out, which would not be."""
    made, capacity = led(), Resources(cpu=16.0, memory=64.0)
    status = {"budget": dict(written(capacity - capacity, capacity)), "driversRunning": 3}
    made.parts.cache.guard.set("AdmissionQueue", [custom("main", {}, status)])
    answer = made.filter(driver(), "idle")
    assert answer["FailedAndUnresolvableNodes"] == {"idle": "slackwater: driver budget used up"}


@pytest.mark.parametrize(("budget", "running"), [("2", 1), ("0", 0)], ids=["within", "first-app"])
def test_a_driver_within_budget_passes(budget: str, running: int) -> None:
    """And one app may always start."""
    made = led()
    queue(made, budget, running)
    assert made.filter(driver(), "idle")["NodeNames"] == ["idle"]


def test_a_live_reservation_passes() -> None:
    """Status lags behind what the operator has just released."""
    made = led()
    queue(made, "1")
    made.show(driver())
    made.post("/v1/reserve", {"pods": [{"uid": "uid-batch-driver"}]})
    assert made.filter(driver(), "idle")["NodeNames"] == ["idle"]


def test_a_refused_node_does_not_cost_the_reservation() -> None:
    """The nominated node fails, the scheduler goes on with all nodes: the guard must not stop it there."""
    made = led()
    queue(made, "1")
    made.show(driver())
    made.parts.cache.reserve(made.parts.cache.index.pods["uid-batch-driver"], "busy", Role.DRIVER, "batch/a")
    assert made.filter(driver(), "busy")["NodeNames"] == []
    assert made.filter(driver(), "busy", "idle")["NodeNames"] == ["idle"]


@pytest.mark.parametrize(
    ("phase", "available", "refused"),
    [("Waiting", 0, True), ("Waiting", 3, False), ("Running", 0, False)],
    ids=["closed", "open", "already-started"],
)
def test_a_job_whose_pool_is_closed_is_refused(phase: str, available: int, refused: bool) -> None:
    """Only jobs that have not started meet the pool."""
    made = led()
    guard = made.parts.cache.guard
    guard.set("AdmissionQueue", [custom("main", {})])
    guard.set("ReservationPool", [custom("pool", {"queue": "main"}, {"small": {"available": available}})])
    status = {"phase": phase, "category": "small"}
    guard.set("TrackedApp", [custom("a", {"app": "a"}, status, namespace="batch")])
    answer = made.filter(objects.pod(labels={"slackwater.io/app": "a"}), "idle")
    assert (answer["NodeNames"] == []) is refused
    if refused:
        assert answer["FailedAndUnresolvableNodes"] == {"idle": "slackwater: reservation pool closed"}


def test_unreadable_objects_guard_nothing() -> None:
    """A broken status must not stop everyone."""
    made = led()
    queue(made, "1")
    made.parts.cache.guard.set("AdmissionQueue", [custom("main", {"namespaces": 7})])
    assert made.filter(driver(), "idle")["NodeNames"] == ["idle"]


def closed(made: World) -> dict[str, Any]:
    """A task of an app that waits for its pool, which is full."""
    guard = made.parts.cache.guard
    guard.set("AdmissionQueue", [custom("main", {})])
    guard.set("ReservationPool", [custom("pool", {"queue": "main"}, {"small": {"available": 0}})])
    guard.set("TrackedApp", [custom("b", {"app": "b"}, {"phase": "Waiting", "category": "small"}, namespace="batch")])
    return objects.pod("task", labels={"slackwater.io/app": "b"})


@pytest.mark.parametrize("path", ["/v1/rooms", "/v1/usage"])
def test_a_status_is_believed_while_an_operator_asks(path: str) -> None:
    """It asks for rooms in every round and for use every ten seconds; who stopped long ago wrote of other times."""
    made = two()
    task = closed(made)
    made.get(path)
    made.clock.now += SILENCE
    assert made.filter(task, "idle")["NodeNames"] == []
    made.clock.now += 1
    assert made.filter(task, "idle")["NodeNames"] == ["idle"]
    made.get(path)  # one leads again
    assert made.filter(objects.pod("other", labels={"slackwater.io/app": "b"}), "idle")["NodeNames"] == []


def test_with_every_operator_dead_what_the_watchdog_lets_go_is_bound() -> None:
    """The status of queue, pool and app is frozen; a pod that finds no room at first is not refused for ever by it."""
    made = led()
    queue(made, "0", running=3)
    held = [driver(), closed(made)]
    made.show(
        *({**pod, "spec": {**pod["spec"], "schedulingGates": [{"name": "slackwater.io/admission"}]}} for pod in held)
    )
    made.clock.now += 125
    made.show(*held)  # the gates are lifted
    made.clock.now += made.parts.cache.settings.expiry + 1  # nobody had room for them
    made.parts.tick()
    assert [made.filter(pod, "idle")["NodeNames"] for pod in held] == [["idle"], ["idle"]]


def test_an_extender_that_no_operator_has_asked_guards_nothing() -> None:
    """One that has just started, or stands by, cannot know how old a status is."""
    made = two()
    queue(made, "0", running=3)
    assert made.filter(driver(), "idle")["NodeNames"] == ["idle"]


def test_only_a_caller_that_proves_itself_keeps_the_guard_awake() -> None:
    """Rooms may be read by anybody, and anybody might go on reading them while every operator is dead."""
    made = two()
    queue(made, "0", running=3)
    answer = made.client.get("/v1/rooms", environ_overrides={"REMOTE_ADDR": "10.0.0.9"})
    assert answer.status_code == 200
    assert made.filter(driver(), "idle")["NodeNames"] == ["idle"]
