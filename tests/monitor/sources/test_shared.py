"""A slow API server costs one thread of the monitor; the others show what was read before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import NAMESPACES, Live
from slackwater_monitor.sources.shared import SharedReading
from slackwater_monitor.web.app import dashboard
from support.fakes.httpcluster import usual

SOON = 10.0  # seconds that no test needs


class Slow:
    """The usual cluster; inside `held` whoever asks waits."""

    def __init__(self) -> None:
        self.answers = usual().answers
        self.free = threading.Event()
        self.free.set()
        self.waiting = threading.Event()  # somebody waits for an answer
        self.asked: list[str] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """What the API server says."""
        self.asked.append(request.url.path)
        if not self.free.is_set():
            self.waiting.set()
            assert self.free.wait(SOON)
        found = self.answers.get(request.url.path)
        status, body = found if isinstance(found, tuple) else (200 if found else 404, found or {})
        return httpx2.Response(status, json=body)

    @contextmanager
    def held(self) -> Iterator[None]:
        """No answers inside."""
        self.free.clear()
        self.waiting.clear()
        try:
            yield
        finally:
            self.free.set()

    def source(self, fresh: float) -> Live:
        """A monitor's source."""
        api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(self))
        return Live(api, ExtenderClient(api), fresh=fresh)


def test_others_get_the_last_snapshot_while_one_reads() -> None:
    """And all get the new one afterwards."""
    cluster = Slow()
    source = cluster.source(fresh=0.0)
    first = source.snapshot()
    with ThreadPoolExecutor() as pool:
        with cluster.held():
            reading = pool.submit(source.snapshot)
            assert cluster.waiting.wait(SOON)
            assert source.snapshot() is first
            assert not reading.done()
        assert reading.result(SOON).at > first.at
    assert len(source.memory.history().time) == 2


def test_pages_and_probes_answer_before_the_cluster_did_for_the_first_time() -> None:
    """With a sentence that says why they are empty."""
    cluster = Slow()
    source = cluster.source(fresh=60.0)
    pages = dashboard(source, Settings()).test_client()
    with ThreadPoolExecutor() as pool:
        with cluster.held():
            reading = pool.submit(source.snapshot)
            assert cluster.waiting.wait(SOON)
            assert pages.get("/healthz").status_code == 200
            assert "is being read for the first time" in pages.get("/").text
        assert reading.result(SOON).apps
    assert "is being read for the first time" not in pages.get("/").text


def test_viewers_of_one_namespace_share_a_list_of_its_pods() -> None:
    """Whichever of its apps they look at; one who comes while it is read for the first time is told so."""
    cluster = Slow()
    source = cluster.source(fresh=60.0)
    with ThreadPoolExecutor() as pool, cluster.held():
        reading = pool.submit(source.gantt, "team-a", "etl")
        assert cluster.waiting.wait(SOON)
        with pytest.raises(Unavailable, match="team-a is being read for the first time"):
            source.gantt("team-a", "etl")
        cluster.free.set()
        assert [bar.pod for bar in reading.result(SOON)] == ["etl-0", "etl-1", "ran"]
    for app in ("etl", "other"):
        source.gantt("team-a", app)
    assert cluster.asked.count("/api/v1/namespaces/team-a/pods") == 1


def test_pods_of_a_few_namespaces_are_kept() -> None:
    """Those that were looked at last."""
    cluster = Slow()
    for number in range(2 * NAMESPACES):
        cluster.answers[f"/api/v1/namespaces/n{number}/pods"] = {"items": []}
    source = cluster.source(fresh=60.0)
    for number in (*range(2 * NAMESPACES), 0, 2 * NAMESPACES - 1):
        source.gantt(f"n{number}", "etl")
    assert cluster.asked.count("/api/v1/namespaces/n0/pods") == 2
    assert cluster.asked.count(f"/api/v1/namespaces/n{2 * NAMESPACES - 1}/pods") == 1
    assert len(source._lists) == NAMESPACES


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    """What was read in the hour to come is not shown for that hour."""
    cluster, wall = Slow(), [7200.0]
    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(cluster))
    source = Live(api, ExtenderClient(api), fresh=0.0, clock=lambda: wall[0])
    assert source.snapshot().at == 7200.0
    wall[0] = 3600.0
    assert source.snapshot().at == 3600.0


def test_a_reading_that_failed_is_tried_again() -> None:
    """It leaves the lock free and what was read before in place."""
    numbers = count()

    def read() -> int:
        if (number := next(numbers)) == 1:
            raise Unavailable("not now")
        return number

    shared = SharedReading(read, lambda: -1, fresh=0.0, clock=lambda: 0.0)
    assert shared.get() == 0
    with pytest.raises(Unavailable):
        shared.get()
    assert shared.get() == 2
