"""Commands and dashboard on a real API server: extender and Prometheus behind its service proxy, and at an address.

The extender listens with TLS on the lab's own bridge, an address that only this machine has: API servers refuse to
pass requests on to loopback. A pod with that address stands for it, so that the chart's Service finds it.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner, Result

from slackwater.errors import Unavailable
from slackwater_cli.main import app
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_cluster.api.endpoint import endpoint
from slackwater_lab.controlplane import certificates, services
from slackwater_lab.controlplane.access import write_kubeconfig
from slackwater_lab.controlplane.prometheus import prometheus
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import network
from slackwater_lab.nodes.simulated import Shape, names
from slackwater_lab.plan import Plan
from slackwater_lab.processes.waiting import until
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.web.app import dashboard
from support.lab.pods import task
from support.lab.running import running

pytestmark = pytest.mark.lab
SYSTEM = "/api/v1/namespaces/slackwater-system"
VALUES = ("monitor.enabled=true", "prometheus.url=http://prometheus.invalid")
PORT = 8480  # the one the chart's Service aims at
LABELS = {"name": "slackwater", "instance": "slackwater", "component": "extender"}


@dataclass(frozen=True)
class Place:
    """A lab, and the address of the extender in it."""

    lab: Lab
    address: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A control plane with the chart, three nodes, and an extender with TLS behind the chart's Service."""
    plan = Plan(
        parts=frozenset({"kwok", "scheduler", "state-metrics", "chart"}),
        nodes=3,
        shape=Shape(cpu="4", memory="8Gi"),
        values=VALUES,
    )
    if os.geteuid() != 0:
        pytest.skip("only root can give this machine an address beside loopback")
    with running(plan, tmp_path_factory.mktemp("labs")) as lab:
        bridge = network.of(lab.site.ports)
        network.create(bridge)
        try:
            made = Place(lab, bridge.gateway)
            _extender(made)
            yield made
        finally:
            network.remove(bridge)


def _extender(place: Place) -> None:
    """Start it with a certificate of the lab's authority, and stand a pod in for it."""
    site = place.lab.site
    certificates.serving(site.certificates, "extender", f"IP:{place.address}")
    settings = {
        "KUBECONFIG": str(site.kubeconfig),
        "SERVER__HOST": place.address,
        "SERVER__PORT": str(PORT),
        "TLS__CERTIFICATE": str(site.certificates / "extender.crt"),
        "TLS__KEY": str(site.certificates / "extender.key"),
    }
    environment = {f"SLACKWATER_EXTENDER_{name}": value for name, value in settings.items()}
    place.lab.processes.start("extender-tls", services.command("extender"), environment)
    until("the extender answers", lambda: _answers(place), 60.0)
    with place.lab.api() as api:
        _pod(api, place, "slackwater-extender-0", LABELS, {"name": "https", "containerPort": PORT})
        endpoints = f"{SYSTEM}/endpoints/slackwater-extender"
        until("the Service has an address", lambda: place.address in json.dumps(api.find(endpoints)), 30.0)


def _answers(place: Place) -> bool:
    trusted = ssl.create_default_context(cafile=str(place.lab.site.certificates / "ca.crt"))
    try:
        return httpx2.get(f"https://{place.address}:{PORT}/readyz", verify=trusted, timeout=2.0).is_success
    except httpx2.TransportError:
        return False


def _pod(
    api: ApiClient, place: Place, name: str, labels: dict[str, str], port: dict[str, Any], home: str = SYSTEM
) -> None:
    """On a simulated node, so that it has one; the node is told to wait with it, so that it leaves the status alone."""
    body = task(name, {"slackwater.io/lab-start-delay": "3600"}, nodeName=names(1)[0])
    body["metadata"]["labels"] = {f"app.kubernetes.io/{key}": value for key, value in labels.items()}
    body["spec"]["containers"][0]["ports"] = [port]
    until("the namespace has its account", lambda: api.find(f"{home}/serviceaccounts/default") is not None, 30.0)
    api.create(f"{home}/pods", body)
    ready = {"type": "Ready", "status": "True"}
    status = {"phase": "Running", "podIP": place.address, "podIPs": [{"ip": place.address}], "conditions": [ready]}
    api.patch(f"{home}/pods/{name}/status", {"status": status}, STRATEGIC)


@pytest.fixture
def run(place: Place) -> Callable[..., Result]:
    """Run a command with nothing but a kubeconfig; its exceptions are raised."""
    return lambda *arguments, config=place.lab.site.kubeconfig: CliRunner().invoke(
        app,
        list(arguments),
        env={"KUBECONFIG": str(config), "SLACKWATER_EXTENDER_URL": "", "COLUMNS": "200"},
        catch_exceptions=False,
    )


def test_the_ledger_is_read_through_the_api_server(run: Callable[..., Result]) -> None:
    """No port-forward, no address: the current context is enough."""
    seen = json.loads(run("top", "-o", "json").stdout)
    assert seen["problems"] == []
    assert len(seen["nodes"]) == 3
    assert all(node["allowed"]["cpu"] == pytest.approx(4.0) for node in seen["nodes"])


def test_a_pod_is_explained_through_the_api_server(place: Place, run: Callable[..., Result]) -> None:
    """One that waits (nobody schedules it) with exit code 3, one that runs with 0 and the arithmetic of its node."""
    team = "/api/v1/namespaces/team"
    with place.lab.api() as api:
        api.create("/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"slackwater.io/managed": "true"}}})
        until("the namespace has its account", lambda: api.find(f"{team}/serviceaccounts/default") is not None, 30.0)
        api.create(f"{team}/pods", task("waits", scheduler="slackwater", cpu="1"))
        api.create(f"{team}/pods", task("runs", cpu="1", nodeName=names(1)[0]))
        until("the extender knows them", lambda: _known(run, "team/waits") and _known(run, "team/runs"), 20.0)
    waits = run("explain", "team/waits")
    assert waits.exit_code == 3
    assert "3 of the 3 it can use would serve it" in waits.stdout
    runs = run("explain", "team/runs")
    assert runs.exit_code == 0
    assert "= min(allowed 4, real 4)" in runs.stdout


def _known(run: Callable[..., Result], pod: str) -> bool:
    return "does not know" not in run("explain", pod).stdout


def test_check_finds_the_extender(run: Callable[..., Result]) -> None:
    """The operator is not there and is told; the extender answers through the service proxy."""
    found = {each["part"]: each for each in json.loads(run("check", "-o", "json").stdout)}
    assert found["extender"]["mark"] in ("ok", "warning"), found["extender"]
    assert found["operator"]["mark"] == "failed"


def test_who_may_not_use_the_proxy_is_told_which_right_is_missing(
    place: Place, run: Callable[..., Result], tmp_path: Path
) -> None:
    """An account without any role: a sentence of the API server, and what to ask for."""
    with place.lab.api() as api:
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        token = api.create(
            f"{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
    assert token is not None
    write_kubeconfig(place.lab.site, tmp_path / "nobody", token["status"]["token"])
    seen = json.loads(run("top", "-o", "json", config=tmp_path / "nobody").stdout)
    assert any("services/proxy" in problem for problem in seen["problems"])


def test_the_dashboard_needs_no_more_than_its_own_account(place: Place) -> None:
    """The chart's role for the monitor is enough for every page, and for nothing else."""
    with place.lab.api() as api:
        config = services.kubeconfig(place.lab.site, "monitor", api)
    assert config != place.lab.site.kubeconfig
    server = ApiClient(endpoint(config))
    pages = dashboard(Live(server, ExtenderClient(server)), Settings()).test_client()
    for path in ("/", "/nodes", "/queue", "/pools", "/apps"):
        text = pages.get(path).text
        assert "What could not be read" not in text, path
    assert names(1)[0] in pages.get("/nodes").text
    with pytest.raises(Unavailable):
        server.get("/api/v1/secrets")
    with pytest.raises(Unavailable):
        server.post("/api/v1/namespaces/default/pods", task("forbidden"))


def test_an_address_with_its_authority_serves_as_well(place: Place, run: Callable[..., Result]) -> None:
    """--extender with --extender-ca; without it the certificate is not believed, and the remedy is named."""
    address = f"https://{place.address}:{PORT}"
    known = ("--extender", address, "--extender-ca", str(place.lab.site.certificates / "ca.crt"))
    assert json.loads(run("top", "-o", "json", *known).stdout)["problems"] == []
    strange = json.loads(run("top", "-o", "json", "--extender", address).stdout)
    assert any("give its authority with --extender-ca" in problem for problem in strange["problems"])


def test_assess_finds_the_prometheus_of_the_cluster_by_itself(
    place: Place, run: Callable[..., Result], tmp_path: Path
) -> None:
    """A real Prometheus behind a Service, asked through the API server with nothing but a kubeconfig."""
    shop, use = "/api/v1/namespaces/shop", {"kwok.x-k8s.io/usage-cpu": "100m", "kwok.x-k8s.io/usage-memory": "32Mi"}
    with place.lab.api() as api:
        api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        until("the namespace has its account", lambda: api.find(f"{shop}/serviceaccounts/default") is not None, 30.0)
        api.create(f"{shop}/pods", task("web", use, cpu="1", nodeName=names(1)[0]))
        _prometheus(place, api)
    asked = ("assess", "--since", "2m", "--cache", str(tmp_path), "-o", "json", "--rate", "1000")

    def measured() -> bool:
        try:
            found = run(*asked, "--until", datetime.now(UTC).isoformat())
        except Unavailable as problem:
            assert "has no samples of container use" in str(problem)  # noqa: PT017 - it answers, and has yet to scrape
            return False
        assert "asking Service monitoring/prometheus-server through the API server" in found.stderr
        return "shop" in [each["namespace"] for each in json.loads(found.stdout)["levels"]["namespace"]]

    until("the service was measured", measured, 90.0)


def _prometheus(place: Place, api: ApiClient) -> None:
    """On the bridge, where the API server may pass requests on to; a pod stands for it behind a Service."""
    own = {"--web.listen-address": f"{place.address}:9090", "--storage.tsdb.path": str(place.lab.site.folder / "found")}
    words = (word.partition("=") for word in prometheus(place.lab.site, "2s"))
    command = [f"{name}{sign}{own.get(name, value)}" for name, sign, value in words]
    place.lab.processes.start("prometheus-found", command, {})
    monitoring, labels = "/api/v1/namespaces/monitoring", {"name": "prometheus"}
    api.create("/api/v1/namespaces", {"metadata": {"name": "monitoring"}})
    selector = {"app.kubernetes.io/name": "prometheus"}
    spec = {"selector": selector, "ports": [{"name": "http", "port": 80, "targetPort": 9090}]}
    api.create(f"{monitoring}/services", {"metadata": {"name": "prometheus-server"}, "spec": spec})
    _pod(api, place, "prometheus-0", labels, {"name": "web", "containerPort": 9090}, monitoring)
    until("Prometheus is ready", lambda: _answer(f"http://{place.address}:9090/-/ready") == 200, 60.0)
    path = f"{api.endpoint.url}{monitoring}/services/prometheus-server:http/proxy/-/ready"
    until("it answers through the API server", lambda: _answer(path, api) == 200, 20.0)


def _answer(address: str, api: ApiClient | None = None) -> int:
    """The status code; 0 where nobody listens."""
    headers, tls = (api.endpoint.headers(), api.endpoint.tls) if api else ({}, True)
    try:
        return httpx2.get(address, timeout=5.0, headers=headers, verify=tls).status_code
    except httpx2.TransportError:
        return 0
