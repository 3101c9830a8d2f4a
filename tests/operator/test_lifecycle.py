"""The handlers and the whole program against a mocked API server: what is seen twice is done once."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import ClientSession, web
from kmock import KubernetesEmulator, ResourceInfo

from slackwater_operator.main import serve
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings

OURS = "slackwater.io/v1alpha1"
POLICIES, QUEUES, POOLS = f"{OURS}/slackpolicies", f"{OURS}/admissionqueues", f"{OURS}/reservationpools"
NAMESPACED = {"v1/pods", f"{OURS}/trackedapps", "v1/configmaps", "v1/events"}
KINDS = {
    POLICIES: "SlackPolicy",
    QUEUES: "AdmissionQueue",
    POOLS: "ReservationPool",
    f"{OURS}/trackedapps": "TrackedApp",
    "v1/pods": "Pod",
    "v1/nodes": "Node",
    "v1/namespaces": "Namespace",
    "v1/spaces": "Namespace",  # where the emulator keeps them
    "apiextensions.k8s.io/v1/customresourcedefinitions": "CustomResourceDefinition",
    "v1/configmaps": "ConfigMap",
    "v1/events": "Event",
    "v1/limitranges": "LimitRange",
    "v1/resourcequotas": "ResourceQuota",
}


class Emulator(KubernetesEmulator):
    """kmock's API server, taught the three things it does not know.

    Its parser does not take the list of namespaces nor `watch=1`, and a gate marked for deletion by a strategic merge
    patch would stay.
    """

    faults: Callable[[web.BaseRequest], web.Response | None] = staticmethod(lambda _: None)

    async def __call__(self, raw_request: web.BaseRequest) -> web.StreamResponse:
        """Serve what the emulator understands, but for what shall go wrong."""
        if (wrong := self.faults(raw_request)) is not None:
            return wrong
        url = raw_request.rel_url
        if url.path == "/api/v1/namespaces":
            url = url.with_path("/api/v1/spaces", keep_query=True)
        if url.query.get("watch") == "1":
            url = url.update_query(watch="true")
        return await super().__call__(raw_request.clone(rel_url=url))

    async def _handle(self, request: Any) -> web.StreamResponse:
        if request.method == "PATCH" and "schedulingGates" in request.data.get("spec", {}):
            request.data["spec"]["schedulingGates"] = []
        return await super()._handle(request)


pytestmark = pytest.mark.kmock(cls=Emulator)


@pytest.fixture
def server(kmock: Emulator) -> Emulator:
    """The mocked API server with our kinds installed."""
    verbs = {"get", "list", "watch", "patch", "create", "delete"}
    for where, kind in KINDS.items():
        kmock.resources[where] = ResourceInfo(
            kind=kind,
            singular=kind.lower(),
            namespaced=where in NAMESPACED,
            verbs=verbs,
            subresources={"status"},
        )
    return kmock


def put(server: Emulator, where: str, name: str, namespace: str | None = None, **body: Any) -> None:
    """An object that is there from the beginning."""
    meta = {"name": name, "uid": f"uid-{name}", "generation": 1, **body.pop("metadata", {})}
    if namespace:
        meta["namespace"] = namespace
    group = where.rpartition("/")[0]
    server.objects[where, namespace, name] = {"apiVersion": group, "kind": KINDS[where], "metadata": meta, **body}


@asynccontextmanager
async def operator(server: Emulator, folder: Path, **wishes: Any) -> AsyncIterator[Program]:
    """Run kopf with our handlers and the program inside it, as the console script runs it."""
    kubeconfig = folder / "kubeconfig"
    named = {"name": "mock", "cluster": {"server": str(server.url).rstrip("/")}}
    context = {"name": "mock", "context": {"cluster": "mock", "user": "mock"}}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "mock",
                "clusters": [named],
                "contexts": [context],
                "users": [{"name": "mock", "user": {}}],
            }
        )
    )
    settings = Settings(
        kubeconfig=kubeconfig,
        lead_alone=True,
        health_port=0,
        metrics_port=0,
        extender_url="http://127.0.0.1:1",
        grace=0,
        period=0.02,
        **wishes,
    )
    program = Program(settings, patience=0.5)
    running = asyncio.create_task(serve(program, settings))
    try:
        yield program
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition is the server's state, which nobody signals
            await asyncio.sleep(0.02)


def patches(server: Emulator, part: str) -> list[Any]:
    """Bodies of patches whose path holds a part."""
    return [each.data for each in server["patch"] if part in str(each.url)]


def ready(server: Emulator, where: str, name: str) -> dict[str, Any]:
    """The object's Ready condition; empty while there is none."""
    status = server.objects[where, None, name].raw.get("status", {})
    return next((dict(each) for each in status.get("conditions", []) if each["type"] == "Ready"), {})


def held() -> dict[str, Any]:
    """A task behind our gate."""
    requests = {"cpu": "1", "memory": "1Gi"}
    return {
        "metadata": {"labels": {"slackwater.io/app": "etl", "slackwater.io/role": "task"}},
        "spec": {
            "schedulerName": "slackwater",
            "schedulingGates": [{"name": "slackwater.io/admission"}],
            "containers": [{"name": "c", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }


def gates(server: Emulator, name: str) -> list[Any]:
    """The gates of a pod of the namespace team."""
    return list(server.objects["v1/pods", "team", name].raw["spec"]["schedulingGates"])


async def touched(server: Emulator, where: str, name: str, namespace: str = "") -> None:
    """Somebody labels an object: handlers see it again, and nothing they care about is different."""
    group, _, plural = where.rpartition("/")
    root = f"/api/{group}" if group == "v1" else f"/apis/{group}"
    path = f"{root}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{root}/{plural}/{name}"
    async with ClientSession(str(server.url)) as session:
        answer = await session.patch(path, json={"metadata": {"labels": {"touched": "true"}}})
        assert answer.status == 200


async def test_an_object_seen_twice_is_written_once(server: Emulator, tmp_path: Path) -> None:
    """Policies, queues and pools get their status; when the handler runs again it writes nothing."""
    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, QUEUES, "default", spec={})
    put(server, POOLS, "pool", spec={"queue": "default"})
    kinds = ((POLICIES, "default"), (QUEUES, "default"), (POOLS, "pool"))
    async with operator(server, tmp_path, track_seconds=1) as program:
        await until(lambda: all(ready(server, where, name).get("status") == "True" for where, name in kinds))
        for where, name in kinds:
            await touched(server, where, name)
        await until(lambda: all(_seen(program, where, name) for where, name in kinds))
        before = len(server["patch"])
        await asyncio.sleep(2.5)  # two more times of telling
        assert len(server["patch"]) == before
    assert [len(patches(server, f"/{name}/status")) for name in ("default", "pool")] == [2, 1]


def _seen(program: Program, where: str, name: str) -> bool:
    """Whether the watch has shown the program the object with its new label."""
    assert program.cycle is not None
    return "touched" in program.cycle.reporter._objects[KINDS[where], name].labels


@pytest.mark.parametrize(
    ("where", "spec", "reason", "words"),
    [
        (QUEUES, {"namespaces": ["team"]}, "Conflict", "namespace team is served by queue default"),
        (POOLS, {"queue": "nowhere"}, "UnknownQueue", "there is no AdmissionQueue nowhere"),
        (POOLS, {"queue": "default"}, "Conflict", "pool default already shares the nodes"),
        (QUEUES, {"namespaces": ["other"], "order": "random"}, "Invalid", "spec.order"),
        (POLICIES, {"ceiling": {"cpuPercent": -5}}, "Invalid", "spec.ceiling.cpuPercent"),
    ],
    ids=["namespace named twice", "pool of no queue", "two pools", "an order nobody knows", "negative"],
)
async def test_what_contradicts_itself_is_told_on_the_object(
    server: Emulator, tmp_path: Path, where: str, spec: dict[str, Any], reason: str, words: str
) -> None:
    """The condition says why and what to do; everything else stays in force."""
    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, QUEUES, "default", spec={"namespaces": ["team"]})
    put(server, POOLS, "default", spec={"queue": "default"})
    put(server, where, "wrong", spec=spec)
    async with operator(server, tmp_path):
        await until(lambda: ready(server, where, "wrong").get("reason") == reason)
        await until(lambda: all(ready(server, kind, "default") for kind in (POLICIES, QUEUES, POOLS)))
    assert ready(server, where, "wrong")["status"] == "False"
    assert words in ready(server, where, "wrong")["message"]
    assert all(ready(server, kind, "default")["status"] == "True" for kind in (POLICIES, QUEUES, POOLS))


async def test_a_deleted_object_is_forgotten(server: Emulator, tmp_path: Path) -> None:
    """Its status is not written any more, and what it said is no longer in force."""
    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, QUEUES, "night", spec={"namespaces": ["team"]})
    async with operator(server, tmp_path) as program:
        await until(lambda: ready(server, QUEUES, "night").get("status") == "True")
        async with ClientSession(str(server.url)) as session:
            await session.delete(f"/apis/{QUEUES}/night")
        await until(lambda: not program.cache.governing.queues)
        assert program.cycle is not None
        reporter = program.cycle.reporter
        await until(lambda: ("AdmissionQueue", "night") not in reporter._objects)


async def test_a_pod_seen_twice_is_released_once(server: Emulator, tmp_path: Path) -> None:
    """One nomination and one gate removal, however often the watch shows the pod."""
    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, "v1/spaces", "team", metadata={"labels": {"slackwater.io/managed": "true"}})
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    ready_now = {"type": "Ready", "status": "True"}
    put(server, "v1/nodes", "a", status={"allocatable": amounts, "capacity": amounts, "conditions": [ready_now]})
    put(server, "v1/pods", "t", "team", **held())
    async with operator(server, tmp_path) as program:
        await until(lambda: not gates(server, "t"))
        await touched(server, "v1/pods", "t", "team")
        await until(lambda: "touched" in program.cache.index.index.pods["uid-t"].labels)
        await asyncio.sleep(0.5)
    ours = [each for each in patches(server, "/pods/t") if "labels" not in each["metadata"]]
    assert [next(key for key in each if key != "metadata") for each in ours] == ["status", "spec"]
    assert server.objects["v1/pods", "team", "t"].raw["status"]["nominatedNodeName"] == "a"


@pytest.mark.parametrize("lost", ["trackedapps", "slackpolicies", ""], ids=["TrackedApp", "SlackPolicy", "all"])
async def test_an_operator_that_starts_without_a_definition_releases_what_is_held(
    server: Emulator, tmp_path: Path, lost: str
) -> None:
    """It held the Lease and waited for the lists for ever, so the watchdog did nothing either."""

    def missing(request: web.BaseRequest) -> web.Response | None:
        gone = f"/slackwater.io/v1alpha1/{lost}" in request.path
        return web.json_response({"kind": "Status", "message": "no such kind"}, status=404) if gone else None

    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, "v1/spaces", "team", metadata={"labels": {"slackwater.io/managed": "true"}})
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    put(server, "v1/nodes", "a", status={"allocatable": amounts, "capacity": amounts, "conditions": conditions})
    put(server, "v1/pods", "t", "team", **held())
    server.faults = missing
    async with operator(server, tmp_path):
        await until(lambda: not gates(server, "t"))


RESOURCE = re.compile(r"/(api/v1|apis/[^/]+/[^/]+)/.")


class EveryThird:
    """Answers every third request wrongly, each time in another way; what is written then is not done."""

    def __init__(self) -> None:
        self.count, self.told = 0, Counter[str]()

    def __call__(self, request: web.BaseRequest) -> web.Response | None:
        """The wrong answer, or None. What kopf asks at its start is left alone: it would end, and be started again."""
        if not RESOURCE.match(request.path):
            return None
        self.count += 1
        if self.count % 3:
            return None
        reads = request.method == "GET"
        status = (500, 429, 410, 503, 200)[self.turn] if reads else (409, 429, 500, 503, 504)[self.turn]
        self.told[f"{request.method} {status}"] += 1
        if status == 200:  # half an answer
            return web.Response(text='{"kind": "List", "items": [{"metadata": {"na', content_type="application/json")
        return web.json_response({"kind": "Status", "message": "on purpose"}, status=status)

    @property
    def turn(self) -> int:
        """Which of the wrong answers it is."""
        return self.count // 3 % 5


async def test_a_server_that_fails_every_third_request_delays_and_loses_nothing(
    server: Emulator, tmp_path: Path
) -> None:
    """Lists, watches and writes, with 409, 410, 429, 500, 503 and half an answer: every pod is released in the end."""
    put(server, POLICIES, "default", spec={"mode": "enforce"})
    put(server, "v1/spaces", "team", metadata={"labels": {"slackwater.io/managed": "true"}})
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    put(server, "v1/nodes", "a", status={"allocatable": amounts, "capacity": amounts, "conditions": conditions})
    names = [f"p{number}" for number in range(5)]
    for name in names:
        put(server, "v1/pods", name, "team", **held())
    wrong = EveryThird()
    server.faults = wrong
    async with operator(server, tmp_path):
        await until(lambda: not any(gates(server, name) for name in names), 60)
    assert sum(wrong.told.values()) > 10
    assert any(each.startswith("PATCH") for each in wrong.told)
