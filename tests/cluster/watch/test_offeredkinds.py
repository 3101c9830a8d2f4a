"""What a node offers counts, however many kinds a pod makes up beside it."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import NodeRecord
from slackwater_cluster.pods.requests import MOST_KINDS
from slackwater_cluster.watch.offeredkinds import MOST, OfferedKinds
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings
from support.builders import objects
from support.fakes.apiserver import ApiServer

GPU = "nvidia.com/gpu"
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
MADE_UP = {f"a.io/{number:02d}": "1" for number in range(MOST_KINDS)}  # all of them before the GPU by name
HIDING = {"cpu": "1", **MADE_UP, GPU: "1"}


def hiding(containers: int = 1) -> wire.Pod:
    """A pod that names its node itself, and asks for 16 made-up kinds before its GPU: its kubelet runs it."""
    asked = [{"name": f"c{number}", "resources": {"requests": HIDING}} for number in range(containers)]
    body = {
        "metadata": {"name": "p", "namespace": "team", "uid": "u"},
        "spec": {"nodeName": "gpu-0", "containers": asked},
    }
    return msgspec.convert(body, wire.Pod)


def node(**kinds: float) -> NodeRecord:
    """A node of eight cores that offers some kinds more."""
    return NodeRecord(name="gpu-0", allocatable=Resources({"cpu": 8.0, GPU: 4.0, **kinds}))


@pytest.mark.parametrize("containers", [1, 3])
def test_a_gpu_counts_beside_sixteen_kinds_that_nobody_has(containers: int) -> None:
    """Else its node would look as if it had a GPU to give, and pods would be released to it in vain."""
    offered = OfferedKinds(lambda: None)
    assert GPU not in offered.trim(hiding()).native
    offered.set_nodes([node()])
    found = offered.trim(hiding(containers)).native
    assert found[GPU] == containers
    assert len(found) == MOST_KINDS + 2


def test_pods_are_read_anew_once_a_kind_is_offered_that_one_of_them_may_lack() -> None:
    """Not for each node, nor while every pod counts with all that it asks for."""
    asked: list[str] = []
    offered = OfferedKinds(lambda: asked.append("anew"))
    offered.set_nodes([node()])
    assert asked == []
    offered.trim(hiding())
    offered.set_nodes([node(), node()])
    assert asked == []
    offered.set_nodes([node(**{"amd.com/gpu": 1.0})])
    assert asked == ["anew"]


def test_a_kubelet_that_names_kinds_without_end_fills_nothing() -> None:
    """So many are remembered, and no more."""
    offered = OfferedKinds(lambda: None)
    offered.set_nodes([node(**{f"x.io/{number}": 1.0 for number in range(MOST + 100)})])
    assert len(offered._kinds) == MOST


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what a watch tells."""
    while not condition():  # noqa: ASYNC110 - it happens in other tasks
        await asyncio.sleep(0.01)


async def test_the_operator_counts_a_gpu_whose_plugin_starts_after_the_pod_was_read() -> None:
    """By its own watches: the pod is listed first, and the kind comes with a change of the node."""
    server, program = ApiServer(), Program(Settings())
    containers = [{"name": "c", "resources": {"requests": HIDING}}]
    server.put(NODES, objects.node("n0"))
    server.put(PODS, objects.pod("hiding", node="n0", spec={"containers": containers}))
    seats = program.cache.node_requests.seats
    async with server.running() as endpoint, Session(endpoint) as session, asyncio.timeout(10):
        watches = {each.source.path: each for each in program._reflectors(session)}
        watching = [asyncio.create_task(watches[path].run()) for path in (PODS, NODES)]
        await until(lambda: bool(seats) and watches[NODES].health.synced)
        assert GPU not in seats["uid-batch-hiding"].native
        server.put(NODES, objects.node("n0", more={GPU: "4"}))
        await until(lambda: GPU in seats["uid-batch-hiding"].native)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    assert seats["uid-batch-hiding"].native[GPU] == 1
