"""`make bench-extender`: the extender as a process of its own on clusters of 1,000 and 5,000 nodes with 30 pods each.

Latency is a ratio: the same requests go in turn to ours and to a do-nothing Flask extender on the same server, while
600 pods a second change and every node and pod is sampled every 5 s. Batch placement and the re-list are measured on
the largest cluster alone. Prints a table and ends with 1 if a bound of tests/performance/bounds.toml, section
[extender], is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support" / "bench"
sys.path.insert(0, str(HERE.parent))

from support.bench import largecluster  # noqa: E402 - found through the line above

BOUNDS = tomllib.loads((HERE / "bounds.toml").read_text()).get("extender", {})


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def process(*command: str, **more: object) -> Iterator[subprocess.Popen[str]]:
    """A child that is ended afterwards."""
    child = subprocess.Popen([sys.executable, *command], text=True, **more)  # type: ignore[call-overload] # passed on
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            child.kill()


@dataclass
class Target:
    """One server under test, over one kept connection, as the scheduler does it."""

    name: str
    port: int
    times: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def post(self, path: str, body: bytes) -> bytes:
        """Send and read one request."""
        self.http.request("POST", path, body, {"Content-Type": "application/json"})
        reply = self.http.getresponse()
        found = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{self.name} {path}: {reply.status} {found[:200]!r}")
        return found

    def get(self, path: str) -> tuple[int, bytes]:
        """Read."""
        self.http.request("GET", path)
        reply = self.http.getresponse()
        return reply.status, reply.read()

    def timed(self, label: str, path: str, body: bytes) -> float:
        """Send one request and note its time."""
        began = time.perf_counter()
        self.post(path, body)
        spent = time.perf_counter() - began
        self.times.setdefault(label, []).append(spent)
        return spent


def waiting_pod(index: int) -> dict[str, object]:
    """A pod that waits, as the scheduler sends it."""
    pod = json.loads(json.dumps(largecluster.pod(f"waiting-{index}", f"waiting-{index}", "", f"app-{index % 500:03d}")))
    del pod["spec"]["nodeName"]
    pod["status"] = {"phase": "Pending"}
    return dict(pod)


def question(rng: random.Random, nodes: int, count: int, index: int) -> bytes:
    """ExtenderArgs with so many names, in an order that changes as the scheduler's does."""
    names = [f"node-{each:04d}" for each in rng.sample(range(nodes), count)]
    return json.dumps({"Pod": waiting_pod(index), "Nodes": None, "NodeNames": names}).encode()


def wait_ready(target: Target, limit: float = 180.0) -> float:
    """Seconds until /readyz is 200."""
    began = time.perf_counter()
    while time.perf_counter() - began < limit:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if target.get("/readyz")[0] == 200:
                return time.perf_counter() - began
        target.http.close()
        time.sleep(0.1)
    raise RuntimeError(f"{target.name} is not ready after {limit} s")


def worker_memory(child: subprocess.Popen[str]) -> float:
    """Resident MB of the worker process."""
    workers = psutil.Process(child.pid).children(recursive=True)
    return max(each.memory_info().rss for each in workers) / 2**20


def compare(ours: Target, nothing: Target, nodes: int, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Alternate between both targets and all rows, so that samples and events fall on each alike; medians in ms.

    As from a scheduler, each filter brings a pod that was not asked about before, and prioritize follows with the same.
    """
    rng = random.Random(2)
    counts = [each for each in (1, 1000, 5000) if each <= nodes]
    for index in range(rounds):
        for place, count in enumerate(counts):
            body = question(rng, nodes, count, index * len(counts) + place)
            for verb in ("filter", "prioritize"):
                for target in (ours, nothing) if index % 2 else (nothing, ours):
                    target.timed(f"{verb} {count}", f"/{verb}", body)
    for count in counts:
        for label in (f"filter {count}", f"prioritize {count}"):
            yield label, 1e3 * statistics.median(ours.times[label]), 1e3 * statistics.median(nothing.times[label])


def batch(ours: Target, pods: int) -> float:
    """Median seconds of a batch placement that charges known pods, over two rounds of samples: some fall into one."""
    spent = []
    for turn in range(20):
        uids = [{"uid": f"waiting-{index}", "group": f"g{index % 50}"} for index in range(pods)]
        began = time.perf_counter()
        reply = json.loads(ours.post("/v1/place", json.dumps({"pods": uids}).encode()))
        spent.append(time.perf_counter() - began)
        if len(reply["placed"]) != pods and turn == 0:
            raise RuntimeError(f"only {len(reply['placed'])} of {pods} pods were placed")
        ours.post("/v1/unreserve", json.dumps({"uids": [each["uid"] for each in uids]}).encode())
        time.sleep(0.35)
    return statistics.median(spent)


def during(ours: Target, nodes: int, seconds: float, label: str) -> float:
    """The longest /filter of one name over some seconds."""
    rng, until = random.Random(3), time.perf_counter() + seconds
    index = 0
    while time.perf_counter() < until:
        ours.timed(label, "/filter", question(rng, nodes, 1, index % 500))
        index += 1
    return max(ours.times[label])


def check(name: str, value: float, failed: list[str]) -> str:
    """Hold a value against its bound."""
    bound = BOUNDS.get(name)
    if bound is None:
        return ""
    if value > bound:
        failed.append(f"{name} {value:.2f} > {bound}")
    return f"(at most {bound})" if value <= bound else f"(ABOVE {bound})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000], help="sizes of the clusters, one by one")
    parser.add_argument("--pods-per-node", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args(arguments)
    failed: list[str] = []
    for nodes in chosen.nodes:
        cluster(nodes, chosen, failed)
    for each in failed:
        say(f"missed: {each}")
    return 1 if failed else 0


def cluster(nodes: int, chosen: argparse.Namespace, failed: list[str]) -> None:
    """Start a cluster of one size, both extenders beside it, and measure."""
    with contextlib.ExitStack() as stack:
        size = (str(nodes), str(chosen.pods_per_node))
        server = stack.enter_context(process(str(SUPPORT / "largecluster.py"), *size, stdout=subprocess.PIPE))
        assert server.stdout is not None
        api = int(server.stdout.readline())
        config = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "kubeconfig"
        config.write_text(kubeconfig(api))
        nothing, ours = Target("nothing", free_port()), Target("ours", free_port())
        stack.enter_context(process(str(SUPPORT / "emptyextender.py"), str(nothing.port)))
        began = time.perf_counter()
        log = stack.enter_context(Path(os.environ.get("BENCH_LOG", os.devnull)).open("a"))
        child = stack.enter_context(
            process(
                *("-m", "slackwater_extender.main", "--kubeconfig", str(config), "--server.port", str(ours.port)),
                *("--prometheus.url", f"http://127.0.0.1:{api}/prometheus"),
                stderr=log,
            )
        )
        wait_ready(ours)
        started = time.perf_counter() - began
        say(f"{nodes} nodes, {nodes * chosen.pods_per_node} pods")
        say(f"ready after {started:.1f} s {check('ready_s', started, failed)}")
        control = Target("control", api)
        control.post("/control?events=600", b"")
        warm(ours, nothing, nodes)
        latency(ours, nothing, nodes, chosen.rounds, failed)
        if nodes == max(chosen.nodes):
            upheaval(ours, control, nodes, failed)
        memory = worker_memory(child)
        say(f"memory {memory:.0f} MB {check('memory_mb', memory, failed)}")


def warm(ours: Target, nothing: Target, nodes: int) -> None:
    """Fill caches and let the first samples come."""
    rng = random.Random(1)
    until = time.perf_counter() + 6
    while time.perf_counter() < until:
        for count in (1, min(1000, nodes)):
            body = question(rng, nodes, count, 0)
            for target in (ours, nothing):
                target.post("/filter", body)


def latency(ours: Target, nothing: Target, nodes: int, rounds: int, failed: list[str]) -> None:
    """Both verbs, with one name and with many."""
    for label, mine, theirs in compare(ours, nothing, nodes, rounds):
        ratio, worst = mine / theirs, 1e3 * max(ours.times[label])
        say(
            f"{label:>16} names: ours {mine:6.2f} ms, do-nothing {theirs:6.2f} ms, ratio {ratio:.2f} "
            f"{check('ratio', ratio, failed)}, longest {worst:.1f} ms"
        )
    single = 1e3 * statistics.median(ours.times["filter 1"])
    say(f"filter of one name, p50 {single:.2f} ms {check('one_name_ms', single, failed)}")


def upheaval(ours: Target, control: Target, nodes: int, failed: list[str]) -> None:
    """A batch of 1,000 pods, and all pods listed anew."""
    control.post("/control?waiting=1000", b"")
    time.sleep(2)
    spent = 1e3 * batch(ours, 1000)
    say(f"placing 1,000 pods: {spent:.0f} ms {check('place_ms', spent, failed)}")
    control.post("/control?gone=1", b"")
    longest = 1e3 * during(ours, nodes, 20, "during re-list")
    say(f"longest /filter during a re-list: {longest:.1f} ms {check('relist_ms', longest, failed)}")


def kubeconfig(port: int) -> str:
    """How to reach the cluster server."""
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
