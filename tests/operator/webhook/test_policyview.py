"""Which SlackPolicy the webhook goes by: what its watches tell, and one question where they have not told yet."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources import Mode
from slackwater_operator.webhook.policyview import PolicyView
from support.fakes.apiserver import ApiServer

NAMESPACES = "/api/v1/namespaces"
POLICIES = "/apis/slackwater.io/v1alpha1/slackpolicies"
FRESH = f"{NAMESPACES}/fresh"


def thing(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A namespace or a policy."""
    return {"metadata": {"name": name, "uid": name, "labels": labels or {}}, "spec": spec}


@pytest.fixture
async def server() -> ApiServer:
    """A cluster with two policies, and a namespace for each and for none."""
    made = ApiServer()
    made.put(POLICIES, thing("default", mode="enforce"))
    made.put(POLICIES, thing("looks", mode="score"))
    for name, policy in {"team": "", "scored": "looks", "lost": "nowhere"}.items():
        made.put(NAMESPACES, thing(name, {names.POLICY: policy} if policy else {}))
    return made


@pytest.fixture
async def view(server: ApiServer) -> AsyncIterator[PolicyView]:
    """A view that has listed everything."""
    async with server.running() as where, Session(where) as session:
        made = PolicyView(session)
        with pytest.raises(Unavailable, match="not listed yet"):
            await made.policy("team")
        watches = asyncio.create_task(made.run())
        await until(lambda: made.complete)
        yield made
        watches.cancel()
        with suppress(asyncio.CancelledError):
            await watches


async def until(condition: Callable[[], bool]) -> None:
    """Let the watches run until a condition holds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never")


async def mode(view: PolicyView, namespace: str) -> Mode | None:
    """The mode in force in a namespace."""
    found = await view.policy(namespace)
    return found[0].mode if found else None


async def test_a_namespace_goes_by_the_policy_it_names(view: PolicyView) -> None:
    """By default the one called default; one that does not exist changes nothing."""
    found = [await mode(view, name) for name in ("team", "scored", "lost")]
    assert found == [Mode.ENFORCE, Mode.SCORE, None]


async def test_a_changed_policy_counts_as_soon_as_the_watch_tells(view: PolicyView, server: ApiServer) -> None:
    """And one that was deleted does so no longer."""
    server.put(POLICIES, thing("default", mode="observe"))
    server.remove(POLICIES, thing("looks"))
    await until(lambda: "looks" not in view.governing.policies)
    assert [await mode(view, name) for name in ("team", "scored")] == [Mode.OBSERVE, None]


async def test_an_open_gate_is_told_with_the_policy(view: PolicyView, server: ApiServer) -> None:
    """As its status says; closed where it says nothing."""
    assert await view.policy("team") == (view.governing.policies["default"], False)
    server.put(POLICIES, {**thing("default", mode="enforce"), "status": {"openGate": True}})
    await until(lambda: view.governing.gate_open("default"))
    assert await view.policy("team") == (view.governing.policies["default"], True)


async def test_a_namespace_newer_than_the_watch_is_asked_for(view: PolicyView, server: ApiServer) -> None:
    """One that is gone has no policy; a server that does not answer is told, and the failure policy decides."""
    assert await mode(view, "fresh") is Mode.ENFORCE
    server.troubles[FRESH] = deque([404, 503])
    assert await mode(view, "fresh") is None
    with pytest.raises(Unavailable, match="trouble 503"):
        await view.policy("fresh")
    assert server.asked[FRESH] == 3
