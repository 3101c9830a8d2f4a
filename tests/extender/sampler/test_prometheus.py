"""Against a real Prometheus: what kubelets expose arrives in the ledger as cores, bytes and the samples' own time."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from slackwater_cluster.prometheus.vector import VectorClient
from slackwater_extender.sampler.measurement import UsageQuery
from slackwater_extender.sampler.presets import queries
from slackwater_extender.settings import Prometheus
from support.builders import objects
from support.fakes.extender import World, world

BINARY = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(BINARY is None, reason="prometheus is not installed (Debian package prometheus)")

PATIENCE = 60.0
# What a tenant's own target says of the node that its label names, and of a pod that is not its own.
OURS = {"cluster": "ours"}
FORGED = 'node_memory_working_set_bytes 6e10\npod_memory_working_set_bytes{namespace="batch",pod="p"} 5e10\n'


@dataclass
class Kubelet:
    """An exporter that looks like a kubelet's /metrics/resource, with a cpu counter that runs at a given rate."""

    rate: float = 2.0  # cores
    memory: float = 4.0 * 2**30
    counter: float = 1000.0
    broken: bool = False
    began: float = field(default_factory=time.monotonic)

    def text(self) -> str:
        """The exposition at this moment."""
        spent = self.counter + self.rate * (time.monotonic() - self.began)
        pod = '{namespace="batch",pod="p"}'
        return (
            "# TYPE node_cpu_usage_seconds_total counter\n"
            f"node_cpu_usage_seconds_total {spent}\n"
            f"node_memory_working_set_bytes {self.memory}\n"
            "# TYPE pod_cpu_usage_seconds_total counter\n"
            f"pod_cpu_usage_seconds_total{pod} {spent / 4}\n"
            f"pod_memory_working_set_bytes{pod} {self.memory / 8}\n"
        )

    def restart(self) -> None:
        """The node reboots: its counters begin anew."""
        self.counter, self.began = 0.0, time.monotonic()


@pytest.fixture(scope="module")
def kubelet() -> Iterator[tuple[Kubelet, int]]:
    """The exporter on a port of its own."""
    state = Kubelet()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """One scrape."""
            body = (FORGED if self.path in ("/tenant", "/kubernetes-nodes") else state.text()).encode()
            self.send_response(500 if state.broken else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state, server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def prometheus(kubelet: tuple[Kubelet, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that scrapes the exporter twice over (two jobs, one node), every second, and a tenant's own.

    It also scrapes another cluster, whose node and pod are called as ours are.
    """
    folder = tmp_path_factory.mktemp("prometheus")
    target = f"127.0.0.1:{kubelet[1]}"
    jobs = "".join(
        f"- job_name: {name}\n  metrics_path: /{name}\n"
        f"  static_configs:\n  - targets: ['{target}']\n    labels: {{node: n1, cluster: {cluster}}}\n"
        for name, cluster in (
            ("kubelet", "ours"),
            ("kubelet-resource", "ours"),
            ("tenant", "ours"),
            ("kubernetes-nodes", "other"),
        )
    )
    (folder / "prometheus.yml").write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs:\n{jobs}")
    port = free_port()
    child = subprocess.Popen(
        [
            str(BINARY),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stderr=(folder / "log").open("w"),
    )
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: ready(url))
        yield url
    finally:
        child.terminate()
        child.wait(timeout=20)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/-/ready", timeout=1).status_code == 200
    except httpx2.HTTPError:
        return False


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.2)


@pytest.fixture
def made(prometheus: str) -> Iterator[World]:
    """A world whose heartbeat asks that Prometheus."""
    settings = Prometheus(url=prometheus, window=5, matchers=OURS)
    found = world(objects.node("n1"))
    found.show(objects.pod("p", node="n1", phase="Running", status=objects.running()))
    client = VectorClient(settings)
    sampling = found.parts.sampling
    sampling.inquiry = UsageQuery(queries(settings), settings.window)
    with ThreadPoolExecutor(4) as sampling._pool:
        sampling.ask = client.query
        yield found
    client.close()


def beat(made: World) -> dict[str, float]:
    """One heartbeat; the node's cpu line."""
    made.clock.now += 1
    assert made.parts.sampling.ask is not None
    made.parts.sampling.beat(made.parts.sampling.ask)
    line: dict[str, float] = made.get("/v1/nodes/n1")["resources"]["cpu"]
    return line


def test_use_and_time_arrive(made: World, kubelet: tuple[Kubelet, int]) -> None:
    """Two cores and 4 GiB, measured a moment ago; the double scrape counts once, the tenant's target never.

    Nor does the other cluster.
    """
    until(lambda: abs(beat(made)["used"] - kubelet[0].rate) < 0.5)
    memory = made.get("/v1/nodes/n1")["resources"]["memory"]
    assert memory["used"] == kubelet[0].memory
    assert abs(made.parts.sampling.newest - time.time()) < 20
    assert made.parts.sampling.trouble == ""


def test_the_pod_s_own_use_arrives(made: World) -> None:
    """By namespace and name, from the same scrape."""
    sampling = made.parts.sampling
    assert sampling.ask is not None
    cache = made.parts.cache

    def measured() -> tuple[float, ...]:
        found = sampling.inquiry.run(sampling.ask, sampling._pool, cache.nodes, cache.names_of, "batch")  # type: ignore[arg-type] # asserted above
        uids, uses = found.pods.joined(("cpu", "memory"))
        return tuple(uses[:, uids.index("uid-batch-p")].tolist()) if uids else (0.0, 0.0)

    until(lambda: abs(measured()[0] - 0.5) < 0.2)
    assert measured()[1] == 2**29


def test_without_matchers_two_clusters_of_one_prometheus_are_mixed_up(made: World, prometheus: str) -> None:
    """The node of the other cluster that has the same name uses more, and the larger counts."""
    until(lambda: abs(beat(made)["used"] - 2.0) < 0.5)
    used = {}
    for matchers in ({}, OURS):
        settings = Prometheus(url=prometheus, matchers=matchers)
        client = VectorClient(settings)
        answer = client.query(queries(settings)["node_memory"])
        used[len(matchers)] = max(float(each.value[1]) for each in answer.series())
        client.close()
    assert used == {0: 6e10, 1: 4.0 * 2**30}


def test_a_counter_that_begins_anew_is_survived(made: World, kubelet: tuple[Kubelet, int]) -> None:
    """A reboot must not look like minus a thousand cores, nor like a million."""
    until(lambda: abs(beat(made)["used"] - kubelet[0].rate) < 0.5)
    kubelet[0].restart()
    for _ in range(20):
        assert 0 <= beat(made)["used"] <= 24
        time.sleep(0.2)
    until(lambda: abs(beat(made)["used"] - kubelet[0].rate) < 0.5)


def test_a_target_that_is_gone_grows_stale(made: World, kubelet: tuple[Kubelet, int]) -> None:
    """Stale markers end the series; the node is not taken for idle, it is taken at its reservations."""
    until(lambda: abs(beat(made)["used"] - kubelet[0].rate) < 0.5)
    kubelet[0].broken = True
    try:
        until(lambda: "names a known node" in (beat(made) and made.parts.sampling.trouble))
        made.clock.now += 60
        assert made.get("/v1/nodes/n1")["resources"]["cpu"]["stale"]
    finally:
        kubelet[0].broken = False
    until(lambda: beat(made) is not None and made.parts.sampling.trouble == "")
