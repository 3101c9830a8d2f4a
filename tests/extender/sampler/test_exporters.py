"""The presets against real exporters: a kubelet (resource metrics, cAdvisor), Debian's node-exporter and Prometheus.

The preset `metrics-server-like` has no test here: the exporter whose names it follows is in no package of Debian.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.objects.records import NodeRecord
from slackwater_cluster.prometheus.vector import VectorClient
from slackwater_extender.sampler.measurement import SampleRound, UsageQuery
from slackwater_extender.sampler.presets import queries
from slackwater_extender.settings import Preset, Prometheus
from support.fakes.extender import node_record

# The lab is not part of the installed package: without it these tests have nothing to run on.
pytest.importorskip("slackwater_lab.lab", reason="the lab is not on the path")

from slackwater_lab.controlplane.prometheus import REAL_NODES
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import installed, missing
from slackwater_lab.programs.images import LOAD
from slackwater_lab.site import open_site
from support.lab import extenderprocess

until = partial(extenderprocess.until, seconds=90)

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]

NODE = "real-1"
PODS = "/api/v1/namespaces/default/pods"
CORES, MEBIBYTES = 0.3, 60


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A control plane with one real node, on which a container burns CPU and holds memory."""
    if problems := obstacles():
        pytest.skip("; ".join(problems))
    plan = Plan(
        parts=frozenset({"scheduler", "prometheus"}),
        nodes=0,
        shape=Shape(),
        real_nodes=1,
        capacity=Capacity(8, 65536),
        scrape="1s",
    )
    if absent := missing(plan.programs()):
        pytest.skip(f"not built: {', '.join(each.name for each in absent)}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        made = Lab(open_site(f"exporters-{os.getpid()}"), plan)
        try:
            made.up()
            with made.api() as api:
                until(lambda: api.find("/api/v1/namespaces/default/serviceaccounts/default") is not None)
                api.create(PODS, burning("busy"))
                until(lambda: ((api.find(f"{PODS}/busy") or {}).get("status") or {}).get("phase") == "Running")
            yield made
        finally:
            made.down()


def burning(name: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "command": ["burn", "-cpu", str(round(1000 * CORES)), "-memory", str(MEBIBYTES)],
        "resources": {"requests": {"cpu": "1", "memory": "100Mi"}},
    }
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def url(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus of our own that scrapes all three, as kube-prometheus-stack labels them."""
    folder, port, exporter = tmp_path_factory.mktemp("prometheus"), free_port(), free_port()
    (kubelet,) = json.loads((lab.site.folder / "config" / REAL_NODES).read_text())
    try:
        programs = [installed("prometheus", "prometheus")]
        programs.append(installed("prometheus-node-exporter", "prometheus-node-exporter"))
    except Unavailable as problem:
        pytest.skip(str(problem))
    (folder / "prometheus.yml").write_text(configuration(kubelet["targets"][0], f"127.0.0.1:{exporter}"))
    with ExitStack() as stack:
        stack.enter_context(running(folder, programs[1], f"--web.listen-address=127.0.0.1:{exporter}"))
        flags = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
        stack.enter_context(running(folder, programs[0], *flags, f"--web.listen-address=127.0.0.1:{port}"))
        until(lambda: httpx2.get(f"http://127.0.0.1:{port}/-/ready", timeout=2).status_code == 200)
        yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def configuration(kubelet: str, exporter: str) -> str:
    jobs = [
        {
            "job_name": f"kubelet-{path}",
            "scheme": "https",
            "metrics_path": f"/metrics/{path}",
            "tls_config": {"insecure_skip_verify": True},
            "static_configs": [{"targets": [kubelet], "labels": {"node": NODE}}],
        }
        for path in ("resource", "cadvisor")
    ]
    jobs.append(
        {"job_name": "node-exporter", "static_configs": [{"targets": [exporter], "labels": {"node": NODE}}]},
    )
    return json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs})


@contextmanager
def running(folder: Path, *command: str) -> Iterator[None]:
    with (folder / "log").open("a") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        child.terminate()
        child.wait(20)


def measured(url: str, preset: Preset, node: NodeRecord) -> SampleRound:
    """One round of the sampler with that preset."""
    settings = Prometheus(url=url, preset=preset, window=15)
    client = VectorClient(settings)
    try:
        with ThreadPoolExecutor(4) as pool:
            inquiry = UsageQuery(queries(settings), settings.window)
            return inquiry.run(client.query, pool, {NODE: node}, lambda _: {"busy": "uid-busy"}, "default")
    finally:
        client.close()


@pytest.mark.parametrize("preset", ["kubelet-resource", "cadvisor-node-exporter"], ids=str)
def test_a_preset_measures_a_real_container_and_its_node(lab: Lab, url: str, preset: Preset) -> None:
    """0.3 cores and 60 MiB of a container that burns that much, in cores and bytes, with the samples' own time."""
    with lab.api() as api:
        node = node_record(api.find(f"/api/v1/nodes/{NODE}") or {})

    def settled() -> bool:
        found = measured(url, preset, node)
        _, uses = found.pods.joined(("cpu", "memory"))
        whole = all(NODE in found.nodes.get(kind, {}) for kind in ("cpu", "memory"))
        return whole and uses.shape[1] == 1 and bool(abs(uses[0, 0] - CORES) < 0.1)

    until(settled)
    found = measured(url, preset, node)
    uids, uses = found.pods.joined(("cpu", "memory"))
    assert uids == ["uid-busy"]
    assert MEBIBYTES <= uses[1, 0] / 2**20 < 2 * MEBIBYTES
    assert found.troubles == []
    assert CORES / 2 < found.nodes["cpu"][NODE] <= (os.cpu_count() or 1) * 1.1
    assert uses[1, 0] < found.nodes["memory"][NODE] < node.capacity["memory"] * 1.5
    assert abs(found.stamps[NODE] - time.time()) < 30
    assert (NODE in found.network) == (preset == "cadvisor-node-exporter")
