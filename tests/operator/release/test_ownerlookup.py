"""Look-ups of owners: bounded, beside the rounds, and nothing that a tenant writes makes them fail."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.apps import ownerlookup
from slackwater_cluster.apps.ownerlookup import AT_ONCE, fair
from slackwater_cluster.apps.size import AppSize, StatedSize
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from slackwater_cluster.watch import trim
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.release.ownerlookup import OwnerLookup
from support.fakes.cluster import enforcing, node, owned

GROUPS = {"groups": [{"name": "batch", "preferredVersion": {"version": "v1"}}]}
KINDS = {"resources": [{"kind": "Job", "name": "jobs", "namespaced": True}]}


def held(name: str, /, **owner: Any) -> PodRecord:
    """A held pod of namespace `team` as the watch delivers it, with one owner reference."""
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": f"j-{name}", "controller": True, **owner}
    meta = {"name": name, "namespace": "team", "uid": name, "ownerReferences": [reference]}
    spec = {"schedulerName": names.SCHEDULER, "schedulingGates": [{"name": names.GATE}]}
    return trim.pod(msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}, wire.Pod))


def served(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], work: Callable[[Session], Awaitable[None]]
) -> list[str]:
    """Run some work against a server; returns the addresses it was asked for, as they came over the wire."""
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        return await answer(request)

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with Session(Endpoint(f"http://127.0.0.1:{port}", False, dict)) as session:
                await work(session)
        finally:
            await runner.cleanup()

    asyncio.run(run())
    return asked


def memory(*pods: PodRecord) -> OperatorCache:
    """A cache that holds pods of a managed namespace."""
    world = enforcing(node("a"))
    world.cache.set_pods(pods, 0.0)
    return world.cache


async def sound(request: web.Request) -> web.StreamResponse:
    """An API server that knows Jobs, none of which has an owner."""
    known = {"/apis": GROUPS, "/apis/batch/v1": KINDS}
    if request.path in known:
        return web.json_response(known[request.path])
    return web.json_response({"metadata": {"uid": "j-p"}})


def test_an_owner_is_looked_up_once() -> None:
    """Groups, kinds, the Job; a second pod of the kind costs one request."""
    cache = memory(held("p"))

    async def work(session: Session) -> None:
        lookup = OwnerLookup(session)
        assert await lookup.run(cache)
        assert not await lookup.run(cache)
        cache.set_pods([held("q")], 0.0)
        await lookup.run(cache)

    assert served(sound, work) == [
        "/apis",
        "/apis/batch/v1",
        "/apis/batch/v1/namespaces/team/jobs/j",
        "/apis/batch/v1/namespaces/team/jobs/j",
    ]
    assert not cache.index.unknown()


@pytest.mark.parametrize(
    "owner",
    [
        {"apiVersion": "./v1", "kind": "Foo", "name": "x"},
        {"apiVersion": "../v1", "kind": "Foo", "name": "x"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../../pods?watch=true"},
        {"apiVersion": "v1", "kind": "Pod", "name": "?watch=true"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../../../../healthz"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../kube-system/secrets/x"},
    ],
    ids=lambda owner: f"{owner['apiVersion']} {owner['name']}",
)
def test_an_owner_that_is_no_name_is_never_asked_about(owner: dict[str, str]) -> None:
    """Nothing goes over the wire, the pod is settled, and its owner is told."""
    cache = memory(held("evil", **owner))

    async def work(session: Session) -> None:
        await OwnerLookup(session).run(cache)

    assert served(sound, work) == []
    cache.views.refresh()
    assert all(each.settled for each in cache.views.values())
    assert [each.pod.uid for each in cache.quarantine.take()] == ["evil"]


def test_references_that_bypassed_the_reader_are_not_asked_about_either() -> None:
    """Neither a name nor a group that is a path goes over the wire; others are looked up."""
    world = enforcing(node("a"))
    for number, (group, name) in enumerate((("batch", "../../secrets/x"), ("../../api/v1", "x"), ("batch", ".."))):
        bad = OwnerRef(kind="Job", name=name, uid=f"bad-{number}", group=group, controller=True, namespace="team")
        world.create(f"evil-{number}", owners=[bad])
    world.create("good", owners=[owned("Job", "j", group="batch")])

    async def work(session: Session) -> None:
        await OwnerLookup(session).run(world.cache)

    asked = set(served(sound, work))
    assert asked == {"/apis", "/apis/batch/v1", "/apis/batch/v1/namespaces/team/jobs/j"}
    assert not world.cache.index.unknown()


def test_made_up_groups_cost_no_request_each() -> None:
    """One list of the groups answers for all of them."""
    cache = memory(*(held(f"p{n}", apiVersion=f"g{n}.example/v1") for n in range(40)))

    async def work(session: Session) -> None:
        await OwnerLookup(session).run(cache)

    assert len(served(sound, work)) <= ownerlookup.TOGETHER
    assert not cache.index.unknown()


VERSIONS = {
    "/apis": {
        "groups": [
            {
                "name": "kubeflow.org",
                "preferredVersion": {"version": "v1"},
                "versions": [{"version": "v1"}, {"version": "v2beta1"}],
            }
        ]
    },
    "/apis/kubeflow.org/v1": {"resources": [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}]},
    "/apis/kubeflow.org/v2beta1": {"resources": [{"kind": "MPIJob", "name": "mpijobs", "namespaced": True}]},
}


@pytest.mark.parametrize(
    ("kind", "version", "asked"),
    [
        ("MPIJob", "v2beta1", ["v2beta1", "v2beta1/namespaces/team/mpijobs/j"]),
        ("TFJob", "v2beta1", ["v2beta1", "v1", "v1/namespaces/team/tfjobs/j"]),
        ("TFJob", "v9", ["v1", "v1/namespaces/team/tfjobs/j"]),
        ("Other", "v2beta1", ["v2beta1", "v1"]),
    ],
    ids=["served there only", "served in the preferred one", "a version not served", "a kind not served"],
)
def test_an_owner_is_asked_for_in_the_version_that_its_reference_names(
    kind: str, version: str, asked: list[str]
) -> None:
    """Then in the group's preferred one; a version that a tenant made up costs no request."""
    cache = memory(held("p", apiVersion=f"kubeflow.org/{version}", kind=kind))

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(VERSIONS.get(request.path, {"metadata": {"uid": "j-p"}}))

    async def work(session: Session) -> None:
        await OwnerLookup(session).run(cache)

    assert served(answer, work) == ["/apis", *(f"/apis/kubeflow.org/{path}" for path in asked)]
    assert not cache.index.unknown()


def test_too_many_requests_during_discovery_is_not_remembered() -> None:
    """One 429 used to switch off look-ups of the kind until the next restart."""
    now = [0.0]
    cache = memory(held("p"))
    calm: list[bool] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if not calm:
            return web.json_response({"message": "too many requests"}, status=429)
        return await sound(request)

    async def work(session: Session) -> None:
        lookup = OwnerLookup(session, clock=lambda: now[0])
        assert not await lookup.run(cache)
        calm.append(True)
        now[0] += 10
        assert await lookup.run(cache)

    asked = served(answer, work)
    assert asked[-1] == "/apis/batch/v1/namespaces/team/jobs/j"


async def endless(request: web.Request) -> web.StreamResponse:
    """An answer that never ends for the Job, as a watch would be."""
    if "/jobs/" not in request.path:
        return await sound(request)
    reply = web.StreamResponse()
    await reply.prepare(request)
    while True:
        await reply.write(b" " * 1000)
        await asyncio.sleep(0.05)


def test_an_answer_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its seconds; it is asked for again later, with growing pauses."""
    monkeypatch.setattr(ownerlookup, "SECONDS", 0.3)
    cache = memory(held("p"))

    async def work(session: Session) -> None:
        lookup = OwnerLookup(session)
        began = time.monotonic()
        assert not await lookup.run(cache)
        assert time.monotonic() - began < 5
        assert not await lookup.run(cache)

    asked = served(endless, work)
    assert asked.count("/apis/batch/v1/namespaces/team/jobs/j") == 1


def test_an_answer_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, whatever stands in the object."""
    monkeypatch.setattr(ownerlookup, "LARGEST", 10_000)
    cache = memory(held("p"))

    async def work(session: Session) -> None:
        began = time.monotonic()
        assert not await OwnerLookup(session).run(cache)
        assert time.monotonic() - began < 3

    served(endless, work)


@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b'{"metadata": 1}', b'{"metadata": {"ownerReferences": "x"}}'])
def test_an_answer_of_another_shape_sets_its_owner_aside(body: bytes) -> None:
    """It counts as topmost; nothing is raised."""
    cache = memory(held("p"))

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body) if "/jobs/" in request.path else await sound(request)

    async def work(session: Session) -> None:
        assert await OwnerLookup(session).run(cache)

    served(answer, work)
    assert [each.part.value for each in cache.quarantine.take()] == ["owner"]


def test_namespaces_take_turns() -> None:
    """A tenant with a thousand owners does not keep another's one owner waiting."""
    many = [(owned("Job", f"j{n}", group="batch"), "greedy") for n in range(1000)]
    one = (owned("Job", "x", group="batch"), "modest")
    assert one in fair([*many, one])[:2]
    assert len(fair([*many, one])) == 1001 > AT_ONCE


def test_a_pod_that_goes_takes_its_question_along() -> None:
    """Owners of pods that are gone are not asked about."""
    pod = held("p")
    cache = memory(pod)
    assert cache.index.unknown()
    cache.drop_pods([pod], 0.0)
    assert not cache.index.unknown()


@pytest.mark.parametrize("well", [True, False], ids=["the rest is well", "nothing is well"])
def test_pods_of_a_kind_that_only_answers_with_errors_go_on_after_a_while(well: bool) -> None:
    """A broken conversion webhook answers 500 for as long as it is broken; without us its pods would run."""
    world = enforcing(node("a"))
    world.objects["/apis"] = {"groups": [{"name": "acme.io", "preferredVersion": {"version": "v1"}}]}
    world.objects["/apis/acme.io/v1"] = {"resources": [{"kind": "Pipeline", "name": "pipelines", "namespaced": True}]}
    pod = world.create("step", app="", role="", owners=[owned("Pipeline", "x", group="acme.io")])
    get = world.get

    async def broken(path: str, *parameters: Any, **more: Any) -> Answer:
        if "/pipelines/" in path or (path == ownerlookup.READY and not well):
            return Answer(500, b'{"message": "conversion webhook failed"}')
        return await get(path, *parameters, **more)

    world.get = broken  # type: ignore[method-assign]
    operator, lookup = world.operator(), OwnerLookup(cast("Session", world), world.clock)
    for _ in range(40):
        asyncio.run(lookup.run(world.cache))
        operator.step(5)
    assert (not world.pods[pod.uid].gates) is well
    assert any("counts as topmost" in each.problem for each in world.cache.quarantine.take()) is well


@pytest.mark.parametrize("status", [401, 403, 500])
@pytest.mark.parametrize("where", ["/apis", "/apis/batch/v1", "/apis/batch/v1/namespaces/team/jobs/j"])
def test_a_refusal_that_passes_is_not_remembered(where: str, status: int) -> None:
    """A token that is being renewed, an API server that has not read its roles yet and is not ready, a failure."""
    cache = memory(held("p"))
    starting = True

    async def answer(request: web.Request) -> web.StreamResponse:
        if starting and request.path in (where, ownerlookup.READY):
            return web.json_response({"message": "passing"}, status=status)
        if request.path.endswith("/jobs/j"):
            above = {"apiVersion": "argoproj.io/v1", "kind": "Pipeline", "name": "flow", "uid": "w"}
            return web.json_response({"metadata": {"uid": "j-p", "ownerReferences": [above]}})
        return await sound(request)

    async def work(session: Session) -> None:
        nonlocal starting
        clock = iter(range(0, 1000, 10))
        lookup = OwnerLookup(session, lambda: float(next(clock)))
        await lookup.run(cache)
        assert cache.index.unknown()
        starting = False
        await lookup.run(cache)
        await lookup.run(cache)

    served(answer, work)
    cache.views.refresh()
    assert [each.app for each in cache.views.values()] == ["pipeline/flow"]


def test_what_may_not_be_read_is_topmost_at_once() -> None:
    """The API server says that it is ready, and 403: nobody gave us the right to read this kind."""
    cache = memory(held("p"))

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/jobs/j"):
            return web.json_response({"message": "forbidden"}, status=403)
        return await sound(request)

    async def work(session: Session) -> None:
        assert await OwnerLookup(session).run(cache)

    served(answer, work)
    assert not cache.index.unknown()


def test_a_group_that_is_served_in_another_version_now_is_listed_anew() -> None:
    """Its preferred version was read before the upgrade that removed it."""
    cache = memory(held("p"))
    version = "v1beta1"

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/apis":
            return web.json_response({"groups": [{"name": "batch", "preferredVersion": {"version": version}}]})
        if request.path.startswith("/apis/batch/v1beta1"):
            return web.json_response({"message": "gone"}, status=404)
        return await sound(request)

    async def work(session: Session) -> None:
        nonlocal version
        clock = iter(range(0, 1000, 10))
        lookup = OwnerLookup(session, lambda: float(next(clock)))
        await lookup.run(cache)
        assert cache.index.unknown()
        version = "v1"
        await lookup.run(cache)

    assert "/apis/batch/v1/namespaces/team/jobs/j" in served(answer, work)
    assert not cache.index.unknown()


def test_a_group_whose_version_is_not_served_for_a_moment_makes_no_owner_topmost() -> None:
    """One of several API servers is behind: all owners of the group wait, also those asked about in the same turn."""
    pods = [held(f"p{number}") for number in range(2 * ownerlookup.TOGETHER)]
    cache = memory(*pods)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/apis/batch/v1":
            return web.json_response({"message": "not found"}, status=404)
        return await sound(request)

    async def work(session: Session) -> None:
        await OwnerLookup(session, lambda: 0.0).run(cache)

    served(answer, work)
    assert len(cache.index.unknown()) == len(pods)


def test_an_answer_that_comes_when_its_app_is_gone_is_nobody_s() -> None:
    """The next app of that name would have the size of this one, and nobody would ask for its own."""
    world = enforcing(node("a", cpu=1))
    pod = world.create("first", cpu=2, app="etl")
    operator = world.operator()
    operator.step()
    views = world.cache.views
    asked_about = views["team/etl"]
    world.delete(pod)
    views.refresh()
    views.resize(asked_about, StatedSize(AppSize(500, Resources(cpu=2.0), "object")))
    assert len(views.histories) == 0
    world.create("second", cpu=2, app="etl")
    operator.step()
    assert views["team/etl"].size is None
