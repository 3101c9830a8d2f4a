"""Requests to the API server, one by one."""

from __future__ import annotations

import asyncio

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.session import Session
from support.fakes.apiserver import ApiServer

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
