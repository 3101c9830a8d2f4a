"""A stand-in for the Prometheus of a large cluster: `python hugeness.py PODS` serves a week of so many pods.

Every pod has the same numbers, so that making an answer costs next to nothing and all effort is the reader's.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

GIBI = 1024**3
METRICS = (
    "container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "kube_pod_container_resource_requests",
    "kube_pod_info", "kube_pod_owner", "kube_node_status_allocatable",
)  # fmt: skip


def values(query: str, start: float, end: float, step: float) -> str:
    """One value per window: a counter that grows by half a core, or a wave of memory."""
    moments = range(int(start), int(end) + 1, int(step))
    if "count_over_time" in query:
        return json.dumps([[at, str(int(step) // 30)] for at in moments])
    if "container_cpu" in query:
        behind = step - 30 if "min_over_time" in query else 0
        return json.dumps([[at, f"{(at - behind) * 0.5:.1f}"] for at in moments])
    factor = step / 30 if "sum_over_time" in query else 1
    return json.dumps([[at, f"{factor * (1 + at // 300 % 7) * GIBI / 4:.0f}"] for at in moments])


def labels(query: str, pods: int) -> list[dict[str, str]]:
    """The series of a metric."""
    if "allocatable" in query:
        return [{"node": f"n{n}", "resource": kind} for n in range(max(pods // 20, 1)) for kind in ("cpu", "memory")]
    if "kube_pod_info" in query:
        return [
            {"namespace": f"ns-{p % 50}", "pod": f"pod-{p}", "node": f"n{p % max(pods // 20, 1)}", "uid": f"u{p}"}
            for p in range(pods)
        ]
    if "kube_pod_owner" in query:
        return [
            {"namespace": f"ns-{p % 50}", "pod": f"pod-{p}", "owner_kind": "ReplicaSet", "owner_name": f"rs-{p // 10}"}
            for p in range(pods)
        ]
    kinds = ("cpu", "memory") if "resource_requests" in query else ("",)
    return [
        {"namespace": f"ns-{p % 50}", "pod": f"pod-{p}", "container": "main"} | ({"resource": kind} if kind else {})
        for p in range(pods)
        for kind in kinds
    ]


class Handler(BaseHTTPRequestHandler):
    """Answers the three questions of the API."""

    pods = 5000
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """One question."""
        path = urlsplit(self.path)
        asked = {name: found[0] for name, found in parse_qs(path.query).items()}
        if path.path.endswith("/values"):
            self.say(json.dumps({"status": "success", "data": METRICS}))
        elif path.path.endswith("query_range"):
            course = values(asked["query"], *(float(asked[name]) for name in ("start", "end", "step")))
            self.vector(asked["query"], f'"values":{course}')
        elif asked["query"].startswith("count("):
            series = [{"metric": {}, "value": [0, str(self.pods)]}]
            self.say(json.dumps({"status": "success", "data": {"result": series}}))
        else:
            self.vector(asked["query"])

    def vector(self, query: str, course: str = "") -> None:
        """The same course for every series, or one value: what is asked for, or 1."""
        found = labels(query, 1 if query.startswith("topk") else self.pods)
        sizes = {"cpu": "4", "memory": str(8 * GIBI)}
        series = ",".join(
            f'{{"metric":{json.dumps(each)},'
            + (course or f'"value":[0,"{sizes.get(each.get("resource", ""), "1")}"]')
            + "}"
            for each in found
        )
        self.say(f'{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}')

    def say(self, text: str) -> None:
        """Send it."""
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    Handler.pods = int(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
