"""An API server that answers for owners as a test wants, and pods that name them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from slackwater_cluster import names
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.release.ownerlookup import OwnerLookup
from support.fakes.cluster import enforcing, node

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


async def learns(lookup: OwnerLookup, cache: OperatorCache) -> bool:
    """Look up what is due; whether anything was learned."""
    answers: list[bool] = []
    await lookup.run(cache, lambda: answers.append(True))
    return bool(answers)


async def sound(request: web.Request) -> web.StreamResponse:
    """An API server that knows Jobs, none of which has an owner."""
    known = {"/apis": GROUPS, "/apis/batch/v1": KINDS}
    if request.path in known:
        return web.json_response(known[request.path])
    return web.json_response({"metadata": {"uid": "j-p"}})
