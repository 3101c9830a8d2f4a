"""Reasons on held pods: what is wrong with some pods keeps no reason from the others."""

import asyncio
from typing import Any, cast

import pytest

from slackwater_cluster import names
from slackwater_cluster.api.session import Answer, Session
from slackwater_operator.ratelimit import TokenBucket
from slackwater_operator.release.podwriter import PodWriter
from slackwater_operator.status.podreasons import FAILURES, ReasonWriter
from support.fakes.cluster import enforcing, node


@pytest.mark.parametrize(("status", "reached"), [(403, True), (404, True), (500, False)])
def test_pods_that_are_refused_or_gone_keep_no_reason_from_the_others(status: int, reached: bool) -> None:
    """Each is tried once and later again; only where nobody answers the rest is left for the next time."""
    world = enforcing(node("a", cpu=1))
    for number in range(2 * FAILURES):
        world.create(f"odd-{number}", cpu=4, app="a-odd")
    fine = world.create("fine", cpu=4, app="fine")
    operator = world.operator()
    operator.step()
    tried, write = list[str](), world.write

    async def refusing(method: str, path: str, body: Any, **more: Any) -> Answer:
        tried.append(path)
        return Answer(status, b"{}") if "/odd-" in path else await write(method, path, body, **more)

    world.write = refusing  # type: ignore[method-assign]
    writer = PodWriter(cast("Session", world))
    labeller = ReasonWriter(writer, TokenBucket(100, 100, world.clock), world.clock, quiet=0)
    accounts = [operator.said("a-odd"), operator.said("fine")]
    assert asyncio.run(labeller.write(world.cache, accounts, 0.0)) == int(reached)
    assert (names.REASON in world.pods[fine.uid].annotations) is reached
    assert len(tried) == (2 * FAILURES + 1 if reached else FAILURES)
    asyncio.run(labeller.write(world.cache, accounts, 0.0))
    assert len(tried) == 2 * FAILURES + (1 if reached else 0), "none of them is tried again at once"
