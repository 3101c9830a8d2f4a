"""Every thing has a page, every page is reached by links, and what a reader chose stands in the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from jinja2 import Environment, nodes

from slackwater.cycle.audit.idle import Cause
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.prometheus import Measured
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.sources.simulated.scenes import Scenes
from slackwater_monitor.sources.source import Chooser
from slackwater_monitor.sources.views import Node, Queue, Snapshot
from slackwater_monitor.web.app import dashboard
from slackwater_monitor.web.pages.overview import held_back, scarcest, shortage
from slackwater_simulator.results.outcome import Hold, Series
from support.builders.outcomes import outcome
from support.fakes.httpcluster import GROUP, Cluster, served, tracked, usual
from support.symbols import symbols

ROWS = [(job, job % 2, float(job), float(job) + 10) for job in range(12)]
LINK = re.compile(r'href="(/[^"]*)"')
MANY = re.compile(r"(?<![\d.,])1 (?:more |held )?(?:(?:pod|job|app|node|task|container|driver)s|are|run|wait)\b")
PLAYED = "trace=the+workload+on+show&policy=fifo&policy=fair"
GIBI = 1024.0**3
TEMPLATES = sorted(files("slackwater_monitor.web").joinpath("templates").iterdir(), key=lambda file: file.name)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster that serves."""
    with served(usual()) as made:
        yield made


def live(cluster: Cluster, folder: Path) -> Live:
    """The cluster as a source."""
    api = ApiClient(endpoint(cluster.kubeconfig(folder)))
    return Live(api, ExtenderClient(api), fresh=60.0)


def played() -> Replay:
    """A play with a rival and a pool."""
    moved = Series(np.array([0.0, 5.0, 9.0]), np.array([0.1, 0.3, 0.2]))
    return Replay(outcome(ROWS, usage=True, series={"delta": moved}), rival=outcome(ROWS, usage=True, policy="kube"))


def client(source: Chooser, **settings: object) -> FlaskClient:
    """The dashboard over a source."""
    return dashboard(source, Settings(**settings)).test_client()  # type: ignore[arg-type]  # any field of the settings


def crawled(made: FlaskClient, start: str, most: int = 120) -> dict[str, str]:
    """Every page that links lead to, by its address."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting and len(found) < most:
        path = waiting.pop(0)
        if path in found or path.startswith(("/static", "/style")) or "sort=" in path or "range=" in path:
            continue
        reply = made.get(path)
        assert reply.status_code == 200, path
        found[path] = reply.text
        steady = re.sub(r"<noscript>.*?</noscript>", "", reply.text)  # there stands the link that lets a play run again
        waiting += [unescape(each) for each in LINK.findall(steady)]
    return found


def test_links_of_a_cluster_lead_to_nodes_apps_pods_queues_and_pools(cluster: Cluster, tmp_path: Path) -> None:
    """From the first page, none of them broken, and no word of the papers on any."""
    cluster.answers.setdefault(  # the second node's own ledger, as the extender has one of each
        next(path for path in cluster.answers if path.endswith("/v1/nodes/n0")).replace("n0", "n1"),
        {"name": "n1", "open": False, "resources": {}, "pods": []},
    )
    pages = crawled(client(live(cluster, tmp_path)), "/")
    assert {
        "/nodes/n0",
        "/nodes/n1",
        "/apps/team-a/etl",
        "/pods/team-a/etl-0",
        "/queue/default",
        "/pools/default",
    } <= set(pages)
    assert {path: found for path, text in pages.items() if (found := symbols(text))} == {}


def test_each_page_answers_its_next_question_by_a_link(cluster: Cluster, tmp_path: Path) -> None:
    """Who waits for idle cores, why a pod of an app waits, and which nodes are full."""
    made = client(live(cluster, tmp_path))
    assert 'href="/queue">All that wait</a>' in made.get("/").text
    assert '<a href="/pods/team-a/etl-0">Why etl-0 waits</a>' in made.get("/apps/team-a/etl").text
    seen = Snapshot(0.0, [node(f"n{at}", (9.0, 0.25)) for at in range(11)])
    scarce = scarcest(seen)
    assert scarce is not None
    assert scarce.kind == "memory"
    play = client(played())
    assert '"/queue?t=6.0">Who waits under' in play.get("/side-by-side?t=6.0").text


def test_links_of_a_play_keep_scene_and_moment() -> None:
    """Whoever holds a moment and follows a link is still there."""
    made = client(Scenes({"one": played(), "two": played()}, {"one": "One: a", "two": "Two: b"}))
    pages = crawled(made, "/?scene=two&t=6")
    assert all("scene=two" in path and "t=6" in path for path in pages)
    kinds = {path.split("/")[1].partition("?")[0] for path in pages}
    assert kinds == {"", "side-by-side", "nodes", "queue", "pools", "apps", "pods", "what-if"}
    assert {path: found for path, text in pages.items() if (found := symbols(text))} == {}


def test_what_if_plays_the_scene_on_show() -> None:
    """The form sends scene and moment along, and each scene has an answer of its own."""
    plays = {"one": Replay(outcome(ROWS, usage=True)), "two": Replay(outcome(ROWS[:5], usage=True))}
    made = client(Scenes(plays, {"one": "One: a", "two": "Two: b"}))
    form = made.get("/what-if?scene=two&t=6").text.partition('action="/what-if"')[2].partition("</form>")[0]
    assert re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form) == [("scene", "two"), ("t", "6")]
    asked = "/what-if?trace=the+workload+on+show&policy=fifo&scene="
    assert [re.findall(r"(\d+) jobs</h2>", made.get(asked + scene).text) for scene in ("one", "two", "one")] == [
        ["12"],
        ["5"],
        ["12"],
    ]


@pytest.mark.parametrize("path", ["/queue", "/queue/default", "/pools/default", "/apps"])
def test_a_page_is_not_longer_than_anybody_reads(cluster: Cluster, tmp_path: Path, path: str) -> None:
    """Of 600 apps that wait and 600 that run, 500 of each are listed, and it says that there are more."""
    apps = [tracked(f"app-{each}", held=each % 2, bound=1, position=1) for each in range(1200)]
    for each, app in enumerate(apps):
        app["status"]["category"] = ("small", "large")[each % 2]
    cluster.put(f"{GROUP}/trackedapps", *apps)
    text = client(live(cluster, tmp_path)).get(path).text
    assert max(table.count('<th scope="row">') for table in text.split("</table>")) == 500
    assert re.search(r"; (?:100|700) more are not shown", text)


def test_a_race_on_many_nodes_shows_some_of_them() -> None:
    """The comparison counts all of them."""
    made = [outcome(ROWS, nodes=600, usage=True, policy=policy) for policy in ("slackwater", "kube")]
    text = client(Replay(made[0], rival=made[1])).get("/side-by-side?t=5").text
    assert text.count('href="/nodes/') == 500
    assert "; 100 more are not shown" in text


@pytest.mark.parametrize("wrong", ["scene=three", "t=soon", "scene=two&t=nan"])
def test_links_lead_out_of_a_page_whose_address_is_wrong(wrong: str) -> None:
    """A scene or a moment that does not exist does not go along."""
    made = client(Scenes({"one": played(), "two": played()}, {"one": "One: a", "two": "Two: b"}))
    reply = made.get(f"/nodes?{wrong}")
    links = [unescape(each) for each in LINK.findall(reply.text) if not each.startswith(("/static", "/style"))]
    assert reply.status_code == 400
    assert "/" in links
    assert {made.get(each).status_code for each in links} == {200}


@pytest.mark.parametrize("moment", [0.0, 5.0, 10.0])
def test_one_of_a_thing_is_told_in_the_singular(moment: float) -> None:
    """A play of one app with one task on one node: no page says 1 pods."""
    only = [(0, 0, 2.0, 10.0)]
    made = client(Replay(outcome(only, nodes=1, usage=True), rival=outcome(only, nodes=1, usage=True, policy="kube")))
    pages = crawled(made, f"/?t={moment}") | {"played": made.get(f"/what-if?{PLAYED}").text}
    assert ": 1 job<" in pages["played"]
    assert {path: found for path, text in pages.items() if (found := MANY.findall(text))} == {}


def test_the_page_of_a_pod_says_what_explain_says(cluster: Cluster, tmp_path: Path) -> None:
    """Sentence, what it asks for, room node by node as bars, who stands before it, and when it may start."""
    text = client(live(cluster, tmp_path)).get("/pods/team-a/etl-0").text
    assert "It is held: the large pool has 20.0 of 23.0 slots." in text
    assert "4 cores" in text
    assert "1 of the 2 nodes it can use would serve it; slackwater: node not ready (1 node)." in text
    assert "CPU: room for 9 cores, 4 cores asked" in text
    assert "90 s" in text
    assert "Nobody: its app is the first of its queue." in text
    assert "room 7 cores = min(allowed 14, real 16) − estimate 5 − drivers 2" in text


def test_the_page_of_a_node_has_its_arithmetic_and_its_pods(cluster: Cluster, tmp_path: Path) -> None:
    """From the extender's ledger, with links to the pods."""
    text = client(live(cluster, tmp_path)).get("/nodes/n0").text
    assert "room 7 cores = min(allowed 14, real 16)" in text
    assert '<a href="/pods/team-a/ran">team-a/ran</a>' in text


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_what_an_open_page_renews_is_there_in_every_state(template: Traversable) -> None:
    """Only parts of both the old and the new page are exchanged, so none hangs on a condition: it stands inside."""
    parsed = Environment(autoescape=True).parse(template.read_text(encoding="utf-8"))
    kinds = (nodes.If, nodes.CondExpr)
    hidden = [each.data for found in parsed.find_all(kinds) for each in found.find_all(nodes.TemplateData)]
    assert [words for words in hidden if "data-live" in words] == []


@pytest.mark.parametrize("path", ["/nodes/x", "/queue/x", "/pools/x", "/pods/team-a/x", "/apps/team-a/x"])
def test_what_is_not_there_is_told(cluster: Cluster, tmp_path: Path, path: str) -> None:
    """404 with a sentence, whatever kind it is."""
    reply = client(live(cluster, tmp_path)).get(path)
    assert reply.status_code == 404
    assert "there is no" in reply.text


def test_filters_and_order_stand_in_the_address() -> None:
    """Rows that match, in the order that was asked for; the next click on a head turns it round."""
    made = client(played())
    rows = re.compile(r'<th scope="row"><a href="/apps/simulated/([^"?]*)')
    assert rows.findall(made.get("/apps?t=3&phase=Waiting&find=job-1").text) == ["job-10", "job-11"]
    assert rows.findall(made.get("/apps?t=3&sort=app").text)[:2] == ["job-0", "job-1"]
    falling = made.get("/apps?t=3&sort=-app").text
    assert rows.findall(falling)[:2] == ["job-9", "job-8"]
    assert 'aria-sort="descending"><a class="sort" href="/apps?t=3&amp;sort=app"' in falling
    assert "No app matches" in made.get("/apps?queue=nonesuch").text
    assert re.findall(r'<th scope="row"><a href="/nodes/([^"?]*)', made.get("/nodes?find=1").text) == ["node1"]


def test_a_queue_without_namespaces_serves_all_others(cluster: Cluster, tmp_path: Path) -> None:
    """In the same words on its page and in `slackwater queues -o wide`."""
    assert Queue("default").serves == "all other managed"
    assert Queue("a", namespaces=("x", "y")).serves == "x, y"
    assert "<dd>all other managed</dd>" in client(live(cluster, tmp_path)).get("/queue/default").text


def test_a_range_cuts_the_charts() -> None:
    """The last quarter of an hour of a play of an hour begins after 45 minutes."""
    hour = Replay(outcome([(0, 0, 0.0, 3600.0), (1, 1, 10.0, 3590.0)], usage=True))
    made = client(hour)
    whole, last = (made.get(f"/?t=3600{more}").text for more in ("", "&range=15m"))
    low = re.compile(r"&#34;low&#34;: ([\d.]+)")
    assert float(low.findall(whole)[0]) == 0.0
    assert float(low.findall(last)[0]) >= 2700.0
    assert 'href="/?t=3600&amp;range=15m" aria-current="true"' in last


def test_a_cluster_is_drawn_by_the_clock_on_the_wall(cluster: Cluster, tmp_path: Path) -> None:
    """The axis tells the time of day."""
    moments = iter([1_700_000_000.0 + 60.0 * at for at in range(200)])
    source = Live(*_reads(cluster, tmp_path), fresh=0.0, clock=lambda: next(moments))
    for _ in range(20):
        source.snapshot()
    text = client(source).get("/").text
    assert "time of day, UTC" in text
    assert re.search(r">22:\d\d<", text)


def _reads(cluster: Cluster, folder: Path) -> tuple[ApiClient, ExtenderClient]:
    api = ApiClient(endpoint(cluster.kubeconfig(folder)))
    return api, ExtenderClient(api)


def test_pages_link_to_grafana_where_there_is_one(cluster: Cluster, tmp_path: Path) -> None:
    """To the dashboard that shows the same over days; without the setting there is no link."""
    source = live(cluster, tmp_path)
    assert (
        'href="https://g.example/d/slackwater-slack"' in client(source, grafana_url="https://g.example/").get("/").text
    )
    assert "Grafana" not in client(source).get("/").text


def node(name: str, room: tuple[float, float]) -> Node:
    """A node of 16 cores and 64 GiB with so much room."""
    size = {"cpu": 16.0, "memory": 64 * GIBI}
    left = {"cpu": room[0], "memory": room[1] * GIBI}
    return Node(name, size, size, {"cpu": 12.0, "memory": 48 * GIBI}, room=left)


def test_the_bottleneck_is_named() -> None:
    """Eleven nodes with nine free cores each and hardly any memory."""
    seen = Snapshot(0.0, [node(f"n{at}", (9.0, 0.25)) for at in range(11)])
    assert shortage(seen) == "Memory is full: 2.75 GiB left; 98.3 cores cannot be used beside it."
    assert shortage(Snapshot(0.0, [node("n", (2.0, 8.0))])) == ""
    assert shortage(Snapshot(0.0)) == ""


def test_what_holds_work_back_is_what_the_operator_counts() -> None:
    """By cause, the largest first; cores at work are no reason, and an unknown cause is left out."""
    idle = {"busy": 90.0, "kept-back": 10.0, "tasks-unused": 30.0, "gate": 0.0, "of-tomorrow": 5.0}
    rows = held_back(Snapshot(0.0, idle=idle))
    assert [(row["words"], row["cores"], row["share"]) for row in rows] == [
        ("tasks: charged, not used", 30.0, 0.75),
        ("kept back (allowance)", 10.0, 0.25),
    ]
    assert all(row["why"] for row in held_back(Snapshot(0.0, idle={str(cause): 1.0 for cause in Cause})))


def test_a_play_shows_what_its_run_counted() -> None:
    """The cores by cause of the last look before the moment."""
    looks = np.array([0.0, 2.0, 4.0])
    series = {str(cause): Series(looks, looks if cause is Cause.TASKS else 0 * looks) for cause in Cause}
    source = Replay(replace(outcome(ROWS, usage=True), idle=series))
    assert source.at(3.0).snapshot().idle[Cause.TASKS] == 2.0
    assert "tasks: charged, not used" in client(source).get("/?t=3").text


def test_a_play_shows_why_its_gate_held_an_app() -> None:
    """The newest sentence before the moment, on every page; none of before the app started, and none without a gate."""
    said = [Hold(1.0, 9, "no-room", "the nodes have 1 cpu free"), Hold(5.0, 9, "driver-budget", "9 cpu are <taken>")]
    source = Replay(replace(outcome(ROWS, usage=True), holds=tuple(said)))
    pages = client(source)
    assert "the nodes have 1 cpu free" in pages.get("/queue?t=4").text
    assert "It is held: 9 cpu are &lt;taken&gt;" in pages.get("/pods/simulated/job-9-run-0?t=6").text
    app = {at: next(app for app in source.at(at).snapshot().apps if app.name == "job-9") for at in (0.5, 6.0, 9.5)}
    assert [(each.reason, each.message) for each in app.values()] == [
        ("", "it is number 9 in line for its first pod"),
        ("driver-budget", "9 cpu are <taken>"),
        ("", ""),
    ]


def test_a_play_goes_round_and_can_be_held() -> None:
    """After its end and a rest it begins again; a moment in the address holds it; a wrong one is refused."""
    seconds = iter([0.0, 5.0, 25.0, 21.0 + 10.0 + 1.0])
    source = Replay(outcome(ROWS, usage=True), speed=1.0, clock=lambda: next(seconds))
    assert [source.now, source.now, source.now] == [5.0, 21.0, 1.0]
    assert source.chosen({"t": "7"}).now == 7.0
    reply = client(played()).get("/?t=soon")
    assert reply.status_code == 400
    assert "give a moment in seconds" in reply.text


@pytest.mark.parametrize("moment", [0.0, 0.5, 6.0, 21.0])
def test_no_moment_of_a_play_is_an_empty_page(moment: float) -> None:
    """Every page has its numbers, from the first moment to the last."""
    made = client(played())
    for path in ("/", "/side-by-side", "/nodes", "/queue", "/pools", "/apps"):
        text = made.get(f"{path}?t={moment}").text
        assert "<h1>" in text
        assert "node0" in text if path in ("/side-by-side", "/nodes") else True
    end = made.get("/?t=21").text
    assert "<h1>All work is done</h1>" in end


def test_one_page_tells_one_number() -> None:
    """The chart ends with the sum of the heading, the table of both schedulers with that of the nodes."""
    source = played().at(6.3)
    seen, race = source.snapshot(), source.comparison()
    assert race is not None
    assert source.history().lines["cpu"]["requested"][-1] == seen.total("declared", "cpu")
    assert source.history().lines["cpu"]["used"][-1] == pytest.approx(seen.total("used", "cpu"))
    requested = next(row for row in race.rows if row.what == "cores requested by what runs")
    assert float(requested.ours) == round(seen.total("declared", "cpu"))


def test_of_cpu_nothing_is_kept_back_in_a_play() -> None:
    """As in the ledger: memory has an allowance, CPU has none."""
    ours = Replay(outcome(ROWS, usage=True, policy="slackwater")).at(6.0).snapshot()
    assert ours.total("allowed", "cpu") == ours.total("allocatable", "cpu")
    assert ours.total("allowed", "memory") == pytest.approx(0.875 * ours.total("allocatable", "memory"))
    assert all(node.room["cpu"] >= node.allocatable["cpu"] - node.declared["cpu"] for node in ours.nodes)


def test_what_hangs_for_ever_is_shown_where_it_hangs() -> None:
    """A rival at a standstill holds its cores, and the page says so."""
    stuck = replace(
        outcome([], policy="kube", deadlock=True), held=outcome([(0, 0, 1.0, np.inf)]).containers, peak_drivers=1
    )
    source = Replay(outcome(ROWS[:1], usage=True), rival=stuck)
    race = source.at(9.5).comparison()
    assert race is not None
    assert race.nodes[0][0].declared["cpu"] == 1.0
    text = client(source).get("/side-by-side?t=9.5").text
    assert "nothing moves any more" in text


def test_without_the_extender_a_node_is_still_shown(cluster: Cluster, tmp_path: Path) -> None:
    """As far as the API server knows it, with the reason why there is no more."""
    for path in [path for path in cluster.answers if "/proxy/" in path]:
        del cluster.answers[path]
    cluster.put("/api/v1/nodes", {"metadata": {"name": "n9"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}})
    reply = client(live(cluster, tmp_path)).get("/nodes/n9")
    assert reply.status_code == 200
    assert "What could not be read" in reply.text


def test_a_forecast_is_shown_as_an_interval(cluster: Cluster, tmp_path: Path) -> None:
    """On the page of the pod in a sentence, in the queue in short."""
    apps = cluster.answers["/apis/slackwater.io/v1alpha1/trackedapps"]
    assert isinstance(apps, dict)
    apps["items"][0]["status"]["start"] = {"lowSeconds": 30, "middleSeconds": 60, "highSeconds": 150}
    made = client(live(cluster, tmp_path))
    assert "Its app starts in 30 s to 2.5 min, most likely in about 60 s" in made.get("/pods/team-a/etl-0").text
    assert "30 s to 2.5 min" in made.get("/queue/default").text


def test_the_gauge_of_the_operator_is_read_from_prometheus(cluster: Cluster, tmp_path: Path) -> None:
    """The cores by reason stand on the first page; a Prometheus without them says what to do."""
    vector = [{"metric": {"reason": "kept-back"}, "value": [0, "12.5"]}]
    cluster.answers["/api/v1/query"] = {"status": "success", "data": {"resultType": "vector", "result": vector}}
    measured = Measured(Prometheus(QueryConnection(cluster.url, 50.0, 5.0)))
    source = Live(*_reads(cluster, tmp_path), measured=measured, fresh=60.0)
    assert source.snapshot().idle == {"kept-back": 12.5}
    text = client(source).get("/").text
    assert "kept back (allowance)" in text
    assert "12.5" in text
    assert "Prometheus has no <code>slackwater_idle_cores</code>" in client(live(cluster, tmp_path)).get("/").text
