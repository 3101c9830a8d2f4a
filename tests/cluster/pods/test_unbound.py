"""Pods without a node, read page by page."""

import asyncio
from collections import deque

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.session import Session, TooLarge
from slackwater_cluster.pods.unbound import UnboundPod, unbound
from support.fakes.apiserver import ApiServer
from support.fakes.manypods import ManyPods

PODS = "/api/v1/pods"


def read(server: ManyPods) -> list[UnboundPod]:
    """All pods that it has."""

    async def run() -> list[UnboundPod]:
        async with server.session() as session:
            return [pod async for page in unbound(session) for pod in page]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("count", "size", "limits"),
    [(250, 10, [100, 100, 100]), (10, 3 * 2**20, [100, 25, 6, 6]), (2, 18 * 2**20, [100, 25, 6, 1, 1])],
    ids=["small", "large", "the largest there can be"],
)
def test_a_page_that_is_too_large_is_asked_for_with_fewer_pods(count: int, size: int, limits: list[int]) -> None:
    """Each pod comes once."""
    server = ManyPods(count, size)
    assert [pod.name for pod in read(server)] == [f"p{number:06}" for number in range(count)]
    assert server.limits == limits


def test_one_answer_that_never_ends_is_no_list() -> None:
    """It is given up, in a sentence."""
    with pytest.raises(TooLarge, match="was not read"):
        read(ManyPods(1, 40 * 2**20))


def test_a_list_that_got_too_old_goes_on_with_a_newer_one() -> None:
    """As the API server offers, so that no look fails because lifting gates took minutes."""
    assert len(read(ManyPods(250, 10, expires=100))) == 250


def test_what_is_kept_says_who_is_held_and_leaves_out_who_goes() -> None:
    """Our gate and our marks, nothing of others."""
    server = ApiServer()
    meta = {"namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"}
    gate = {"name": "slackwater.io/admission"}
    for name, extra, spec in (
        ("gated", {}, {"schedulerName": "slackwater", "schedulingGates": [{"name": "x/y"}, gate]}),
        ("parked", {"annotations": {"slackwater.io/parked": "now", "mine": "1"}}, {"schedulerName": "slackwater"}),
        ("foreign", {"annotations": None}, {"schedulerName": "s", "schedulingGates": [{"name": "x/y"}]}),
        ("gone", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"schedulingGates": [gate]}),
    ):
        server.put(PODS, {"metadata": {**meta, "name": name, "uid": name, **extra}, "spec": spec})

    async def run() -> dict[str, UnboundPod]:
        async with server.running() as where, Session(where) as session:
            return {pod.name: pod async for page in unbound(session) for pod in page}

    found = asyncio.run(run())
    assert {name: (pod.held, pod.gates, pod.marks) for name, pod in found.items()} == {
        "gated": (True, ("slackwater.io/admission",), ()),
        "parked": (True, (), ("slackwater.io/parked",)),
        "foreign": (False, (), ()),
    }


@pytest.mark.parametrize("status", [403, 410, 500])
def test_a_refusal_is_no_empty_list(status: int) -> None:
    """Nobody takes it for a cluster where no pod waits."""
    server = ApiServer()
    server.troubles[PODS] = deque([status])

    async def run() -> None:
        async with server.running() as where, Session(where) as session:
            async for _ in unbound(session):
                pass

    with pytest.raises(Unavailable, match="cannot list pods"):
        asyncio.run(run())
