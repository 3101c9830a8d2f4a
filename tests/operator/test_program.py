"""One replica of the operator: what its probe tells, and what it watches."""

from __future__ import annotations

import asyncio
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.sources import POD_GROUP_VERSIONS, pod_groups, reflect
from slackwater_operator.program import FIRST_ROUND, Program
from slackwater_operator.settings import Settings
from support.fakes.apiserver import ApiServer

if TYPE_CHECKING:
    from slackwater_operator.release.loop import ReleaseLoop
    from slackwater_operator.steadyclock import SteadyClock


@pytest.mark.parametrize(
    ("beat", "seconds", "healthy"),
    [
        pytest.param(None, 10_000, True, id="waits for leadership"),
        pytest.param(0.0, FIRST_ROUND, True, id="reads its first lists"),
        pytest.param(0.0, 2 * FIRST_ROUND, False, id="never finished its first lists"),
        pytest.param(1_000.0, 30, True, id="turns"),
        pytest.param(1_000.0, 2 * FIRST_ROUND, False, id="turns no more"),
    ],
)
def test_a_leader_without_rounds_is_not_healthy(beat: float | None, seconds: float, *, healthy: bool) -> None:
    """A missing right or definition: it would keep the Lease, and release nothing, for ever."""
    program = Program(Settings(lead_alone=True))
    program.leads_since = 1_000.0
    program.clock = cast("SteadyClock", lambda: 1_000.0 + seconds)
    if beat is not None:
        program.cycle = cast("ReleaseLoop", SimpleNamespace(beat=beat))
    assert program.healthy is healthy


@pytest.mark.parametrize("served", ["v1beta1", "v1alpha2", ""], ids=["as in 1.37", "as in 1.36", "nowhere"])
async def test_pod_groups_are_watched_in_the_version_that_is_served(served: str) -> None:
    """Where none is, nothing waits for them, and a pod that names one waits for nothing."""
    server, program = ApiServer(), Program(Settings(lead_alone=True))
    paths = {version: pod_groups(version).path for version in POD_GROUP_VERSIONS}
    server.troubles = {path: deque([404] * 100) for version, path in paths.items() if version != served}
    if served:
        policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
        server.put(paths[served], {"metadata": {"name": "mpi", "namespace": "team", "uid": "1"}, "spec": policy})
    async with server.running() as endpoint, Session(endpoint) as session:
        watching = asyncio.create_task(reflect(program.group_reflectors(session)))
        async with asyncio.timeout(10):
            await asyncio.gather(*(feed.complete.wait() for feed in program.feeds))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    groups = program.cache.pod_groups
    assert groups.least(PodRecord(name="m0", namespace="team", group="mpi")) == (4 if served else 0)
    assert groups.missing(PodRecord(name="m1", namespace="team", group="later")) is bool(served)
