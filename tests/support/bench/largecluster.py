"""A large cluster in one process for benchmarks: Spark-like pods of 4.6 kB, nodes, and a Prometheus that knows them.

    python largecluster.py NODES PODS_PER_NODE

prints its port. POST /control?events=600 sends that many pod changes a second; POST /control?gone=1 forces a new list.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator

import orjson
from aiohttp import web

NAMESPACE = "batch"
APPS = 500
MANAGED_FIELDS = [{"manager": "spark", "operation": "Update", "fieldsV1": {f"f:field{i}": {} for i in range(110)}}]


def pod(name: str = "%s", uid: str = "%s", node: str = "%s", app: str = "%s") -> dict[str, object]:
    """An executor as Spark makes it and the admission policy shrinks it."""
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid,
            "resourceVersion": "%d",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "spark-app-selector": app,
                "spark-role": "executor",
                "spark-exec-id": name,
                "spark-exec-resourceprofile-id": "0",
                "spark-app-name": "report",
            },
            "annotations": {
                "slackwater.io/declared-cpu": "1",
                "slackwater.io/declared-memory": "3Gi",
                "slackwater.io/admitted-role": "task",
                "slackwater.io/shrunk": "200/150",
            },
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": f"{app}-driver", "uid": f"driver-{app}", "controller": True}
            ],
            "managedFields": MANAGED_FIELDS,
        },
        "spec": {
            "nodeName": node,
            "schedulerName": "slackwater",
            "priority": 0,
            "containers": [
                {
                    "name": "executor",
                    "image": "spark:latest",
                    "args": ["executor", *[f"--conf spark.option.{i}=value-{i}" for i in range(12)]],
                    "env": [{"name": f"SPARK_ENV_{i}", "value": f"some value {i}"} for i in range(12)],
                    "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
                }
            ],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"},
            ],
            "containerStatuses": [{"name": "executor", "state": {"running": {"startedAt": "2026-01-01T00:00:08Z"}}}],
        },
    }


def node(name: str) -> dict[str, object]:
    """A node of 64 cores and 256 GiB."""
    offers = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "capacity": offers,
            "allocatable": offers,
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }


TEMPLATE = orjson.dumps(pod())


class Cluster:
    """Everything is made on demand from numbers, so that the server itself stays small."""

    def __init__(self, nodes: int, each: int) -> None:
        self.nodes, self.each, self.version = nodes, each, 1000
        self.changed: dict[int, int] = {}  # pod → version of its last change
        self.watches: list[asyncio.Queue[bytes]] = []
        self.rng = random.Random(1)
        self.stamp = 1_767_225_700.0
        self.task: asyncio.Task[None] | None = None

    def pod(self, index: int) -> bytes:
        """One pod's JSON."""
        app, name = b"app-%03d" % (index % APPS), b"executor-%06d" % index
        uid, where = b"uid-%06d" % index, b"node-%04d" % (index % self.nodes)
        return TEMPLATE % (name, uid, self.changed.get(index, 1000), app, name, app, app, where)

    def unbound(self, index: int) -> bytes:
        """A pod that waits for a node."""
        made = orjson.loads(TEMPLATE % (b"x", b"x", self.version, b"x", b"x", b"x", b"x", b""))
        made["metadata"] |= {"name": f"waiting-{index}", "uid": f"waiting-{index}", "ownerReferences": []}
        made["metadata"]["labels"]["spark-app-selector"] = f"app-{index % APPS:03d}"
        made["status"] = {"phase": "Pending"}
        return orjson.dumps(made)

    def listed(self, start: int, limit: int) -> bytes:
        """One chunk of the list of pods."""
        total = self.nodes * self.each
        stop = min(total, start + limit)
        token = b"%d" % stop if stop < total else b""
        head = b'{"metadata":{"resourceVersion":"%d","continue":"%s"},"items":[' % (self.version, token)
        return head + b",".join(self.pod(index) for index in range(start, stop)) + b"]}"

    async def pods(self, request: web.Request) -> web.StreamResponse:
        """List or watch."""
        if request.query.get("watch"):
            return await self._watch(request)
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 10**9)
        return web.Response(body=self.listed(start, limit), content_type="application/json")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        reply, queue = web.StreamResponse(), asyncio.Queue[bytes]()
        self.watches.append(queue)
        try:
            await reply.prepare(request)
            while True:
                await reply.write(await queue.get())
        except ConnectionError:
            return reply
        finally:
            self.watches.remove(queue)
        return reply

    async def events(self, rate: int) -> None:
        """Change random pods, so many a second."""
        pause = 0.05
        while True:
            await asyncio.sleep(pause)
            lines = []
            for _ in range(round(rate * pause)):
                self.version += 1
                index = self.rng.randrange(self.nodes * self.each)
                self.changed[index] = self.version
                lines.append(b'{"type":"MODIFIED","object":%s}\n' % self.pod(index))
            for queue in self.watches:
                queue.put_nowait(b"".join(lines))

    async def control(self, request: web.Request) -> web.Response:
        """Start or stop events, or end the watch with 410."""
        if "events" in request.query:
            if self.task is not None:
                self.task.cancel()
            rate = int(request.query["events"])
            self.task = asyncio.create_task(self.events(rate)) if rate else None
        for index in range(int(request.query.get("waiting", 0))):
            for queue in self.watches:
                queue.put_nowait(b'{"type":"ADDED","object":%s}\n' % self.unbound(index))
        if "gone" in request.query:
            line = b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n'
            for queue in self.watches:
                queue.put_nowait(line)
        return web.json_response({})

    async def query(self, request: web.Request) -> web.Response:
        """A Prometheus with one sample per question."""
        promql = str((await request.post())["query"])
        return web.Response(body=b"".join(self._vector(promql)), content_type="application/json")

    def _vector(self, promql: str) -> Iterator[bytes]:
        yield b'{"status":"success","data":{"resultType":"vector","result":['
        now = asyncio.get_running_loop().time() + self.stamp
        if "pod_" in promql:
            value = b"0.3" if "cpu" in promql else b"900000000"
            yield b",".join(
                b'{"metric":{"namespace":"batch","pod":"executor-%06d"},"value":[%d,"%s"]}' % (index, now, value)
                for index in range(self.nodes * self.each)
            )
        else:
            value = b"%d" % now if "timestamp" in promql else b"9.5" if "cpu" in promql else b"30000000000"
            yield b",".join(
                b'{"metric":{"node":"node-%04d","instance":"10.0.0.1:10250"},"value":[%d,"%s"]}' % (index, now, value)
                for index in range(self.nodes)
            )
        yield b"]}}"

    async def simple(self, request: web.Request) -> web.StreamResponse:
        """Nodes, namespaces, policies: listed once, watched in silence."""
        if request.query.get("watch"):
            reply = web.StreamResponse()
            await reply.prepare(request)
            await asyncio.sleep(3600)
            return reply
        name = request.path.rpartition("/")[2]
        namespace = {"metadata": {"name": NAMESPACE, "uid": "ns", "labels": {"slackwater.io/managed": "true"}}}
        items: dict[str, list[object]] = {
            "nodes": [node(f"node-{index:04d}") for index in range(self.nodes)],
            "namespaces": [namespace],
            "slackpolicies": [{"metadata": {"name": "default", "uid": "p"}, "spec": {"mode": "enforce"}}],
        }
        body = {"metadata": {"resourceVersion": "1"}, "items": items.get(name, [])}
        return web.Response(body=orjson.dumps(body), content_type="application/json")


async def serve(nodes: int, each: int) -> None:
    """Listen until killed."""
    cluster = Cluster(nodes, each)
    app = web.Application()
    app.router.add_get("/api/v1/pods", cluster.pods)
    app.router.add_post("/control", cluster.control)
    app.router.add_post("/prometheus/api/v1/query", cluster.query)
    app.router.add_get("/{tail:.*}", cluster.simple)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.sleep(10**6)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
