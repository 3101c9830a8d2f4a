"""Words: accounts, TrackedApps and reasons on pods."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.pools.startforecast import Source, StartInterval
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources.base import MOST_KINDS
from slackwater_cluster.objects.records import CustomRecord
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.status.appstatus import AppStatus, account, status, written
from slackwater_operator.status.mergepatch import replacing
from slackwater_operator.status.podreasons import due
from slackwater_operator.status.trackedapps import (
    KEEP_LEARNED,
    MOST_SERIES,
    READABLE,
    TrackedAppWriter,
    differs,
    object_name,
    with_digest,
)
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import until
from support.fakes.writes import Writes

NESTED = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_size=3,
)


def tracker(world: World, writes: Writes) -> TrackedAppWriter:
    """A tracker on the world's clock."""
    return TrackedAppWriter(cast("Session", writes), world.clock, 10, TokenBucket(1000, 1000, world.clock), 60)


def sweep(track: TrackedAppWriter, world: World) -> None:
    """One sweep with all its writes; the loop waits a moment for them, and they go on beside it."""

    async def whole() -> None:
        await track.sweep(world.cache)
        await until(lambda: not track.lines.busy("team"), 60)

    asyncio.run(whole())


def told(world: World, app: str, operator: Any) -> tuple[Any, AppStatus, Any]:
    """Portrait, account and status of an app."""
    said = operator.said(app)
    each = world.cache.views[f"team/{app}"]
    return each, said, status(each, said, world.cache, operator.releaser.result, None)


def test_objects_that_went_with_their_namespace_leave_nothing() -> None:
    """A namespace for each run of a pipeline: its TrackedApps are gone before we would delete them."""
    world = enforcing(node("a"))
    track = tracker(world, Writes())
    for run in range(3):
        record = CustomRecord(name="job-x", namespace=f"ci-{run}", spec={"app": "job/x"}, status={"phase": "Finished"})
        track.set([record])
        asyncio.run(track.sweep(world.cache))
        track.drop([record])
    assert [len(each) for each in (track._known, track._written, track._ended, track._objects)] == [0, 0, 0, 0]


def test_names_that_never_come_again_do_not_fill_etcd() -> None:
    """The last object of a series stays for the next run, but only so many of a namespace do, the youngest."""
    world, writes = enforcing(node("a")), Writes()
    track = tracker(world, writes)
    runs = [f"run-{number:04}" for number in range(MOST_SERIES + 3)]
    track.set(
        [
            CustomRecord(
                name=name,
                namespace="team",
                created=float(at),
                spec={"app": name},
                status={"phase": "Finished", "learned": {"series": f"once {name}", "tasks": 2}},
            )
            for at, name in enumerate(runs)
        ]
    )
    sweep(track, world)
    world.now += 61
    sweep(track, world)
    assert [path.rpartition("/")[2] for method, path, _ in writes.made if method == "DELETE"] == runs[:3]
    world.now += KEEP_LEARNED
    sweep(track, world)
    assert sum(method == "DELETE" for method, *_ in writes.made) == len(runs)


def test_tracked_app_is_written_once_in_ten_seconds() -> None:
    """Create and status, then silence until ten seconds passed and something is different."""
    world = enforcing(node("a", cpu=2))
    for number in range(3):
        world.create(f"t{number}", app="etl")
    operator = world.operator()
    writes = Writes()
    track = tracker(world, writes)

    def write() -> int:
        operator.step(0)
        each, said, found = told(world, "etl", operator)
        asyncio.run(track.write(each, found, said.queue))
        return len(writes.made)

    assert write() == 2
    assert writes.made[0][2]["spec"]["app"] == "etl"
    world.schedule()
    assert write() == 2
    world.now += 11
    assert write() == 3
    assert writes.made[2][2]["status"]["pods"]["bound"] == 2
    world.now += 11
    assert write() == 3


def test_tracked_app_carries_a_condition_to_wait_for() -> None:
    """Admitted is False with the reason while it waits, True once it started; the time moves only then."""
    world = enforcing(node("a", cpu=1))
    world.create("t", cpu=2, app="etl")
    operator = world.operator()
    writes = Writes()
    keeper = tracker(world, writes)

    def condition() -> dict[str, Any]:
        operator.step(0)
        each, said, found = told(world, "etl", operator)
        asyncio.run(keeper.write(each, found, said.queue))
        body = writes.made[-1][2]["status"]
        assert body["observedGeneration"] == 1
        return dict(body["conditions"][0])

    first = condition()
    assert (first["type"], first["status"], first["reason"]) == ("Admitted", "False", "LargerThanAnyNode")
    world.add_nodes(node("b"))
    world.now += 11
    second = condition()
    assert (second["status"], second["reason"]) == ("True", "Released")
    assert second["lastTransitionTime"] != first["lastTransitionTime"]
    world.schedule()
    world.now += 11
    third = condition()
    assert (third["status"], third["reason"]) == ("True", "Complete")
    assert third["lastTransitionTime"] == second["lastTransitionTime"]


def test_status_tells_budget_position_and_pods() -> None:
    """A waiting driver sees its place, the reservation and what is left."""
    world = enforcing(node("a", cpu=4))
    for number in range(4):
        annotations = {names.TASKS: "1", names.TASK_CPU: "1"}
        world.create(f"d{number}", cpu=1, role="driver", app=f"app{number}", annotations=annotations)
        world.now += 1
    operator = world.operator()
    operator.step()
    world.schedule()
    operator.step()
    _, _, found = told(world, "app3", operator)
    assert (found.phase, found.reason, found.position) == ("Waiting", "behind-another-app", 2)
    assert found.reservation == {"cpu": "2"} | {k: v for k, v in found.reservation.items() if k != "cpu"}
    assert found.pods.held == 1


@pytest.mark.parametrize(
    ("app", "name"),
    [("etl", "etl"), ("job/etl", "job-etl"), ("ray/a.b", "ray-a.b")],
)
def test_plain_ids_are_plain_names(app: str, name: str) -> None:
    """People find the object by the app's id."""
    assert object_name(app) == name


@given(st.text(min_size=1, max_size=300))
def test_every_id_becomes_a_name_the_api_server_accepts(app: str) -> None:
    """Newlines, slashes, capitals, other scripts: a DNS name comes out."""
    name = object_name(app)
    assert len(name) <= 253
    assert all(part and part[0].isalnum() and part[-1].isalnum() for part in name.split("."))
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


def test_different_ids_do_not_share_a_name() -> None:
    """Where letters were changed, a digest keeps them apart."""
    assert object_name("A/b") != object_name("a/b")


def test_two_apps_of_one_plain_name_have_an_object_each() -> None:
    """A Job `etl` and an app that calls itself `job-etl` live in one namespace: neither overwrites the other."""
    world, writes = enforcing(node("a")), Writes()
    track = tracker(world, writes)
    operator = world.operator()
    world.create("etl-0", app="", owners=[owned("Job", "etl", group="batch")])
    world.create("other-0", app="job-etl")
    operator.step(0)
    for app in ("job/etl", "job-etl", "job/etl"):
        each, _, found = told(world, app, operator)
        asyncio.run(track.write(each, found, "default"))
    made = [body["metadata"]["name"] for method, _, body in writes.made if method == "POST"]
    assert made == ["job-etl", with_digest("job-etl", "job-etl")]


def test_restless_numbers_are_no_reason_to_write() -> None:
    """A wait that counts down is not worth a write by itself."""
    assert not differs({"phase": "Waiting", "waitSeconds": 3}, {"phase": "Waiting", "waitSeconds": 2})
    assert differs({"phase": "Waiting"}, {"phase": "Running"})
    assert differs({"phase": "Waiting"}, {"phase": "Waiting", "waitSeconds": 2})


def test_sentences_are_renewed_once_a_minute() -> None:
    """Numbers in a sentence move all the time; somebody who waits reads none older than a minute."""
    world = enforcing(node("a", cpu=1))
    world.create("t", cpu=4, app="etl")
    operator = world.operator()
    operator.step()
    writes = Writes()
    keeper = tracker(world, writes)
    each, _, found = told(world, "etl", operator)
    said = [0.0]
    for second in range(150):
        renewed = found.model_copy(update={"message": f"sentence {second}"})
        if asyncio.run(keeper.write(each, renewed, "default")):
            said.append(float(second))
        world.now += 1
    assert said[1:] == [0.0, 60.0, 120.0]


@pytest.mark.parametrize(
    ("middle", "seconds"),
    [(8.0, [0.0, 10.0, 20.0]), (80.0, [0.0, 20.0]), (800.0, [0.0])],
    ids=["soon", "in a minute", "in a while"],
)
def test_a_forecast_is_renewed_by_how_soon_the_start_is(middle: float, seconds: list[float]) -> None:
    """Once a quarter of the expected time is over, at most every ten seconds; each says when it was made."""
    world = enforcing(node("a", cpu=1))
    world.create("t", cpu=4, app="etl")
    operator = world.operator()
    operator.step()
    writes = Writes()
    keeper = tracker(world, writes)
    each, said, _ = told(world, "etl", operator)
    began = world.now
    for second in range(30):
        left = StartInterval(0.0, middle - second / 100, 2 * middle, Source.PACE)
        newer = replace(said, expected=left, wait=left.middle, at=world.now)
        found = status(each, newer, world.cache, cast("RoundResult", operator.releaser.result), None)
        asyncio.run(keeper.write(each, found, "default"))
        world.now += 1
    stamps = [body["status"]["start"]["at"] for method, _, body in writes.made if method == "PATCH"]
    assert [datetime.fromisoformat(stamp).timestamp() - began for stamp in stamps] == seconds


def test_that_a_start_is_known_at_last_is_worth_a_write() -> None:
    """Nobody reads "not known yet" for a minute after it is known."""
    unknown, known = {"unknown": "too few"}, {"middleSeconds": 9.0}
    assert differs({"waitSeconds": 5, "start": unknown}, {"waitSeconds": 9, "start": known})
    assert not differs({"waitSeconds": 5, "start": known}, {"waitSeconds": 9, "start": {"middleSeconds": 5.0}})


def test_a_forecast_that_is_not_known_any_more_leaves_nothing_behind() -> None:
    """A merge patch keeps what it does not name, inside the forecast too: the old interval must be named to go."""
    before = {"phase": "Waiting", "start": {"lowSeconds": 1.0, "highSeconds": 9.0, "source": "pace"}}
    unknown = {"unknown": "it has waited for longer", "source": ""}
    patch = replacing(before, {"phase": "Waiting", "start": unknown})
    assert patch["start"] == {**unknown, "lowSeconds": None, "highSeconds": None}


@given(NESTED, NESTED)
def test_a_patch_makes_a_status_what_it_should_be(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Whatever it was, at every depth."""
    assert merged(before, replacing(before, now)) == now


def merged(target: Any, patch: Any) -> Any:
    """What an API server makes of a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    base = target if isinstance(target, dict) else {}
    kept = {key: value for key, value in base.items() if key not in patch}
    return kept | {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}


def test_amounts_as_quantities() -> None:
    """Milli-cpu, whole bytes, nothing below zero."""
    assert written(Resources(cpu=1.5, memory=1024.4)) == {"cpu": "1500m", "memory": "1024"}
    assert written(Resources({"cpu": 2, "gpu": -1})) == {"cpu": "2", "gpu": "0"}
    used_up = Resources(cpu=4, memory=8) - Resources(cpu=4, memory=8)
    assert written(used_up, Resources(cpu=4, memory=8)) == {"cpu": "0", "memory": "0"}


def test_of_many_kinds_as_many_are_written_as_the_definition_takes() -> None:
    """Nodes may offer dozens of kinds of devices; the API server would refuse a status that names them all."""
    devices = {f"acme.com/card-{number:02}": 1.0 for number in range(40)}
    told = written(Resources({**devices, "cpu": 2.0, "memory": 8.0}))
    assert len(told) == MOST_KINDS
    assert {"cpu", "memory", "acme.com/card-00"} <= set(told)


def test_reason_classes_are_due_only_where_they_differ() -> None:
    """Written once per class, never on parked pods."""
    world = enforcing(node("a", cpu=1))
    first = world.create("t0", cpu=4, app="etl")
    second = world.create("t1", cpu=4, app="etl", annotations={names.REASON: "larger-than-any-node"})
    operator = world.operator()
    operator.step()
    said = operator.said("etl")
    assert said.reason == "larger-than-any-node"
    assert [(pod.uid, reason) for pod, reason in due(world.cache, [said])] == [(first.uid, "larger-than-any-node")]
    world.change(second.uid, gates=(), annotations={names.PARKED: "x"})
    world.change(first.uid, annotations={names.REASON: "larger-than-any-node"})
    world.cache.views.refresh()
    assert list(due(world.cache, [said])) == []


def test_newline_in_a_label_does_not_reach_sentences() -> None:
    """A text with a line break is no name: the pod is an app by itself, and its owner is told."""
    world = enforcing()
    world.create("t", annotations={names.APP: "two\nlines"})
    world.cache.views.refresh()
    (each,) = world.cache.views.values()
    assert each.app == "pod/t"
    assert "is not a name" in each.problems[0]
    assert "\n" not in each.problems[0]


@pytest.mark.parametrize("mode", ["observe", "score"])
def test_modes_that_hold_nothing_say_what_enforce_would_do(mode: str) -> None:
    """Nothing is written to the pod, and the app's account tells what would have happened."""
    world = enforcing(node("a", cpu=1))
    world.configure("SlackPolicy", "default", mode=mode)
    world.create("t", cpu=4, app="etl", gates=(), scheduler="default-scheduler")
    operator = world.operator()
    operator.step()
    assert world.writes == []
    each = world.cache.views["team/etl"]
    result = operator.releaser.result
    assert result is not None
    said = account(each, None, world.cache, result, supposed=operator.releaser.supposed())
    assert said.reason == "larger-than-any-node"
    assert f"mode is {mode}: nothing is held here; in enforce: a pod asks for 4 cpu" in said.sentence


def test_size_of_earlier_runs_is_used_for_the_next() -> None:
    """A nightly app without annotations: the second run is known by the first."""
    world = enforcing(node("a"))
    driver = world.create("nightly-28900-driver", role="driver", app="nightly-28900")
    tasks = [world.create(f"nightly-28900-{number}", cpu=0.5, app="nightly-28900") for number in range(4)]
    world.cache.views.refresh()
    world.delete(driver, *tasks)
    world.create("nightly-28901-driver", role="driver", app="nightly-28901")
    world.cache.views.refresh()
    size = world.cache.views["team/nightly-28901"].size
    assert size is not None
    assert (size.tasks, size.request["cpu"], size.source) == (4, 0.5, "history")


@pytest.mark.parametrize(
    ("app", "called", "name"),
    [
        ("spark/spark-697870a6d7a34b0f8e2f3c5d6a7b8c9d", "pi", "pi-"),
        ("job/backup-29112345", "backup", "job-backup-29112345"),
        ("etl", "etl", "etl"),
    ],
    ids=["spark", "cron-job", "own-label"],
)
def test_an_object_is_named_so_that_its_line_fits_a_terminal(app: str, called: str, name: str) -> None:
    """An id of a digest gives way to what people call the app; short ids stay as they are."""
    made = object_name(app, called)
    assert made.startswith(name)
    assert len(made) <= READABLE
    assert object_name(app, "x" * 200)[:READABLE] == object_name(app, "x" * 200)
