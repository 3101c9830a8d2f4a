"""The dashboard without a browser: every page of both sources, its security policy, and what it must not do."""

from __future__ import annotations

import io
import math
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from rich.console import Console

from slackwater.errors import InvalidInput
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_monitor.screen import render
from slackwater_monitor.settings import Settings, load
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import QUIET, Node, Snapshot, Start
from slackwater_monitor.web.app import dashboard
from slackwater_monitor.web.pages.overview import change, headline
from slackwater_monitor.web.server import check_address, serve_cluster
from support.builders.outcomes import outcome
from support.fakes.httpcluster import GROUP, PROXY, Cluster, served, usual

PAGES = ("/", "/nodes", "/queue", "/pools", "/apps", "/what-if")
ROWS = [(job, job % 2, float(job), float(job) + 10) for job in range(12)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster that serves."""
    with served(usual()) as made:
        yield made


def live(cluster: Cluster, folder: Path) -> Live:
    """The cluster as a source, with the extender behind the service proxy."""
    api = ApiClient(endpoint(cluster.kubeconfig(folder)))
    return Live(api, ExtenderClient(api), fresh=0.0)


def node(*, declared: float = 10.0, used: float = 2.0, room: float = 12.0, stale: bool = False) -> Node:
    """A node of 16 cores."""
    size, allowed, asked, spent, left = ({"cpu": value} for value in (16.0, 14.0, declared, used, room))
    return Node("n", size, allowed, asked, spent, spent, left, stale=stale)


def played(seconds: float = 6.0) -> Replay:
    """A simulation at one moment."""
    moments = iter([0.0])
    return Replay(outcome(ROWS, usage=True), speed=1.0, clock=lambda: next(moments, seconds))


def client(source: Source, **settings: object) -> FlaskClient:
    """The dashboard over a source."""
    app: Flask = dashboard(source, Settings(**settings))  # type: ignore[arg-type]  # any field of the settings
    return app.test_client()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_of_a_cluster_is_whole_without_scripts(cluster: Cluster, tmp_path: Path, path: str) -> None:
    """One heading, no inline script or style, nothing from elsewhere."""
    reply = client(live(cluster, tmp_path)).get(path)
    assert reply.status_code == 200
    assert reply.text.count("<h1>") == 1
    assert 'style="' not in reply.text
    assert "<style" not in reply.text
    assert "<script>" not in reply.text
    assert 'src="http' not in reply.text
    assert 'href="http' not in reply.text


WRONG: list[object] = [
    7,
    {},
    {"metadata": 7},
    {"metadata": {"name": ["x"], "namespace": "team-a"}, "spec": {}},
    {"metadata": {"name": "x", "namespace": "team-a"}, "spec": "text", "status": []},
    {"metadata": {"name": "x", "namespace": "team-a"}, "spec": {"state": {}, "queue": 7, "app": 7}},
    {"metadata": {"name": "x", "namespace": "team-a"}, "status": {"pods": {"held": "many"}, "delta": "wide"}},
    {"metadata": {"name": "x", "namespace": "team-a"}, "status": {"declared": {"cpu": "lots"}, "small": 3}},
    {"metadata": {"name": "x", "namespace": "team-a", "creationTimestamp": "yesterday"}},
    {"name": "x", "room": {"cpu": "some"}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_an_object_of_a_wrong_shape_costs_itself_only(tmp_path: Path, wrong: object) -> None:
    """In every list: all pages are served with the others, and say what was left out."""
    made = usual()
    for path, answer in made.answers.items():
        for key in ("items", "nodes"):
            if isinstance(answer, dict) and isinstance(answer.get(key), list) and "/pods" not in path:
                answer[key].append(wrong)
    with served(made) as cluster:
        source = live(cluster, tmp_path)
        seen = source.snapshot()
        assert any("cannot be read and is left out" in problem for problem in seen.problems)
        assert len(seen.nodes) == 2
        pages = client(source)
        assert {path: pages.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, 200)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_of_a_simulation_is_served(path: str) -> None:
    """The same pages from another source."""
    assert client(played()).get(path).status_code == 200


def test_nothing_may_be_loaded_from_elsewhere() -> None:
    """Every answer carries the policy, errors too."""
    for path in ("/", "/nonesuch", "/style.css"):
        policy = client(played()).get(path).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_the_dashboard_only_reads(cluster: Cluster, tmp_path: Path, method: str) -> None:
    """No page accepts anything but GET, and looking changes nothing in the cluster."""
    made = client(live(cluster, tmp_path))
    for path in (*PAGES, "/apps/team-a/etl"):
        made.get(path)
        assert getattr(made, method)(path).status_code == 405
    assert cluster.patched == []


def test_the_overview_says_at_once_what_is_idle_and_what_is_made_of_it(cluster: Cluster, tmp_path: Path) -> None:
    """Two nodes of 16 cores, on which pods asked for 20 and use 6: the heading and the sentence below it."""
    source = live(cluster, tmp_path)
    seen = source.snapshot()
    asked, used = seen.total("declared", "cpu"), seen.total("used", "cpu")
    text = client(source).get("/").text
    assert f"<h1>{asked - used:g} of {asked:g} requested cores are idle</h1>" in text
    assert "there is room for tasks that ask for" in text


@pytest.mark.parametrize(
    ("nodes", "heading", "words"),
    [
        ([], "No node can be seen", "nothing is overcommitted"),
        ([Node("n", {"cpu": 16.0}, stale=True)], "What is requested and used is not known", "gives no answer"),
        ([node(declared=0.0)], "Nothing is requested now", "room enough"),
        ([node(stale=True)], "10 cores are requested; what is used is not measured", "nothing is overcommitted"),
        ([node()], "8 of 10 requested cores are idle", "By requests 6 cores are free"),
        ([node(declared=20.0)], "18 of 20 requested cores are idle", "would have stopped at 16"),
        ([node(used=10.0, room=4.0)], "0 of 10 requested cores are idle", "room enough by requests"),
    ],
    ids=["no nodes", "no extender", "nothing requested", "no samples", "slack", "overcommitted", "no slack"],
)
def test_heading_and_sentence_follow_from_the_sums(nodes: list[Node], heading: str, words: str) -> None:
    """Whatever the state, the page begins with what is so."""
    seen = Snapshot(0.0, nodes)
    assert headline(seen) == heading
    assert words in change(seen)


def test_what_nobody_tells_is_not_drawn_as_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """While the extender is away, capacities and `top` say that use is unknown, and the chart has a gap."""
    cluster.answers[f"{PROXY}/v1/nodes"] = (503, {"message": "no endpoints"})
    size = {"allocatable": {"cpu": "16", "memory": "64Gi"}}
    cluster.put("/api/v1/nodes", {"metadata": {"name": "n0"}, "status": size})
    source = live(cluster, tmp_path)
    text = client(source).get("/").text
    assert "<dt>free by requests</dt><dd>–</dd>" in text
    assert "– used" in text
    assert "<dt>room by what is measured</dt><dd>–</dd>" in text
    lines = source.history().lines["cpu"]
    assert set(lines["allocatable"]) == {16.0}
    assert all(math.isnan(lines[line][0]) for line in ("requested", "used", "estimated"))
    out = io.StringIO()
    Console(file=out, width=200).print(render(source.snapshot()))
    assert "CPU 16 cores, requested and used unknown" in out.getvalue()


def test_drivers_count_as_using_what_they_are_charged() -> None:
    """The ledger keeps them apart; here used and estimated are whole, so that room = allowed − estimated."""
    amounts = {
        "allocatable": 16.0,
        "allowed": 14.0,
        "declared": 10.0,
        "used": 2.0,
        "estimate": 3.0,
        "drivers": 4.0,
        "room": 7.0,
    }
    found = decoding.node({"name": "n", **{name: {"cpu": value} for name, value in amounts.items()}})
    assert (found.used["cpu"], found.estimate["cpu"]) == (6.0, 7.0)
    assert found.room["cpu"] == found.allowed["cpu"] - found.estimate["cpu"]


def test_two_plays_of_the_same_work_are_compared_at_the_same_moment() -> None:
    """A rival that began each job five seconds later has finished fewer of them by then."""
    late = outcome([(job, at, begun + 5, end + 5) for job, at, begun, end in ROWS], usage=True)
    moments = iter([0.0])
    source = Replay(outcome(ROWS, usage=True), rival=late, speed=1.0, clock=lambda: next(moments, 14.5))
    race = source.comparison()
    assert race is not None
    finished = race.rows[0]
    assert (finished.theirs, finished.ours, finished.better) == ("0", "5", 1)
    assert "The same work, the same moment" in client(source).get("/").text
    assert played().comparison() is None


def test_reasons_and_estimates_stand_in_the_queue(cluster: Cluster, tmp_path: Path) -> None:
    """As the TrackedApp has them."""
    text = client(live(cluster, tmp_path)).get("/queue").text
    assert "the large pool has 20.0 of 23.0 slots" in text
    assert "90 s" in text


def test_a_forecast_of_a_queue_that_stands_still_is_shown_no_longer(cluster: Cluster, tmp_path: Path) -> None:
    """It was made years ago, for nine seconds at most: on the queue's page, and where a pod of it is explained."""
    queue = cluster.answers[f"{GROUP}/admissionqueues/default"]
    assert isinstance(queue, dict)
    made = {"lowSeconds": 1, "middleSeconds": 5, "highSeconds": 9, "source": "pace", "at": "2020-01-01T00:00:00.000Z"}
    queue["status"] |= {"nextSmall": made}
    source = live(cluster, tmp_path)
    assert source.snapshot().queues[0].next_small == Start(unknown=QUIET)
    text = client(source).get("/queue/default").text
    assert "An app that came next" in text
    assert QUIET in text
    explained = source.explain("team-a", "etl-0")
    assert explained is not None
    assert explained.queue is not None
    assert explained.queue.next_small == Start(unknown=QUIET)


def test_an_app_has_its_gantt_chart_and_efficiency(cluster: Cluster, tmp_path: Path) -> None:
    """Pods as bars and as a table."""
    text = client(live(cluster, tmp_path)).get("/apps/team-a/etl").text
    assert "When 3 pods waited and ran" in text
    assert "25 %" in text
    assert '<th scope="row"><a href="/pods/team-a/etl-0">etl-0</a></th>' in text


def test_an_unknown_app_is_told(cluster: Cluster, tmp_path: Path) -> None:
    """404 with a sentence."""
    reply = client(live(cluster, tmp_path)).get("/apps/team-a/nonesuch")
    assert reply.status_code == 404
    assert "there is no app team-a/nonesuch" in reply.text


def test_names_from_the_cluster_are_escaped(cluster: Cluster, tmp_path: Path) -> None:
    """A message is text, whatever it holds."""
    apps = cluster.answers["/apis/slackwater.io/v1alpha1/trackedapps"]
    assert isinstance(apps, dict)
    apps["items"][0]["status"]["message"] = "<script>alert(1)</script>"
    text = client(live(cluster, tmp_path)).get("/queue").text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


def test_without_the_extender_the_page_says_what_is_missing(cluster: Cluster, tmp_path: Path) -> None:
    """Nodes are read from the API server instead."""
    for path in [path for path in cluster.answers if "/proxy/" in path]:
        del cluster.answers[path]
    cluster.put("/api/v1/nodes", {"metadata": {"name": "n9"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}})
    text = client(live(cluster, tmp_path)).get("/nodes").text
    assert "cannot be read" in text
    assert "n9" in text


def test_a_simulation_is_played_back_to_its_moment() -> None:
    """Jobs submitted later are not there yet; the curve ends now."""
    source = played(6.0)
    seen = source.snapshot()
    assert seen.at == 6.0
    assert all((app.submitted or 0.0) <= 6.0 for app in seen.apps)
    assert max(source.history().time) <= 6.0
    assert seen.total("used", "cpu") <= seen.total("declared", "cpu")


def test_what_if_plays_the_workload_on_show() -> None:
    """A verdict, and a table with a row per policy."""
    made = client(played())
    assert "the workload on show" in made.get("/what-if").text
    text = made.get("/what-if?trace=the+workload+on+show&policy=fifo&policy=fair&load=2").text
    assert '<th scope="row">fifo</th>' in text
    assert '<th scope="row">fair</th>' in text
    assert '<p class="lead verdict">Under fair ' in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("trace=../secret.parquet", "is not known"),
        ("trace=the+workload+on+show&load=1000", "from 0.1 to 10"),
        ("trace=the+workload+on+show&policy=nonesuch", "is not known"),
        ("trace=the+workload+on+show&policy=a&policy=b&policy=c&policy=d&policy=e", "at most 4"),
    ],
    ids=["path", "load", "policy", "many"],
)
def test_what_if_refuses_with_a_sentence(query: str, words: str) -> None:
    """The form stays, the refusal stands below it."""
    assert words in client(played()).get(f"/what-if?{query}").text


def test_settings_come_from_flags_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the chart sets them."""
    monkeypatch.setenv("SLACKWATER_MONITOR_PROMETHEUS_URL", "http://p")
    monkeypatch.setenv("SLACKWATER_MONITOR_PROMETHEUS_MATCHERS", '{"cluster":"prod"}')
    found = load(["--port", "1234"])
    assert (found.port, found.prometheus_url, found.host) == (1234, "http://p", "127.0.0.1")
    assert found.prometheus_matchers == {"cluster": "prod"}
    assert load(["--prometheus-matchers", "cluster=test"]).prometheus_matchers == {"cluster": "test"}
    with pytest.raises(InvalidInput, match="prometheus_matchers: 'a-b' is no label"):
        load(["--prometheus-matchers", "a-b=test"])


def test_a_monitor_whose_port_is_taken_says_so(cluster: Cluster, tmp_path: Path) -> None:
    """In one sentence, instead of trying again and again."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(port=taken.getsockname()[1], kubeconfig=cluster.kubeconfig(tmp_path))
        with pytest.raises(InvalidInput, match=r"cannot be listened on \(Address already in use\); end what listens"):
            serve_cluster(settings)
    check_address(settings)


def test_an_address_that_is_nobodys_is_refused() -> None:
    """With what the machine says of it: no other port would help, be it elsewhere or a name that nobody knows."""
    for host in ("203.0.113.1", "nosuch.invalid"):
        with pytest.raises(InvalidInput, match=rf"host: {host}:0 cannot be listened on .*; give another --host"):
            check_address(Settings(host=host, port=0))
    check_address(Settings(host="localhost", port=0))
