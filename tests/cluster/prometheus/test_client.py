"""The client of Prometheus: paced, patient, and clear about what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import httpx2
import numpy as np
import pytest

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection, QuerySession, TooHeavy
from slackwater_monitor.history.cache import Cache
from slackwater_monitor.history.fetch import cluster, collect
from slackwater_monitor.history.grid import grid
from slackwater_monitor.history.labels import METRICS
from slackwater_monitor.sources.prometheus import Measured
from support.builders.promql import selectors

EMPTY = {"status": "success", "data": {"resultType": "matrix", "result": []}}


def client(answers: Callable[[httpx2.Request], httpx2.Response], **more: object) -> tuple[Prometheus, list[float]]:
    """A client of a server that answers so, and the pauses it makes."""
    slept: list[float] = []
    moment = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        moment[0] += seconds

    connection = QueryConnection("http://prometheus:9090", **more)  # type: ignore[arg-type]  # any field of a Connection
    return (
        Prometheus(connection, transport=httpx2.MockTransport(answers), sleep=sleep, clock=lambda: moment[0]),
        slept,
    )


def in_turn(replies: Iterable[httpx2.Response]) -> Callable[[httpx2.Request], httpx2.Response]:
    """A server that gives these answers one after the other."""
    queue = list(replies)
    return lambda _: queue.pop(0)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_the_time_it_names(status: int) -> None:
    """429 and 503 are waited out, as long as Retry-After says."""
    busy = httpx2.Response(status, headers={"Retry-After": "7"}, text="slow down")
    server, slept = client(in_turn([busy, busy, httpx2.Response(200, json=EMPTY)]), rate=1e6)
    assert server.range("up", 0, 60, 60) == []
    assert [pause for pause in slept if pause > 1] == [7, 7]


def test_a_server_that_stays_busy_is_given_up_with_its_own_words() -> None:
    """The last answer is quoted, with the address."""
    server, _ = client(lambda _: httpx2.Response(503, text="starting up"))
    with pytest.raises(Unavailable, match=r"Prometheus at http://prometheus:9090: 503 starting up"):
        server.range("up", 0, 60, 60)


def test_an_unreachable_server_is_told_at_once() -> None:
    """A wrong address is not tried six times."""

    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("Connection refused", request=request)

    server, slept = client(refuse)
    with pytest.raises(Unavailable, match=r"9090: it cannot be reached \(Connection refused\); check host and port"):
        server.names(0, 60, "up")
    assert slept == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (httpx2.Response(200, text="<html>Grafana</html>"), "is the URL right"),
        (httpx2.Response(200, text="hello"), "not an answer of Prometheus: 'hello'"),
        (httpx2.Response(200, content=b'{"status": "\xff"}'), "not an answer of Prometheus"),
        (httpx2.Response(502, text="<html><body>Bad gateway</body></html>"), "502 Bad Gateway with a web page$"),
        (httpx2.Response(302, headers={"Location": "/login"}), "login pages"),
        (httpx2.Response(401, text="no"), "--token-file"),
        (httpx2.Response(404, text="404 page not found"), "base URL"),
        (httpx2.Response(400, json={"status": "error", "error": "parse error"}), "parse error"),
    ],
    ids=["web page", "other text", "no UTF-8", "gateway's page", "redirect", "not allowed", "wrong path", "bad query"],
)
def test_every_refusal_says_what_to_do(reply: httpx2.Response, words: str) -> None:
    """The sentence names the remedy, or quotes the server."""
    server, _ = client(lambda _: reply)
    with pytest.raises(Unavailable, match=words) as said:
        server.range("up", 0, 60, 60)
    assert "<" not in str(said.value)


def test_too_many_samples_is_told_apart() -> None:
    """So that less can be asked for."""
    said = {"status": "error", "error": "query processing would load too many samples into memory"}
    server, _ = client(lambda _: httpx2.Response(422, json=said))
    with pytest.raises(TooHeavy):
        server.range("up", 0, 60, 60)


def test_questions_are_paced() -> None:
    """Ten questions at five per second take at least 1.8 seconds."""
    server, slept = client(lambda _: httpx2.Response(200, json=EMPTY), rate=5.0)
    for _ in range(10):
        server.range("up", 0, 60, 60)
    assert sum(slept) == pytest.approx(1.8)


def test_a_password_in_the_address_is_not_told() -> None:
    """Errors go to logs: neither the address nor what others say of it tells a password."""
    session = QuerySession(QueryConnection("https://me:hush@prometheus:9090/base"))
    trouble = "not https://me:hu/sh@prometheus:9090/base/api"
    expected = "Prometheus at https://…@prometheus:9090/base: not https://…@prometheus:9090/base/api"
    assert session.sentence(trouble) == expected
    with pytest.raises(InvalidInput, match="'ftp://…@prometheus' is not an address"):
        QueryConnection("ftp://me:hush@prometheus")


@pytest.mark.parametrize(
    ("option", "url", "rate", "timeout"),
    [
        *(("--prometheus", url, 5.0, 60.0) for url in ("prometheus:9090", "http://", "http://[::1", "http://p:port")),
        *(("--rate", "http://prometheus", rate, 60.0) for rate in (0.0, -1.0, math.nan, 5e-324)),
        *(("--timeout", "http://prometheus", 5.0, timeout) for timeout in (0.0, -1.0, math.nan, math.inf, 1e300)),
    ],
)
def test_a_bad_connection_is_refused(option: str, url: str, rate: float, timeout: float) -> None:
    """Before anything is asked, with the name of the option."""
    with pytest.raises(InvalidInput, match=option):
        QueryConnection(url, rate, timeout)


def test_what_cannot_be_sent_is_not_tried_again() -> None:
    """It does not get better by waiting."""

    def broken(_: httpx2.Request) -> httpx2.Response:
        raise ValueError("no such header")

    server, slept = client(broken)
    with pytest.raises(Unavailable, match="no such header"):
        server.range("up", 0, 60, 60)
    assert slept == []


class Fussy:
    """A server with one series that refuses ranges of more than three points."""

    def __init__(self) -> None:
        self.heavy = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one question."""
        asked = request.url.params
        if request.url.path.endswith("/values"):
            return httpx2.Response(200, json={"status": "success", "data": ["container_memory_working_set_bytes"]})
        metric = {"namespace": "a", "pod": "p", "container": "c"}
        if request.url.path.endswith("/query"):
            result = [{"metric": metric, "value": [0, "1"]}]
            return httpx2.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": result}})
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        moments = np.arange(start, end + 1, step).tolist()
        if len(moments) > 3:
            self.heavy += 1
            return httpx2.Response(422, json={"status": "error", "error": "too many samples"})
        result = [{"metric": metric, "values": [[at, "4"] for at in moments]}]
        return httpx2.Response(200, json={"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_a_heavy_question_is_asked_in_halves(tmp_path: Path) -> None:
    """Until the server accepts them; nothing is lost."""
    fussy = Fussy()
    server, _ = client(fussy, rate=1e6)
    windows = grid(86400, 3600, 300)
    history = collect(server, Cache(tmp_path), windows, builtin())
    times = np.concatenate([answer.at for answer in history.answers("memory-sum")])
    assert sorted(times.tolist()) == list(range(windows.start + 300, windows.end + 1, 300))
    assert fussy.heavy > 0
    assert any("container_cpu_usage_seconds_total is absent" in note for note in history.notes)


def test_every_question_is_about_our_cluster(tmp_path: Path) -> None:
    """All that assess, export and the dashboard ask for, in each of its selectors."""
    asked: list[str] = []
    names = [name for names in METRICS.values() for name in names]

    def answer(request: httpx2.Request) -> httpx2.Response:
        given = request.url.params
        asked.append(given.get("query") or given["match[]"])
        if request.url.path.endswith("/values"):
            return httpx2.Response(200, json={"status": "success", "data": names})
        return Fussy()(request)

    server, _ = client(answer, rate=1e6, matchers={"cluster": "prod"})
    windows = grid(86400, 600, 300)
    collect(server, Cache.of(server.connection, tmp_path, cluster(server, windows.end)), windows, builtin())
    measured = Measured(server)
    measured.history(0.0)
    measured.idle(0.0)
    measured.pods("team", 0.0)
    assert len(asked) > 50
    assert all("cluster" in labels for query in asked for _, labels in selectors(query))


def test_without_any_use_there_is_nothing_to_assess(tmp_path: Path) -> None:
    """Both metrics absent: a sentence with what to scrape."""
    server, _ = client(lambda _: httpx2.Response(200, json={"status": "success", "data": ["kube_pod_info"]}))
    with pytest.raises(Unavailable, match="scrape the kubelets"):
        collect(server, Cache(tmp_path), grid(86400, 3600, 300), builtin())
