"""Which Service of a cluster is its Prometheus."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.prometheus.discovery import ServerCredentials, ranked
from slackwater_cluster.prometheus.transport import QueryConnection, QuerySession


def service(name: str, *ports: tuple[str, int], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A Service as the API server lists it."""
    listed = [{"name": called, "port": number} if called else {"port": number} for called, number in ports]
    return {"metadata": {"name": name, "namespace": "mon", "labels": labels or {}}, "spec": {"ports": listed}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (service("prometheus-operated", ("http-web", 9090)), "prometheus-operated:http-web"),
        (service("prometheus-server", ("http", 80)), "prometheus-server:http"),
        (service("kps-prometheus", ("http-web", 9090), ("reloader-web", 8080)), "kps-prometheus:http-web"),
        (service("prometheus-k8s", ("web", 9091)), "prometheus-k8s:web"),
        (service("mine", ("", 9090), labels={"app.kubernetes.io/name": "prometheus"}), "mine:9090"),
        (service("prometheus-server", ("https", 443)), "https:prometheus-server:https"),
    ],
)
def test_what_charts_and_operators_install_is_found(body: dict[str, Any], path: str) -> None:
    """By name or label, with the port that answers PromQL."""
    (found,) = ranked([body])
    assert found.path == f"/api/v1/namespaces/mon/services/{path}/proxy"


def test_neighbours_of_that_name_are_left_out() -> None:
    """They answer something else."""
    names = ("prometheus-alertmanager", "prometheus-node-exporter", "prometheus-operator", "prometheus-pushgateway")
    assert ranked([service(name, ("http", 9090)) for name in names]) == []
    assert ranked([service("prometheus", ("grpc", 10901)), service("web", ("http", 80))]) == []


def test_the_one_that_sees_most_comes_first() -> None:
    """A query layer over several servers before one of them."""
    found = ranked([service("prometheus-server", ("http", 80)), service("thanos-query", ("http", 9090))])
    assert [each.name for each in found] == ["thanos-query", "prometheus-server"]


class Echo(BaseHTTPRequestHandler):
    """Answers with what it is asked for: a path, or the whole address where it is taken for a proxy."""

    def do_GET(self) -> None:
        """Any question."""
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is written."""


def test_one_behind_the_api_server_is_asked_as_directly_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it is found without the environment's proxy and asked through it; an address of one's own is."""
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, address)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        within = ServerCredentials(endpoint=Endpoint(address, tls=False, headers=dict))
        asked = {"within": QueryConnection(address, credentials=within), "given": QueryConnection("http://p.example")}
        seen = {}
        for name, connection in asked.items():
            session = QuerySession(connection)
            seen[name] = session.get("/api/v1/query", {}).decode()
            session.close()
        server.shutdown()
    assert seen == {"within": "/api/v1/query", "given": "http://p.example/api/v1/query"}
