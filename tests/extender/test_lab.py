"""With a real kube-scheduler: it decodes our answers in Go, carries them out, and is not driven into a loop."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from slackwater_cluster.customresources import KINDS, definition
from support.builders import objects
from support.lab import extenderprocess

# The lab is not part of the installed package: without it these tests have nothing to run on.
lab_module = pytest.importorskip("slackwater_lab.lab", reason="the lab is not on the path")

from slackwater_lab.controlplane.schedulers import Extender  # noqa: E402
from slackwater_lab.lab import Lab  # noqa: E402
from slackwater_lab.nodes.simulated import Shape  # noqa: E402
from slackwater_lab.plan import Plan  # noqa: E402
from slackwater_lab.programs.build import missing  # noqa: E402
from slackwater_lab.site import open_site  # noqa: E402

until = partial(extenderprocess.until, seconds=90)

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

PODS = "/api/v1/namespaces/batch/pods"
CPU = "slackwater: measured cpu room too small"


class Whole(Extender):
    """The same extender, asked with whole nodes instead of names."""

    def block(self) -> dict[str, object]:
        """NodeCacheCapable is false."""
        return {**super().block(), "nodeCacheCapable": False}


@dataclass
class Stage:
    """A lab whose scheduler calls an extender that this test started."""

    lab: Lab
    url: str

    def pods(self) -> dict[str, dict[str, Any]]:
        """All pods by name."""
        with self.lab.api() as api:
            return {each["metadata"]["name"]: each for each in (api.find(PODS) or {})["items"]}

    def bound(self) -> dict[str, str]:
        """Node by pod."""
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods().items() if "nodeName" in pod["spec"]}

    def create(self, *pods: dict[str, Any]) -> None:
        """Create pods."""
        with self.lab.api() as api:
            for pod in pods:
                api.create(PODS, pod)

    def clear(self) -> None:
        """Delete all pods and wait until they are gone."""
        with self.lab.api() as api:
            api.delete(PODS, {"gracePeriodSeconds": "0"})
        until(lambda: not self.pods() and self.get("/v1/capacity")["reservations"] == 0)

    def get(self, path: str) -> Any:
        """Ask the extender."""
        return httpx2.get(f"{self.url}{path}", timeout=10).json()


def task(name: str, cpu: str = "5", declared: str = "9", usage: str = "500m") -> dict[str, Any]:
    """A task on a simulated node, that declares nearly twice what it asks for and uses little."""
    annotations = objects.declared(declared, "1Gi") | {
        "kwok.x-k8s.io/usage-cpu": usage,
        "kwok.x-k8s.io/usage-memory": "200Mi",
    }
    needs = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"slackwater.io/app": "a"}, "annotations": annotations},
        "spec": {"schedulerName": "slackwater", "containers": [{"name": "c", "image": "x", "resources": needs}]},
    }


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Three nodes of 16 cores, Prometheus, our scheduler, and the extender as a process."""
    home = tmp_path_factory.mktemp("labs")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    parts = frozenset({"kwok", "slackwater-scheduler", "prometheus"})
    plan = Plan(parts=parts, nodes=3, shape=Shape(cpu="16", memory="64Gi"), extender=Extender(url), scrape="1s")
    if absent := [item.name for item in missing(plan.programs())]:
        pytest.skip(f"not built: {', '.join(absent)}; run: python -m slackwater_lab build")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(home))
        lab = Lab(open_site(f"extender-{os.getpid()}"), plan)
        try:
            lab.up()
            install(lab)
            with process(lab, port, home):
                until(lambda: httpx2.get(f"{url}/readyz").json()["status"] == "ready")
                made = Stage(lab, url)
                # Ready after the first sample; Prometheus, just started, has the other nodes' a moment later.
                until(lambda: not any(node["stale"] for node in made.get("/v1/nodes")["nodes"]))
                yield made
        finally:
            lab.down()


def install(lab: Lab) -> None:
    """Our kinds, a policy that enforces, a managed namespace."""
    with lab.api() as api:
        for kind in KINDS:
            api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(kind))
        policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": "default"}}
        path = "/apis/slackwater.io/v1alpha1/slackpolicies"
        until(lambda: api.find(path) is not None)
        api.create(path, {**policy, "spec": {"mode": "enforce", "estimation": {"heartbeatSeconds": 1}}})
        labels = {"slackwater.io/managed": "true"}
        api.create("/api/v1/namespaces", {"metadata": {"name": "batch", "labels": labels}})
        until(lambda: api.find("/api/v1/namespaces/batch/serviceaccounts/default") is not None)


class process:  # noqa: N801 - used as a verb
    """The extender as its users run it."""

    def __init__(self, lab: Lab, port: int, folder: Path) -> None:
        settings = ["--kubeconfig", str(lab.site.kubeconfig), "--server.port", str(port), "--prometheus.window", "10"]
        self.command = [sys.executable, "-m", "slackwater_extender.main", *settings]
        self.command += ["--prometheus.url", lab.site.url("prometheus")]
        self.log = folder / "extender.log"

    def __enter__(self) -> None:
        self.child = subprocess.Popen(self.command, stderr=self.log.open("w"))

    def __exit__(self, *_: object) -> None:
        self.child.terminate()
        self.child.wait(20)


@pytest.fixture(autouse=True)
def clean(stage: Stage) -> Iterator[None]:
    """Each test begins with an empty namespace."""
    yield
    stage.clear()


def test_pods_are_bound_within_the_declared_room_and_refusals_are_shown(stage: Stage) -> None:
    """16 cores hold one pod that declares 9 and uses 8: three are bound, the others are told why in one clause."""
    stage.create(*[task(f"p{index}", usage="8") for index in range(6)])
    until(lambda: len(stage.bound()) == 3)
    assert len(set(stage.bound().values())) == 3

    def told() -> bool:
        waiting = [pod for pod in stage.pods().values() if "nodeName" not in pod["spec"]]
        messages = [c.get("message", "") for pod in waiting for c in pod["status"].get("conditions", [])]
        return len(messages) == 3 and all(f"3 {CPU}" in message for message in messages)

    until(told)


def test_measured_slack_takes_more_and_refused_pods_are_woken(stage: Stage) -> None:
    """Six pods declare 54 of 48 cores and use three: refused ones are named as soon as there is room, and bound."""
    stage.create(*[task(f"p{index}") for index in range(6)])
    chosen: dict[str, str] = {}

    def helped() -> bool:
        """What the operator does: place and nominate whoever was woken and still waits."""
        waiting = {pod["metadata"]["uid"] for pod in stage.pods().values() if "nodeName" not in pod["spec"]}
        woken = {each["uid"] for each in stage.get("/v1/wakeups")["pods"]} & waiting
        if woken:
            answer = httpx2.post(f"{stage.url}/v1/place", json={"pods": [{"uid": uid} for uid in woken]}).json()
            nodes = {each["uid"]: each["node"] for each in answer["placed"]}
            nominate(stage, nodes)
            chosen.update(nodes)
        return not waiting

    until(helped)
    by_uid = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in stage.pods().values()}
    assert {uid: by_uid[uid] for uid in chosen} == chosen


def nominate(stage: Stage, nodes: dict[str, str]) -> None:
    """What the operator does with a placement."""
    with stage.lab.api() as api:
        for name, pod in stage.pods().items():
            if pod["metadata"]["uid"] in nodes and "nodeName" not in pod["spec"]:
                body = {"status": {"nominatedNodeName": nodes[pod["metadata"]["uid"]]}}
                api.patch(f"{PODS}/{name}/status", body, "application/merge-patch+json")


def test_a_refused_pod_does_not_loop(stage: Stage) -> None:
    """Constant reasons: a few questions about it in ten seconds, not hundreds."""
    stage.create(task("huge", cpu="15", declared="17"))
    until(lambda: stage.get("/v1/decisions?pod=huge")["decisions"])
    time.sleep(10)
    assert len(stage.get("/v1/decisions?pod=huge")["decisions"]) <= 6
    assert stage.bound() == {}


def test_a_burst_does_not_herd(stage: Stage) -> None:
    """60 pods at once, between two scrapes: no node is filled beyond its allowance by what they declare."""
    stage.create(*[task(f"p{index}", cpu="500m", declared="1") for index in range(60)])
    until(lambda: len(stage.bound()) >= 42)  # 3 × 14 is the allowance; declared requests let 48 in, measured slack more
    nodes = list(stage.bound().values())
    assert max(nodes.count(node) for node in set(nodes)) <= 32  # the native limit of 16 cores at half a core each
    for name in sorted(set(nodes)):
        line = stage.get(f"/v1/nodes/{name}")["resources"]["cpu"]
        assert line["room"] >= -1e-6


def test_whole_nodes_decode_in_go_too(stage: Stage) -> None:
    """NodeCacheCapable false: the scheduler takes our copies of its nodes and binds."""
    stage.lab.call_extender(Whole(stage.url))
    try:
        stage.create(task("whole"), task("nowhere", cpu="15", declared="17"))
        until(lambda: "whole" in stage.bound())
        until(lambda: stage.get("/v1/decisions?pod=nowhere&result=refused")["decisions"])
    finally:
        stage.lab.call_extender(Extender(stage.url))


def test_the_ledger_equals_the_cluster(stage: Stage) -> None:
    """After traffic, what is charged on each node is what runs there."""
    stage.create(*[task(f"p{index}", cpu="1", declared="2") for index in range(9)])
    until(lambda: len(stage.bound()) == 9)
    until(lambda: stage.get("/v1/capacity")["reservations"] == 0)
    for node in set(stage.bound().values()):
        held = {each["pod"] for each in stage.get(f"/v1/nodes/{node}")["pods"] if each["managed"]}
        assert held == {f"batch/{name}" for name, where in stage.bound().items() if where == node}
