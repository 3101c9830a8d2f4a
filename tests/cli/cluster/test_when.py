"""`slackwater when`: the start of an app that is not submitted yet."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import Result

from slackwater.errors import InvalidInput
from support.fakes.httpcluster import GROUP, PROXY, Cluster

Run = Callable[..., Result]
ROOT = Path(__file__).parents[3]
INTERVAL = {"lowSeconds": 40.0, "middleSeconds": 90.0, "highSeconds": 300.0, "source": "pace"}


def job(tasks: int | None = 4, cpu: str = "1", kind: str = "Job", memory: str = "1Gi") -> dict[str, Any]:
    """A Job, or a Pod, as a person writes it."""
    pod = {"containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": pod}
    spec = {"template": {"spec": pod}} | ({} if tasks is None else {"parallelism": tasks})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "nightly"}, "spec": spec}


@pytest.fixture
def ask(run: Run, cluster: Cluster, tmp_path: Path) -> Callable[..., Result]:
    """Ask about bodies in a managed namespace in mode enforce, with so many apps waiting in its queue."""

    def asked(*bodies: dict[str, Any], waiting: int = 3, words: tuple[str, ...] = (), **status: Any) -> Result:
        labels = {"slackwater.io/managed": "true"}
        cluster.put("/api/v1/namespaces", {"metadata": {"name": "team-a", "labels": labels}})
        policy = {"metadata": {"name": "default"}, "spec": {"mode": "enforce"}}
        cluster.put(f"{GROUP}/slackpolicies", policy)
        queue = cluster.answers[f"{GROUP}/admissionqueues/default"]
        assert isinstance(queue, dict)
        queue["status"] |= {"appsWaiting": waiting} | status
        path = tmp_path / "app.yaml"
        path.write_text(yaml.safe_dump_all(bodies))
        return run("when", str(path), *words)

    return asked


def test_an_app_that_would_wait_is_told_an_interval(ask: Callable[..., Result]) -> None:
    """From what the operator wrote about the next app of its size."""
    text = ask(job(40), nextSmall={"unknown": "x"}, nextLarge=INTERVAL).stdout
    assert "in 40 s to 5 min, most likely in about 90 s" in text
    assert "3 apps wait in queue default" in text


def test_small_apps_have_an_interval_of_their_own(ask: Callable[..., Result]) -> None:
    """A twentieth of the capacity is small where the pool's threshold is a tenth."""
    text = ask(job(2), nextSmall=INTERVAL, nextLarge={"unknown": "only 4 apps like it"}).stdout
    assert "small" in text
    assert "most likely in about 90 s" in text


def test_a_forecast_that_has_passed_while_nothing_moved_is_none(ask: Callable[..., Result]) -> None:
    """It was made when an app last came or started: half an hour ago, for five minutes at most."""
    now = time.time()
    for age, words in ((200.0, "in 40 s to 5 min"), (1800.0, "not known yet: nothing has come to its queue")):
        told = INTERVAL | {"at": datetime.fromtimestamp(now - age, UTC).isoformat()}
        assert words in ask(job(40), nextSmall={"unknown": "x"}, nextLarge=told).stdout


def test_unknown_is_said_with_its_reason(ask: Callable[..., Result]) -> None:
    """The operator has not seen enough starts."""
    text = ask(job(40), nextLarge={"unknown": "only 4 apps like it have waited and started"}).stdout
    assert "not known yet: only 4 apps like it" in text


def test_objects_of_one_app_label_are_one_app(ask: Callable[..., Result]) -> None:
    """The page for newcomers has a driver and its tasks; nobody would wait for one without the other."""
    bodies = list(yaml.safe_load_all((ROOT / "docs" / "install" / "first-app.yaml").read_text(encoding="utf-8")))
    alone = job() | {"metadata": {"name": "nightly"}}
    first, second = json.loads(ask(*bodies, alone, waiting=0, words=("-o", "json")).stdout)
    assert (first["app"], first["tasks"], first["request"]["cpu"]) == ("app first", 4, 0.5)
    assert (second["app"], second["tasks"]) == ("Job nightly", 4)


def labelled(*bodies: dict[str, Any], **annotations: str) -> tuple[dict[str, Any], ...]:
    """The same bodies as parts of one app, all of which announce so much."""
    for body in bodies:
        metadata = body["metadata"] if body["kind"] == "Pod" else body["spec"]["template"].setdefault("metadata", {})
        metadata.setdefault("labels", {})["slackwater.io/app"] = "etl"
        metadata["annotations"] = {f"slackwater.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return bodies


def test_tasks_of_several_objects_are_counted_together(ask: Callable[..., Result]) -> None:
    """Together they ask for what each asks for; one mean task stands for all, as in an object with several groups."""
    (row,) = json.loads(ask(*labelled(job(2, cpu="1"), job(3, cpu="2")), waiting=0, words=("-o", "json")).stdout)
    assert (row["app"], row["tasks"], row["request"]["cpu"]) == ("app etl", 5, pytest.approx(1.6))


def test_one_part_that_is_larger_than_any_node_never_starts(ask: Callable[..., Result]) -> None:
    """However small the mean of all parts is."""
    assert "never: a task asks for 900 cores" in ask(*labelled(job(2000), job(1, cpu="900")), waiting=0).stdout


def test_what_the_pods_of_an_app_announce_is_its_size(ask: Callable[..., Result]) -> None:
    """As the operator reads it: each of eight pods says that there are eight, and no pod makes them more."""
    pods = labelled(*(job(kind="Pod") for _ in range(8)), tasks="8", task_cpu="1", task_memory="1Gi")
    (row,) = json.loads(ask(*pods, waiting=0, words=("-o", "json")).stdout)
    assert (row["app"], row["tasks"], row["request"]) == ("app etl", 8, {"cpu": 1.0, "memory": 2.0**30})


def test_what_a_driver_announces_is_the_size_of_its_app(ask: Callable[..., Result]) -> None:
    """Whatever tasks stand beside it in the file; of several announcements the most of each counts."""
    (driver,) = labelled(job(kind="Pod"), tasks="8", task_cpu="1")
    driver["metadata"]["labels"]["slackwater.io/role"] = "driver"
    (other,) = labelled(job(kind="Pod"), tasks="2", task_cpu="3")
    bodies = (driver, other, *labelled(job(kind="Pod")))
    (row,) = json.loads(ask(*bodies, waiting=0, words=("-o", "json")).stdout)
    assert (row["tasks"], row["request"]) == (8, {"cpu": 3.0})


def test_an_overfull_node_takes_no_room_from_others(ask: Callable[..., Result], cluster: Cluster) -> None:
    """It has room for none, not for fewer than none."""
    rooms = [{"cpu": 8.0, "memory": 2.0**33}, {"cpu": 4.0, "memory": -5 * 2.0**30}]
    nodes = [{"name": f"n{n}", "room": room, "allocatable": {"cpu": 8.0}} for n, room in enumerate(rooms)]
    cluster.answers[f"{PROXY}/v1/nodes"] = {"nodes": nodes}
    (row,) = json.loads(ask(job(10), waiting=0, words=("-o", "json")).stdout)
    assert row["fitting"] == 8


def test_without_anybody_waiting_it_starts_at_once_where_there_is_room(ask: Callable[..., Result]) -> None:
    """And says for how many of its tasks."""
    assert "at once: nobody waits in queue default" in ask(job(None), waiting=0).stdout


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"limits": {"cpu": "100m"}}, id="limits"),
        pytest.param({"requests": {"cpu": "100m"}}, id="tenths"),
    ],
)
def test_room_is_counted_as_the_scheduler_would(
    ask: Callable[..., Result], cluster: Cluster, resources: dict[str, Any]
) -> None:
    """Tasks that ask for nothing always fit, limits are requests where none are written, a core is ten tenths."""
    cluster.answers[f"{PROXY}/v1/nodes"] = {"nodes": [{"name": "n", "room": {"cpu": 1.0}, "allocatable": {"cpu": 4.0}}]}
    body = job(12)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    (row,) = json.loads(ask(body, waiting=0, words=("-o", "json")).stdout)
    assert row["fitting"] == (10 if resources else 12)
    assert row["request"] == ({"cpu": 0.1} if resources else {})


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        pytest.param("Job", {"spec": [1]}, id="spec-is-a-list"),
        pytest.param("Pod", {"spec": {"containers": "many"}}, id="containers-is-text"),
        pytest.param("Pod", {"metadata": {"name": "a", "annotations": ["x"]}}, id="annotations-is-a-list"),
    ],
)
def test_a_manifest_that_kubernetes_would_not_read_is_refused(
    ask: Callable[..., Result], kind: str, change: dict[str, Any]
) -> None:
    """In a sentence that names the object."""
    with pytest.raises(InvalidInput, match=rf"FILE: {kind} \w+ is not written as Kubernetes reads it"):
        ask(job(kind=kind) | change)


def test_a_task_larger_than_any_node_never_starts(ask: Callable[..., Result]) -> None:
    """Waiting would not help."""
    assert "never: a task asks for 900 cores" in ask(job(1, cpu="900"), waiting=0).stdout


def test_a_task_that_no_node_could_hold_whole_never_starts(ask: Callable[..., Result], cluster: Cluster) -> None:
    """One node has the cores and another one the memory: none has both."""
    sizes = [{"cpu": 32.0, "memory": 8 * 2.0**30}, {"cpu": 4.0, "memory": 64 * 2.0**30}]
    nodes = [{"name": f"n{n}", "room": size, "allocatable": size} for n, size in enumerate(sizes)]
    cluster.answers[f"{PROXY}/v1/nodes"] = {"nodes": nodes}
    said = "never: a task asks for 16 cores and 32 GiB, and no node has all of that; lower the request"
    assert said in " ".join(ask(job(1, cpu="16", memory="32Gi"), waiting=0).stdout.split())
    parts = labelled(job(1, cpu="16"), job(1, memory="32Gi"))
    assert "never" not in ask(*parts, waiting=0).stdout  # each of its parts has its node


def test_a_namespace_that_is_not_managed_is_named(ask: Callable[..., Result], run: Run, tmp_path: Path) -> None:
    """Nothing of ours decides there."""
    body = job() | {"metadata": {"name": "nightly", "namespace": "other"}}
    assert "namespace other is not managed" in ask(body).stdout


def test_all_apps_of_a_file_are_answered_for_programs_too(ask: Callable[..., Result]) -> None:
    """A Job and a Pod; the Service between them is no app."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    rows = json.loads(ask(job(), service, job(kind="Pod"), nextLarge=INTERVAL, words=("-o", "json")).stdout)
    assert [row["app"] for row in rows] == ["Job nightly", "Pod one"]
    assert rows[0]["request"] == {"cpu": 1.0, "memory": 2.0**30}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(None, "cannot be read .No such file", id="missing"),
        pytest.param("a: [", "is not YAML", id="not-yaml"),
        pytest.param("a: 2026-02-30", "is not YAML .day is out of range", id="no-such-day"),
        pytest.param(f"a: {'9' * 5000}", "is not YAML .Exceeds the limit", id="digits"),
        pytest.param("[" * 1000, "is not YAML .too much stands inside", id="brackets"),
        pytest.param("a: !!bool maybe", "is not YAML .a value is not what", id="tag"),
        pytest.param("kind: Job\nspec: &a {b: *a}", "Job is not written as .*too much stands inside", id="circle"),
        pytest.param("kind: Service", "holds no app", id="no-app"),
        pytest.param("{kind: List, items: [a, b]}", "holds no app", id="items-are-text"),
        pytest.param("{kind: List, items: abc}", "holds no app", id="items-is-text"),
    ],
)
def test_a_file_that_says_nothing_is_refused(run: Run, tmp_path: Path, text: str | None, said: str) -> None:
    """With its path; a missing file is not a missing cluster."""
    path = tmp_path / "app.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=said):
        run("when", str(path))
