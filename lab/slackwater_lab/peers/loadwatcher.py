"""The protocol of Trimaran's load-watcher over a Prometheus: mean and deviation of each node's CPU and memory, in %.

python -m slackwater_lab.peers.loadwatcher PROMETHEUS PORT
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

from slackwater_lab.league.workloads import CORES, NODE_MEMORY

WINDOW = 10  # seconds
_CPU = "rate(node_cpu_usage_seconds_total[10s])"
QUERIES = {  # kind and operator, and how it is asked for
    ("CPU", "AVG"): f"100 * sum by (node) ({_CPU}) / {CORES}",
    ("CPU", "STD"): f"100 * stddev_over_time((sum by (node) ({_CPU}))[30s:2s]) / {CORES}",
    ("Memory", "AVG"): f"100 * sum by (node) (node_memory_working_set_bytes) / {NODE_MEMORY}",
    (
        "Memory",
        "STD",
    ): f"100 * stddev_over_time((sum by (node) (node_memory_working_set_bytes))[30s:2s]) / {NODE_MEMORY}",
}


def answer(values: Mapping[tuple[str, str], Mapping[str, float]], now: int) -> dict[str, Any]:
    """What the load-watcher would say: by node, each value with its kind and operator."""
    nodes: dict[str, Any] = {}
    for (kind, operator), of_node in values.items():
        for node, value in of_node.items():
            metric = {"name": kind, "type": kind, "operator": operator, "rollup": f"{WINDOW}s", "value": value}
            nodes.setdefault(node, {"metrics": [], "tags": {}, "metadata": {}})["metrics"].append(metric)
    return {
        "timestamp": now,
        "window": {"duration": f"{WINDOW}s", "start": now - WINDOW, "end": now},
        "source": "Prometheus",
        "data": {"NodeMetricsMap": nodes},
    }


def measured(prometheus: str) -> dict[tuple[str, str], dict[str, float]]:
    """Every query's value by node."""
    return {key: _asked(prometheus, query) for key, query in QUERIES.items()}


def _asked(prometheus: str, query: str) -> dict[str, float]:
    found = httpx2.get(f"{prometheus}/api/v1/query", params={"query": query}, timeout=10).json()
    return {series["metric"]["node"]: float(series["value"][1]) for series in found["data"]["result"]}


def server(prometheus: str, port: int) -> ThreadingHTTPServer:
    """A server on this machine that answers every path alike."""

    class Watcher(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer(measured(prometheus), int(time.time()))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
            del format, args  # nobody reads who asked

    return ThreadingHTTPServer(("127.0.0.1", port), Watcher)


if __name__ == "__main__":
    server(sys.argv[1], int(sys.argv[2])).serve_forever()
