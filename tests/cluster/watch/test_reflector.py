"""The mirror of a collection stays true through every trouble a server makes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random

import pytest

from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord, Record
from slackwater_cluster.watch import reflector as module
from slackwater_cluster.watch.reflector import Reflector, Source
from slackwater_cluster.watch.sources import NODES, PODS, customs, reflect
from support.builders import objects
from support.fakes.apiserver import ApiServer

PATH = "/api/v1/pods"


class Told:
    """A sink that keeps its own mirror from what it is told."""

    def __init__(self) -> None:
        self.now: dict[str, Record] = {}
        self.gone: list[str] = []
        self.syncs = 0
        self.order: list[str] = []

    def changed(self, records: Sequence[Record]) -> None:
        """Take over."""
        self.now.update({record.uid: record for record in records})
        self.order.extend(f"+{record.name}" for record in records)

    def vanished(self, records: Sequence[Record]) -> None:
        """Forget."""
        for record in records:
            self.now.pop(record.uid)
            self.gone.append(record.name)
            self.order.append(f"-{record.name}")

    def synced(self) -> None:
        """Count."""
        self.syncs += 1

    def names(self) -> set[str]:
        """What exists."""
        return {record.name for record in self.now.values()}


@asynccontextmanager
async def reflecting(
    server: ApiServer, source: Source[PodRecord] = PODS
) -> AsyncIterator[tuple[Told, Reflector[PodRecord]]]:
    told = Told()
    async with server.running() as endpoint, Session(endpoint) as session:
        made = Reflector(session, source, told, rng=Random(1), sleep=lambda _: asyncio.sleep(0.005))
        task = asyncio.create_task(reflect([made]))
        try:
            yield told, made
            assert not task.done(), "the reflector died"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a server of its own
            await asyncio.sleep(0.005)


def filled(count: int = 3) -> ApiServer:
    server = ApiServer()
    for index in range(count):
        server.put(PATH, objects.pod(f"p{index}"))
    return server


async def test_lists_then_follows() -> None:
    """Added, changed and deleted objects arrive, in order."""
    server = filled()
    async with reflecting(server) as (told, made):
        await until(lambda: told.syncs == 1 and server.watchers(PATH) == 1)
        server.put(PATH, objects.pod("new"))
        server.put(PATH, objects.pod("p1", node="n1"))
        server.remove(PATH, objects.pod("p0"))
        await until(lambda: told.gone == ["p0"])
        assert told.names() == {"p1", "p2", "new"}
        assert told.now["uid-batch-p1"] == made.held["uid-batch-p1"]
        assert told.order[-3:] == ["+new", "+p1", "-p0"]
        assert made.health.synced
        assert made.health.trouble == ""


async def test_long_lists_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's limit and continue are used, and the parts add up."""
    server = filled(7)
    monkeypatch.setattr(module, "FIRST_CHUNK", 3)  # a constant of the module, not its behaviour
    async with reflecting(server) as (told, _):
        await until(lambda: told.syncs == 1)
        assert len(told.now) == 7
        assert server.asked[PATH] >= 3


async def test_vanished_while_away_are_reported() -> None:
    """After 410 a new list is compared with what is held: no ghosts."""
    server = filled(4)
    async with reflecting(server) as (told, made):
        await until(lambda: server.watchers(PATH) == 1)
        server.remove(PATH, objects.pod("p2"), silently=True)
        server.compact()
        server.hang_up(PATH)
        await until(lambda: told.syncs == 2)
        assert told.gone == ["p2"]
        assert set(made.held) == set(told.now)


async def test_a_list_that_is_cancelled_loses_nobody_that_vanished(monkeypatch: pytest.MonkeyPatch) -> None:
    """When recognition reads other labels, pods are listed anew, perhaps in the middle of a list."""
    monkeypatch.setattr(module, "SLICE", 1)  # a constant of the module, not its behaviour

    class Leaving(Told):
        """Whoever lists is told to stop with the first that vanished."""

        def vanished(self, records: Sequence[Record]) -> None:
            super().vanished(records)
            task = asyncio.current_task()
            if len(self.gone) == 1 and task is not None:
                task.cancel()

    server, told = filled(4), Leaving()
    async with server.running() as endpoint, Session(endpoint) as session:
        made = Reflector(session, PODS, told)
        await made._list()
        for name in ("p0", "p1", "p2"):
            server.remove(PATH, objects.pod(name), silently=True)
        await asyncio.gather(asyncio.create_task(made._list()), return_exceptions=True)
        assert told.gone == ["p0"]
        made.trim_anew()
        await made._list()
        assert sorted(told.gone) == ["p0", "p1", "p2"]
        assert set(made.held) == set(told.now)


async def test_error_event_is_not_decoded_as_a_pod() -> None:
    """An ERROR event's object is a Status: list again instead of dying."""
    server = filled()
    async with reflecting(server) as (told, _):
        await until(lambda: server.watchers(PATH) == 1)
        server.send(PATH, b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"message":"old"}}')
        await until(lambda: told.syncs == 2)


async def test_bookmarks_with_nulls_move_the_version() -> None:
    """The next watch starts from the bookmark, so no history is asked for twice."""
    server = filled()
    async with reflecting(server) as (told, _):
        await until(lambda: server.watchers(PATH) == 1)
        server.bookmark(PATH)
        marked = str(server.version)
        await asyncio.sleep(0.05)
        server.hang_up(PATH)
        await until(lambda: server.seen[-1].get("resourceVersion") == marked)
        assert told.syncs == 1


@pytest.mark.parametrize("status", [429, 500, 503, 403, 401, 404])
async def test_refusals_are_waited_out(status: int) -> None:
    """Neither a busy server nor missing rights end the process; the trouble can be read meanwhile."""
    server = filled()
    server.troubles[PATH] = deque([status] * 3)
    async with reflecting(server) as (told, made):
        await until(lambda: made.health.failures > 0 or told.syncs == 1)
        assert str(status) in made.health.trouble or told.syncs == 1
        await until(lambda: told.syncs == 1)
        assert made.health.failures == 3


async def test_unreachable_server_is_waited_out() -> None:
    """A refused connection is tried again."""
    told = Told()
    server = filled()
    async with server.running() as endpoint:
        pass
    async with Session(endpoint) as session:
        made = Reflector(session, PODS, told, rng=Random(1), sleep=lambda _: asyncio.sleep(0.001))
        task = asyncio.create_task(made.run())
        await until(lambda: made.health.failures > 2)
        task.cancel()
        assert "ClientConnector" in made.health.trouble


SPOILT: list[dict[str, object]] = [
    {"spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}},
    {"spec": 7},
]


@pytest.mark.parametrize("spoilt", SPOILT, ids=["not trimmed", "not decoded"])
async def test_an_object_that_became_unreadable_goes_when_it_is_deleted(spoilt: dict[str, object]) -> None:
    """To let go of it its metadata is enough."""
    server = filled(2)
    async with reflecting(server) as (told, made):
        await until(lambda: told.syncs == 1 and server.watchers(PATH) == 1)
        bad = {**objects.pod("p0"), **spoilt}
        server.put(PATH, bad)
        server.remove(PATH, bad)
        server.put(PATH, objects.pod("last"))
        await until(lambda: "last" in told.names())
        assert told.gone == ["p0"]
        assert set(told.names()) == {"p1", "last"}
        assert len(made.held) == 2


@pytest.mark.parametrize("spoilt", SPOILT, ids=["not trimmed", "not decoded"])
async def test_an_object_that_became_unreadable_stays_as_it_was_at_a_new_list(spoilt: dict[str, object]) -> None:
    """It is there: what is known of it holds until somebody can read it, or it is deleted."""
    server = filled(2)
    async with reflecting(server) as (told, made):
        await until(lambda: told.syncs == 1 and server.watchers(PATH) == 1)
        server.put(PATH, {**objects.pod("p0"), **spoilt})
        server.send(PATH, b'{"type":"MODIF')
        await until(lambda: told.syncs == 2)
        assert told.gone == []
        assert len(made.held) == 2


async def test_one_unreadable_object_hides_no_other() -> None:
    """A quantity or type from a broken webhook costs that object only."""
    server = filled()
    server.put(PATH, objects.pod("bad-type", spec={"containers": "none"}))
    server.put(PATH, objects.pod("bad-quantity", cpu="much"))
    async with reflecting(server) as (told, made):
        await until(lambda: told.syncs == 1 and server.watchers(PATH) == 1)
        assert told.names() == {"p0", "p1", "p2"}
        server.put(PATH, objects.pod("worse", spec={"containers": 7}))
        server.put(PATH, objects.pod("fine"))
        await until(lambda: "fine" in told.names())
        assert made.health.skipped == 3


@pytest.mark.parametrize(
    "line",
    [b'{"type":"MODIF', b'{"type":"\xff","object":{}}', b'{"type":"ERROR","object":{"message":"\xff"}}'],
    ids=["half", "no UTF-8", "a failure that is none"],
)
async def test_events_that_cannot_be_read_cause_a_new_list(line: bytes) -> None:
    """What was lost, only a list can tell."""
    server = filled()
    async with reflecting(server) as (told, _):
        await until(lambda: server.watchers(PATH) == 1)
        server.send(PATH, line)
        await until(lambda: told.syncs == 2)


async def test_recreated_under_the_same_name_is_a_new_object() -> None:
    """Nodes are held by name; the old one is reported gone before the new one comes."""
    server, path = ApiServer(), "/api/v1/nodes"
    server.put(path, objects.node("n1"))
    told = Told()
    async with server.running() as endpoint, Session(endpoint) as session:
        made = Reflector(session, NODES, told, sleep=lambda _: asyncio.sleep(0.005))
        task = asyncio.create_task(made.run())
        await until(lambda: server.watchers(path) == 1)
        again = objects.node("n1")
        again["metadata"]["uid"] = "another"
        server.put(path, again)
        await until(lambda: "another" in told.now)
        task.cancel()
        assert told.order == ["+n1", "-n1", "+n1"]


async def test_a_dead_reflector_takes_the_others_down() -> None:
    """Half a view is a wrong view: an unexpected error is raised, not swallowed."""
    server = filled()

    class Broken(Told):
        def synced(self) -> None:
            """Fail."""
            raise RuntimeError("broken sink")

    async with server.running() as endpoint, Session(endpoint) as session:
        with pytest.raises(ExceptionGroup):
            await reflect([Reflector(session, PODS, Broken()), Reflector(session, customs("SlackPolicy"), Told())])
