"""Prometheus: scrapes the nodes as a production cluster names them, and the programs of the lab."""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from slackwater.errors import InvalidInput
from slackwater_lab.programs.build import installed
from slackwater_lab.site import Site

NODE_PATH = "/metrics/nodes/([^/]+)(/metrics/.+)"  # how kwok serves the metrics of a node
REAL_NODES = "kubelets.json"
# cAdvisor repeats what the resource metrics say already; a sum over both would count every pod twice.
WANTED = {
    "resource": ".*",
    "cadvisor": "machine_.*|container_(cpu_cfs_.*|oom_events_total|memory_rss|spec_.*|start_time_seconds)",
}


def prometheus(site: Site, scrape: str) -> list[str]:
    """Its command line; two hours of samples are plenty for any test."""
    config = site.write("prometheus.yaml", yaml.safe_dump(configuration(site, scrape), sort_keys=False))
    return [
        installed("prometheus", "prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={site.folder / 'prometheus'}",
        "--storage.tsdb.retention.time=2h",
        f"--web.listen-address=127.0.0.1:{site.ports['prometheus']}",
        "--web.enable-lifecycle",
        "--log.level=warn",
    ]


def seconds(duration: str) -> float:
    """A duration as Prometheus writes it (2s, 500ms, 1m), in seconds."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    found = re.fullmatch(r"(\d+)(ms|s|m|h)", duration)
    if found is None:
        raise InvalidInput("scrape", f"{duration!r} is not a duration", "write a number and ms, s, m or h, such as 15s")
    return int(found[1]) * units[found[2]]


def configuration(site: Site, scrape: str) -> dict[str, Any]:
    """The scrape configuration. Simulated and real kubelets share the job name `kubelet`, as the usual stack does."""
    return {
        "global": {"scrape_interval": scrape, "scrape_timeout": scrape},
        "scrape_configs": [
            simulated("kubelet", site.url("kwok")),
            *(_real(site, path) for path in WANTED),
            *(_program(site, name, port) for name, port in _PROGRAMS.items()),
        ],
    }


_PROGRAMS = {
    "kube-state-metrics": "state-metrics",
    "slackwater-extender": "extender",
    "slackwater-operator": "operator",
}


def simulated(job: str, kwok: str) -> dict[str, Any]:
    """The scrape job of all nodes that the kwok at this address simulates."""
    discovery = {"url": f"{kwok}/discovery/prometheus", "refresh_interval": "5s"}
    source = {"source_labels": ["__metrics_path__"], "regex": NODE_PATH}
    return {
        "job_name": job,
        "http_sd_configs": [discovery],
        "relabel_configs": [
            {**source, "target_label": "node", "replacement": "$1"},
            {**source, "target_label": "instance", "replacement": "$1"},
            {**source, "target_label": "metrics_path", "replacement": "$2"},
            {"regex": "metrics_name", "action": "labeldrop"},
        ],
    }


def tell_real_nodes(site: Site, kubelets: Mapping[str, str]) -> None:
    """Write down the address of each real kubelet; Prometheus notices the change by itself."""
    targets = [{"targets": [address], "labels": {"node": name}} for name, address in kubelets.items()]
    site.write(REAL_NODES, json.dumps(targets))


def _real(site: Site, path: str) -> dict[str, Any]:
    relabel = [
        {"source_labels": ["node"], "target_label": "instance"},
        {"target_label": "job", "replacement": "kubelet"},
        {"source_labels": ["__metrics_path__"], "target_label": "metrics_path"},
    ]
    return {
        "job_name": f"kubelet-{path}",
        "scheme": "https",
        "metrics_path": f"/metrics/{path}",
        "tls_config": {"insecure_skip_verify": True},  # a kubelet signs its own certificate
        "file_sd_configs": [{"files": [str(site.folder / "config" / REAL_NODES)]}],
        "relabel_configs": relabel,
        "metric_relabel_configs": [{"source_labels": ["__name__"], "regex": WANTED[path], "action": "keep"}],
    }


def _program(site: Site, name: str, port: str) -> dict[str, Any]:
    return {
        "job_name": name,
        "honor_labels": True,  # kube-state-metrics speaks of pods and nodes other than itself
        "static_configs": [{"targets": [f"127.0.0.1:{site.ports[port]}"]}],
    }
