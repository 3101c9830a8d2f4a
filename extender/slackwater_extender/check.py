"""`slackwater-extender --check`: what is in force, what can be reached, and what is missing, in plain words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from slackwater.errors import SlackwaterError
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.prometheus.matchers import narrowed
from slackwater_cluster.prometheus.vector import VectorClient
from slackwater_cluster.watch.sources import NAMESPACES, NODES, PODS, customs, frameworks
from slackwater_extender.sampler.presets import filled, queries
from slackwater_extender.settings import Settings

Say = Callable[[str], None]

READ = {
    "pods": PODS.path,
    "nodes": NODES.path,
    "namespaces": NAMESPACES.path,
    **{kind: customs(kind).path for kind in ("SlackPolicy", "AdmissionQueue", "ReservationPool", "TrackedApp")},
}


def check(settings: Settings, say: Say = print) -> bool:
    """Print the settings and try everything once; return whether all is well."""
    say(settings.model_dump_json(indent=2, exclude={"check"}))
    problems = [*_kubernetes(settings), *_prometheus(settings)]
    for problem in problems:
        say(f"missing: {problem}")
    say("everything needed is there" if not problems else f"{len(problems)} thing(s) missing")
    return not problems


def _kubernetes(settings: Settings) -> list[str]:
    try:
        return asyncio.run(_readable(settings))
    except SlackwaterError as problem:
        return [f"Kubernetes: {problem}"]


async def _readable(settings: Settings) -> list[str]:
    found = []
    async with Session(endpoint(settings.kubeconfig, settings.context)) as session:
        for kind, path in {**READ, "frameworks": frameworks(settings.decisions.own_namespace).path}.items():
            answer = await session.get(path, {"limit": "1"})
            if answer.status == 404:
                found.append(f"{kind}: the API server does not know it; install Slackwater's custom resources")
            elif answer.status in (401, 403):
                found.append(f"{kind}: may not be read ({answer.message()}); grant list and watch")
            elif not answer.ok:
                found.append(f"{kind}: {answer.message()}")
    return found


def _prometheus(settings: Settings) -> Iterator[str]:
    if settings.prometheus.url is None:
        yield "prometheus.url: not set, so there are no samples and nothing is overcommitted"
        return
    client = VectorClient(settings.prometheus)
    asked = {
        name: filled(query, settings.prometheus.window, ".+") for name, query in queries(settings.prometheus).items()
    }
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = {name: pool.submit(client.query, query) for name, query in asked.items()}
        for name, answer in answers.items():
            try:
                if next(answer.result().series(), None) is None:
                    sent = narrowed(asked[name], settings.prometheus.matchers)
                    yield f"{name}: the query gives no series: {sent}"
            except SlackwaterError as problem:
                yield f"{name}: {problem}"
    client.close()
