"""The extender's HTTP API as the operator calls it, against a server that answers like it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import numpy as np
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from slackwater.errors import Unavailable
from slackwater.resources import Resources
from slackwater_operator.clients.extenderclient import (
    DegradedMode,
    Extender,
    NodeUse,
    PlacementWish,
    Reservation,
    Usage,
)


@pytest.fixture
async def server() -> AsyncIterator[Any]:
    """An extender that places every pod on node a, but for one."""
    app = web.Application()
    asked: list[Any] = []

    async def place(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body)
        placed = [{"uid": pod["uid"], "node": "a"} for pod in body["pods"] if pod["uid"] != "bad"]
        return web.json_response({"placed": placed, "refused": [{"uid": "bad", "reason": "no room", "counts": {}}]})

    async def reserve(request: web.Request) -> web.Response:
        asked.append(await request.json())
        return web.json_response({"reserved": []})

    async def rooms(_: web.Request) -> web.Response:
        return web.json_response(
            {
                "kinds": ["cpu", "memory"],
                "ceiling": [2.0, 1.5],
                "names": ["a", "b", "closed"],
                "open": [True, True, False],
                "stale": [False, True, True],
                "total": [[8, 32], [8, 32], [8, 32]],
                "room": [[3.5, -1], [6, 20], [8, 32]],
                "native": [[4, 16], [2, 16], [8, 32]],
                "requested": [[1, 2], [2, 16], [8, 32]],
                "reserved": [
                    {"uid": "p", "namespace": "team", "declared": {"cpu": 1.0, "memory": 2.0}},
                    {"uid": "q", "namespace": "team", "declared": {"cpu": 0.5, "memory": 1.0}},
                ],
            }
        )

    async def other(_: web.Request) -> web.Response:
        return web.json_response({"kinds": ["cpu"]})

    async def broken(_: web.Request) -> web.Response:
        return web.Response(status=500, text="oh")

    async def usage(request: web.Request) -> web.Response:
        charged = {"charged": {"cpu": 3.0, "memory": 32.0}, "drivers": {"cpu": 1.0, "memory": 2.0}}
        nodes = {"n": {"used": {"memory": 31.0}, "measured": 1700.5, "stale": False, **charged}}
        more = {"nodes": nodes} if request.query.get("nodes") == "true" else {}
        return web.json_response({"pods": {"p": {"cpu": 0.5, "memory": 3.0}}, **more})

    app.router.add_post("/v1/place", place)
    app.router.add_get("/measured/v1/usage", usage)
    app.router.add_get("/v1/rooms", rooms)
    app.router.add_get("/odd/v1/rooms", other)
    app.router.add_post("/v1/reserve", reserve)
    app.router.add_post("/v1/unreserve", broken)
    async with TestServer(app) as running:
        running.asked = asked  # type: ignore[attr-defined]  # for the tests
        yield running


async def test_place_returns_nodes_and_reasons(server: Any) -> None:
    """Both come back by uid; what orders the batch goes along."""
    async with Extender(str(server.make_url(""))) as extender:
        found = await extender.place([PlacementWish("p", urgency=2.0, avoid=("b",)), PlacementWish("bad")])
    assert found.placed == {"p": "a"}
    assert found.refused == {"bad": "no room"}
    assert server.asked[0]["pods"][0]["avoid"] == ["b"]
    assert "selection" not in server.asked[0]["pods"][0]
    assert "selections" not in server.asked[0]


async def test_the_nodes_of_a_queue_are_sent_once(server: Any) -> None:
    """Thousands of names for each of hundreds of pods would be a body of many megabytes."""
    own = tuple(f"n{number}" for number in range(1000))
    wishes = [PlacementWish(f"p{number}", nodes=own) for number in range(50)]
    async with Extender(str(server.make_url(""))) as extender:
        await extender.place([*wishes, PlacementWish("free"), PlacementWish("home", nodes=("n7",))])
    (body,) = server.asked
    assert list(body["selections"].values()) == [list(own), ["n7"]]
    told = {pod["uid"]: body["selections"].get(pod.get("selection")) for pod in body["pods"]}
    assert (told["p0"], told["p49"], told["free"], told["home"]) == (list(own), list(own), None, ["n7"])
    assert "nodes" not in body["pods"][0]


async def test_room_is_asked_for_node_by_node(server: Any) -> None:
    """The table comes whole; a sum counts open nodes, room below zero as none, and no more than ceilings let reach."""
    async with Extender(str(server.make_url(""))) as extender:
        rooms = await extender.rooms()
    assert rooms.table.names == ("a", "b", "closed")
    assert rooms.table.room[0].tolist() == [3.5, -1]
    assert rooms.free(None) == Resources(cpu=3.5 + 4.0, memory=20.0)
    assert rooms.free(np.array([True, False, True])) == Resources(cpu=3.5, memory=0.0)
    assert rooms.reserved == {"team": Resources(cpu=1.5, memory=3.0)}


async def test_reservations_carry_their_amounts(server: Any) -> None:
    """The extender may not have seen the pod yet; what is released for an autoscaler says so."""
    async with Extender(str(server.make_url(""))) as extender:
        await extender.reserve(
            [Reservation("p", Resources(cpu=1.0)), Reservation("q", Resources(cpu=2.0), growth=True)]
        )
    assert server.asked == [
        {
            "pods": [
                {"uid": "p", "declared": {"cpu": 1.0}, "growth": False},
                {"uid": "q", "declared": {"cpu": 2.0}, "growth": True},
            ]
        }
    ]


async def test_an_answer_without_rooms_is_unavailable(server: Any) -> None:
    """An extender of another version is away rather than wrong."""
    async with Extender(str(server.make_url("/odd"))) as extender:
        with pytest.raises(Unavailable, match="cannot be read"):
            await extender.rooms()


CALLS: dict[str, Callable[[Extender], Awaitable[object]]] = {
    "place": lambda extender: extender.place([PlacementWish("p")]),
    "reserve": lambda extender: extender.reserve([Reservation("p", Resources(cpu=1))]),
    "unreserve": lambda extender: extender.unreserve(["p"]),
    "rooms": lambda extender: extender.rooms(),
    "wakeups": lambda extender: extender.wakeups(0),
    "freed": lambda extender: extender.freed(0),
    "usage": lambda extender: extender.usage(nodes=True),
}
ROOMS = {
    "kinds": ["cpu", "memory"], "ceiling": [1.0, 1.0], "names": ["a"], "open": [True], "reserved": [],
    "total": [[8, 32]], "room": [[8, 32]], "native": [[8, 32]], "requested": [[8, 32]],
}  # fmt: skip


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.parametrize("answer", [b"{}", b"[]", b"no JSON", b'{"next": "\xff"}', b"[" * 5000])
async def test_an_answer_that_cannot_be_read_is_unavailable(path: str, answer: bytes) -> None:
    """Whatever was asked: an extender of another version, or somebody else in its place, is away rather than wrong."""
    await refuses(path, answer)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param("place", {"placed": [{"uid": "p"}], "refused": []}, id="no node"),
        pytest.param("place", {"placed": [], "refused": [{"uid": "p", "reason": "", "needs": 1}]}, id="no needs"),
        pytest.param("wakeups", {"next": "soon", "pods": []}, id="no number"),
        pytest.param("usage", {"pods": {"p": {"cpu": "much"}}}, id="no amount"),
        pytest.param("usage", {"pods": {}, "nodes": {"n": {"used": {}}}}, id="no time"),
        pytest.param("rooms", {**ROOMS, "room": [[8]]}, id="a kind short"),
        pytest.param("rooms", {**ROOMS, "native": []}, id="a node short"),
        pytest.param("rooms", {**ROOMS, "open": [True, True]}, id="a node too many"),
        pytest.param("rooms", {**ROOMS, "ceiling": [1.0]}, id="a ceiling short"),
        pytest.param("rooms", {**ROOMS, "reserved": [{"namespace": "team"}]}, id="nothing declared"),
    ],
)
async def test_an_answer_in_which_something_is_missing_is_unavailable(path: str, answer: dict[str, Any]) -> None:
    """Half an answer is none."""
    await refuses(path, orjson.dumps(answer))


async def refuses(path: str, answer: bytes) -> None:
    """Ask a server that says this to everything."""

    async def say(_: web.Request) -> web.Response:
        return web.Response(body=answer, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", f"/v1/{path}", say)
    async with TestServer(app) as running, Extender(str(running.make_url(""))) as extender:
        with pytest.raises(Unavailable, match=f"/v1/{path} cannot be read"):
            await CALLS[path](extender)


async def test_every_trouble_is_unavailable(server: Any) -> None:
    """A status that is not 200, and nobody listening."""
    async with Extender(str(server.make_url(""))) as extender:
        with pytest.raises(Unavailable, match="500"):
            await extender.unreserve(["p"])
    async with Extender("http://127.0.0.1:9", timeout=1) as extender:
        with pytest.raises(Unavailable):
            await extender.rooms()


async def test_nothing_to_ask_is_not_asked(server: Any) -> None:
    """Empty lists cost no request."""
    async with Extender(str(server.make_url(""))) as extender:
        await extender.place([])
        await extender.reserve([])
        await extender.unreserve([])
    assert server.asked == []


def test_grace_counts_from_the_first_failure() -> None:
    """Hold for a while, go on afterwards, forget when it is well again."""
    now = [0.0]
    grace = DegradedMode(60, lambda: now[0])
    grace.failed(Unavailable("x"))
    now[0] = 59
    grace.failed(Unavailable("y"))
    assert not grace.over
    now[0] = 60
    assert grace.over
    grace.well()
    assert not grace.over


async def test_use_of_nodes_comes_only_where_it_is_asked_for(server: Any) -> None:
    """With the sample's own time and whether it is too old; the use of pods always comes."""
    async with Extender(str(server.make_url("/measured"))) as extender:
        pods = {"p": Resources(cpu=0.5, memory=3)}
        assert await extender.usage() == Usage(pods)
        charged, drivers = Resources(cpu=3, memory=32), Resources(cpu=1, memory=2)
        node = NodeUse(Resources(memory=31), 1700.5, False, charged, drivers)
        assert await extender.usage(nodes=True) == Usage(pods, {"n": node})


async def test_extender_without_usage_is_unavailable_for_that_alone(server: Any) -> None:
    """An extender that does not serve /v1/usage still names nodes."""
    async with Extender(str(server.make_url(""))) as extender:
        with pytest.raises(Unavailable, match="404"):
            await extender.usage()
        assert (await extender.place([PlacementWish("p")])).placed == {"p": "a"}
