"""Finding the Prometheus of a cluster: its Services are looked through, and it is asked through the API server's proxy.

Whoever may read Services and use `services/proxy` needs no address and no port-forward.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.paths import api_path

# What charts and operators call the Service that answers PromQL, the one that sees most first.
NAMES = ("thanos-query", "prometheus-operated", "prometheus-k8s", "prometheus-server", "prometheus", "vmsingle")
# Neighbours whose names contain the word, and which answer something else.
OTHERS = ("alertmanager", "operator", "exporter", "pushgateway", "adapter", "state-metrics", "grafana", "blackbox")
PORTS = ("http-web", "web", "http-query", "http", "https", 9090, 9091, 10902, 8428, 80)
NONE_FOUND = (
    "no Service of this cluster looks like Prometheus (names tried: {names}); add --prometheus http://HOST:PORT"
)


@dataclass(frozen=True, slots=True)
class PrometheusService:
    """A Service that looks like Prometheus."""

    namespace: str
    name: str
    port: str
    tls: bool = False

    @property
    def path(self) -> str:
        """Its path behind the API server."""
        scheme = "https:" if self.tls else ""
        name = f"{scheme}{self.name}:{self.port}"
        return api_path("services", name, namespace=self.namespace, subresource="proxy")


@dataclass(frozen=True, slots=True)
class ServerCredentials(Credentials):
    """What proves us to the API server, which passes the question on."""

    endpoint: Endpoint | None = field(default=None, repr=False)

    def headers(self) -> dict[str, str]:
        """The API server's own."""
        return dict(self.endpoint.proof()) if self.endpoint else {}

    def tls(self) -> ssl.SSLContext | bool:
        """What its certificate is judged by."""
        return self.endpoint.tls if self.endpoint else True

    @property
    def proxy(self) -> str | None:
        """Through which the API server is reached."""
        return self.endpoint.proxy if self.endpoint else None

    @property
    def proxy_of_environment(self) -> bool:
        """Never: the API server is asked for everything else without it, too."""
        return False


def discover(api: ApiClient) -> PrometheusService:
    """The Service to ask; an error that says what was looked for where there is none."""
    found = ranked(api.items(api_path("services")))
    if not found:
        raise Unavailable(NONE_FOUND.format(names=", ".join(NAMES)))
    return found[0]


def ranked(bodies: Iterable[Mapping[str, Any]]) -> list[PrometheusService]:
    """Services that look like Prometheus, the likeliest first."""
    made = [(rank, service) for body in bodies if (rank := _rank(body)) is not None and (service := _service(body))]
    return [service for _, service in sorted(made, key=lambda each: (each[0], each[1].namespace, each[1].name))]


def _rank(body: Mapping[str, Any]) -> int | None:
    meta = body["metadata"]
    name = str(meta["name"])
    if any(other in name for other in OTHERS):
        return None
    labels = meta.get("labels") or {}
    said = (name, str(labels.get("app.kubernetes.io/name", "")), str(labels.get("app", "")))
    return next((rank for rank, known in enumerate(NAMES) if any(known in each for each in said)), None)


def _service(body: Mapping[str, Any]) -> PrometheusService | None:
    meta, ports = body["metadata"], (body.get("spec") or {}).get("ports") or ()
    for wanted in PORTS:
        for port in ports:
            if wanted in (port.get("name"), port.get("port")):
                tls = port.get("name") == "https" or port.get("appProtocol") == "https"
                return PrometheusService(meta["namespace"], meta["name"], str(port.get("name") or port["port"]), tls)
    return None
