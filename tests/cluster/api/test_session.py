"""Requests to the API server, one by one."""

from __future__ import annotations

import asyncio

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Answer, Session
from support.fakes.apiserver import ApiServer
from support.fakes.manypods import ManyPods

PODS = "/api/v1/pods"


def test_who_may_not_write_any_more_sends_nothing() -> None:
    """Asked right before each write: a leader whose Lease is over does not finish what it began."""

    async def run() -> None:
        server, leads = ApiServer(), [True]
        async with server.running() as where, Session(where, may_write=lambda: leads[0]) as session:
            await session.write("PATCH", PODS, {})
            assert server.asked.total() == 1
            leads[0] = False
            with pytest.raises(Unavailable, match="another replica may lead"):
                await session.write("PATCH", PODS, {})
            assert server.asked.total() == 1

    asyncio.run(run())


def test_a_write_waits_for_its_answer_as_long_as_was_said() -> None:
    """Not for the minute and a half that a long list may take."""

    async def run() -> None:
        async with ManyPods(1, 10, silent=frozenset({0})).session() as session, asyncio.timeout(10):
            with pytest.raises(Unavailable, match="Timeout"):
                await session.write("PATCH", "/api/v1/namespaces/team/pods/p000000", {}, seconds=0.2)

    asyncio.run(run())


def test_a_token_that_cannot_be_read_for_a_moment_is_trouble_like_any_other() -> None:
    """Whoever reads or writes tries again; nothing is kept of the failure."""
    readable = [False]

    def headers() -> dict[str, str]:
        if not readable[0]:
            raise FileNotFoundError(2, "No such file or directory", "/var/run/secrets/token")
        return {}

    async def run() -> None:
        server = ApiServer()
        async with server.running() as where, Session(Endpoint(where.url, False, headers)) as session:
            with pytest.raises(Unavailable, match="no proof of who we are"):
                await session.get(PODS)
            with pytest.raises(Unavailable, match="no proof of who we are"):
                await session.write("PATCH", PODS, {})
            readable[0] = True
            assert (await session.get(PODS)).ok

    asyncio.run(run())
    readable[0] = False
    with pytest.raises(Unavailable, match="no proof of who we are"):
        ApiClient(Endpoint("http://nowhere", False, headers)).get(PODS)


@pytest.mark.parametrize(
    "body", [b'{"message": "Zugriff verweigert \xfc"}', b'{"details": ' + b"[" * 5000], ids=["latin", "deep"]
)
def test_a_refusal_that_cannot_be_decoded_is_told_as_it_came(body: bytes) -> None:
    """Whoever is between us and the API server need not write UTF-8."""
    assert Answer(502, body).message().startswith(f"502: {body[:12].decode()}")
