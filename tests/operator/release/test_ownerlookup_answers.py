"""Look-ups of owners by what the API server answers: too much, another shape, a refusal, another version."""

import asyncio
import time
from typing import Any, cast

import pytest
from aiohttp import web

from slackwater.resources import Resources
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.apps import ownerlookup
from slackwater_cluster.apps.questions import TOGETHER
from slackwater_cluster.apps.size import AppSize, StatedSize
from slackwater_operator.release.ownerlookup import OwnerLookup
from support.fakes.cluster import enforcing, node, owned
from support.fakes.ownerserver import held, learns, memory, served, sound


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
        assert not await learns(lookup, cache)
        calm.append(True)
        now[0] += 10
        assert await learns(lookup, cache)

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
        assert not await learns(lookup, cache)
        assert time.monotonic() - began < 5
        assert not await learns(lookup, cache)

    asked = served(endless, work)
    assert asked.count("/apis/batch/v1/namespaces/team/jobs/j") == 1


def test_an_answer_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, whatever stands in the object."""
    monkeypatch.setattr(ownerlookup, "LARGEST", 10_000)
    cache = memory(held("p"))

    async def work(session: Session) -> None:
        began = time.monotonic()
        assert not await learns(OwnerLookup(session), cache)
        assert time.monotonic() - began < 3

    served(endless, work)


@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b'{"metadata": 1}', b'{"metadata": {"ownerReferences": "x"}}'])
def test_an_answer_of_another_shape_sets_its_owner_aside(body: bytes) -> None:
    """It counts as topmost; nothing is raised."""
    cache = memory(held("p"))

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body) if "/jobs/" in request.path else await sound(request)

    async def work(session: Session) -> None:
        assert await learns(OwnerLookup(session), cache)

    served(answer, work)
    assert [each.part.value for each in cache.quarantine.take()] == ["owner"]


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
        asyncio.run(learns(lookup, world.cache))
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
        now = 0.0
        lookup = OwnerLookup(session, lambda: now)
        await learns(lookup, cache)
        assert cache.index.unknown()
        starting, now = False, 10.0
        await learns(lookup, cache)

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
        assert await learns(OwnerLookup(session), cache)

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
        now = 0.0
        lookup = OwnerLookup(session, lambda: now)
        await learns(lookup, cache)
        assert cache.index.unknown()
        version, now = "v1", 10.0
        await learns(lookup, cache)

    assert "/apis/batch/v1/namespaces/team/jobs/j" in served(answer, work)
    assert not cache.index.unknown()


def test_a_group_whose_version_is_not_served_for_a_moment_makes_no_owner_topmost() -> None:
    """One of several API servers is behind: all owners of the group wait, also those asked about in the same turn."""
    pods = [held(f"p{number}") for number in range(2 * TOGETHER)]
    cache = memory(*pods)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/apis/batch/v1":
            return web.json_response({"message": "not found"}, status=404)
        return await sound(request)

    async def work(session: Session) -> None:
        await learns(OwnerLookup(session, lambda: 0.0), cache)

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


def test_an_answer_that_comes_when_its_app_has_a_size_changes_nothing() -> None:
    """What is known of an app does not change under the rounds that decided by it."""
    world = enforcing(node("a", cpu=1))
    world.create("first", cpu=2, app="etl")
    world.cache.views.refresh()
    views = world.cache.views
    asked_about = views["team/etl"]
    views.resize(asked_about, StatedSize(AppSize(500, Resources(cpu=2.0), "object")))
    views.resize(asked_about, StatedSize(AppSize(7, Resources(cpu=2.0), "object")))
    world.create("second", cpu=2, app="etl")
    views.refresh()
    size = views["team/etl"].size
    assert size is not None
    assert size.tasks == 500
