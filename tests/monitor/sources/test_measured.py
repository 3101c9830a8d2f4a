"""A Prometheus that does not answer is asked once in a while, keeps no page waiting, and is believed again later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.prometheus import PAUSE, Measured
from slackwater_monitor.web.server import measured
from support.fakes.httpcluster import Cluster, served, usual

VECTOR, RANGE = "/api/v1/query", "/api/v1/query_range"
Answer = dict[str, Any] | tuple[int, dict[str, Any]]


def answer(*series: dict[str, Any]) -> Answer:
    """What Prometheus says."""
    return {"status": "success", "data": {"result": list(series)}}


GOOD = {
    VECTOR: answer({"metric": {"reason": "held", "pod": "a"}, "value": [0, "2.5"]}),
    RANGE: answer({"metric": {}, "values": [[60, "1"], [120, "2"]]}),
}
BAD: dict[str, Answer] = {
    "busy": (503, {"error": "busy"}),
    "broken": (500, {}),
    "not allowed": (403, {"error": "no"}),
    "wrong type": {"status": "success", "data": {"result": "nothing"}},
    "no number": answer({"metric": {}, "value": [0, "much"], "values": [[0, "much"]]}),
}


@pytest.fixture
def server() -> Iterator[Cluster]:
    """A Prometheus whose answers the test chooses."""
    with served(Cluster()) as made:
        yield made


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    ("question", "empty"),
    [(lambda m: m.history(120.0), None), (lambda m: m.idle(0.0), {}), (lambda m: m.pods("team", 0.0), {})],
    ids=["history", "idle", "pods"],
)
def test_without_an_answer_it_is_asked_once_and_later_again(
    server: Cluster, bad: Answer, question: Callable[[Any], Any], empty: Any
) -> None:
    """A busy one was asked six times for each of six questions of a page, with pauses of up to 16 s."""
    clock = [0.0]
    asked = measured(Settings(prometheus_url=server.url), lambda: clock[0])
    assert asked is not None
    server.answers |= dict.fromkeys(GOOD, bad)
    began = time.monotonic()
    assert [question(asked) for _ in range(5)] == [empty] * 5
    assert asked.server.asked == 1
    assert time.monotonic() - began < PAUSE
    server.answers |= GOOD
    assert question(asked) == empty, "not yet: pages do not wait"
    clock[0] = PAUSE
    assert question(asked) not in (None, {})


def test_a_gap_in_scraping_is_left_out_of_the_hours_before() -> None:
    """A rate is unknown for longer than a gauge: what is left are the times at which all is known."""

    def say(request: httpx2.Request) -> httpx2.Response:
        moments = (60, 300, 360) if b"rate" in request.url.query + request.content else (60, 120, 300, 360)
        return httpx2.Response(200, json=answer({"metric": {}, "values": [[at, "1"] for at in moments]}))

    server = Prometheus(QueryConnection("http://prometheus:9090"), transport=httpx2.MockTransport(say))
    found = Measured(server).history(360.0)
    assert found is not None
    assert list(found.time) == [60, 300, 360]
    assert {len(values) for each in found.lines.values() for values in each.values()} == {3}


def test_hours_before_are_shown_once_prometheus_is_back(tmp_path: Path) -> None:
    """The first page after a start may meet a Prometheus that starts, too."""
    clock = [0.0]
    with served(usual()) as cluster:
        api = ApiClient(endpoint(cluster.kubeconfig(tmp_path)))
        asked = measured(Settings(prometheus_url=cluster.url), lambda: clock[0])
        source = Live(api, ExtenderClient(api), measured=asked, fresh=60.0)
        cluster.answers[RANGE] = (503, {"error": "starting"})
        source.snapshot()
        assert len(source.history().time) == 1
        cluster.answers |= GOOD
        clock[0] = PAUSE
        assert source.history().time[:2] == [60.0, 120.0]
