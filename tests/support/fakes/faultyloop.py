"""The whole loop on a cluster in memory that fails on purpose: pods are evicted and resized, and controllers act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slackwater.resources import CPU, MEMORY, Resources, total
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import CustomRecord, OwnerRef, PodRecord
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_operator.clients.extenderclient import NodeUse
from slackwater_operator.settings import Settings
from support.fakes.cluster import Operator, World, operator_settings
from support.fakes.faults import FaultyWorld
from support.fakes.loop import look_up, release_loop
from support.fakes.memoryapi import GIB, POD

GRACE = 2.0  # seconds that a pod takes to end once it is told to


class LoopOperator(Operator):
    """Every part of the loop: also stalls, use, Events and status."""

    def __init__(self, world: World, settings: Settings) -> None:
        super().__init__(world, settings)
        self.loop = release_loop(world, period=settings.period, steer_nodes=settings.steer_nodes)
        self.releaser, self.upkeep = self.loop.releaser, self.loop.upkeep

    async def _step(self) -> int:
        await look_up(self.loop)
        released = await self.loop.turn()
        await self.releaser.writes.drain()
        await self.loop.maintain()
        return released


@dataclass
class FaultyLoopWorld(FaultyWorld):
    """Pods that are evicted need their time to end, and their controllers replace them at once, as a Job does."""

    executors: Mapping[str, float] = field(default_factory=dict)  # CPU of the one task that a driver makes once it runs
    hungry: Mapping[str, float] = field(default_factory=dict)  # GiB that the first pod of an app comes to use
    evicted: list[str] = field(default_factory=list)  # apps and roles of pods that were evicted, in order
    resizes: Counter[str] = field(default_factory=Counter)  # patches of `resize` that were carried out, by pod

    def operator(self, **settings: Any) -> Operator:
        """The whole loop on this world."""
        return LoopOperator(self, operator_settings(period=0.1, **settings))

    def restart(self, **settings: Any) -> Operator:
        """A new leader, which also reads what the one before it wrote of apps."""
        operator = super().restart(**settings)
        assert isinstance(operator, LoopOperator)
        operator.loop.tracker.set(list(self._tracked()))
        operator.loop.tracker.restore(self.cache)
        return operator

    def _tracked(self) -> Iterator[CustomRecord]:
        for method, path, body in self.posted:
            if method == "POST" and path.endswith("/trackedapps"):
                name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
                status = self.statuses.get(f"{path}/{name}/status", {})
                yield CustomRecord(name=name, namespace=namespace, spec=body["spec"], status=status)

    # -- the API server ---------------------------------------------------------------------------------------------

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """Pods can be read with the one container they have."""
        self._alive()
        found = POD.match(path)
        pod = self.named(*found.groups()[:2]) if found else None
        if pod is None:
            return await super().get(path, params, seconds=seconds, most=most)
        requests = {CPU: f"{pod.native[CPU] * 1000:.0f}m", MEMORY: f"{pod.native[MEMORY]:.0f}"}
        main = {"name": "main", "resources": {"requests": requests}}
        meta = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
        return Answer(200, msgspec.json.encode({"metadata": meta, "spec": {"containers": [main]}}))

    def evict(self, pod: PodRecord) -> None:
        """It is told to end; who made it makes another one."""
        self.evicted.append(f"{pod.labels[names.APP]} {pod.labels[names.ROLE]}")
        if pod.deleted:
            return
        self.change(pod.uid, deleted=self.now)
        self.create(
            f"{pod.name}-again",
            cpu=pod.declared[CPU],
            memory=pod.declared[MEMORY] / GIB,
            app=pod.labels[names.APP],
            role=pod.labels[names.ROLE],
            owners=pod.owners,
        )

    def _patch(self, pod: PodRecord, part: str, body: Any) -> None:
        if part != "/resize":
            super()._patch(pod, part, body)
            return
        self.resizes[pod.name] += 1
        asked = body["spec"]["containers"][0]["resources"]["requests"]
        self.change(pod.uid, native=Resources({kind: parse_quantity(value) for kind, value in asked.items()}))

    # -- kubelets and the metrics of nodes ----------------------------------------------------------------------------

    def end_pods(self, seconds: float) -> None:
        """A driver ends after the tasks of its app, a task in its time, a pod of others when a test says so."""
        self._end_deleted()
        self._make_executors()
        busy = {pod.labels[names.APP] for pod in self.pods.values() if not pod.done and _task(pod)}
        for pod in [pod for pod in self.pods.values() if pod.scheduler == names.SCHEDULER]:
            ripe = self.now - pod.started >= seconds if _task(pod) else pod.labels[names.APP] not in busy
            if pod.node and not pod.done and not pod.deleted and ripe:
                self.finish(pod.uid)
        self._measure()

    def _end_deleted(self) -> None:
        """What was told to end is gone after its grace, and what it owned with it."""
        gone = {pod.uid for pod in self.pods.values() if pod.deleted and self.now - pod.deleted >= GRACE}
        owned = [pod for pod in self.pods.values() if gone & {pod.uid, *(owner.uid for owner in pod.owners)}]
        self.delete(*owned)

    def _make_executors(self) -> None:
        have = {owner.uid for pod in self.pods.values() for owner in pod.owners}
        for pod in list(self.pods.values()):
            app = pod.labels[names.APP]
            if app in self.executors and not _task(pod) and pod.node and not pod.deleted and pod.uid not in have:
                owner = OwnerRef("Pod", pod.name, pod.uid, "", True, pod.namespace)
                self.create(f"{pod.name}-exec", cpu=self.executors[app], app=app, owners=[owner])

    def _measure(self) -> None:
        """Each node was measured a moment ago, and each pod that runs."""
        here = [pod for pod in self.pods.values() if pod.node and not pod.done]
        self.uses = {pod.uid: Resources({CPU: pod.declared[CPU], MEMORY: self._memory(pod)}) for pod in here}
        self.samples = {
            name: NodeUse(total(self.uses[pod.uid] for pod in here if pod.node == name), self.now - 0.5, False)
            for name in self.nodes
        }

    def _memory(self, pod: PodRecord) -> float:
        """What a pod uses: what it declared, but for the first one of a hungry app."""
        first = not pod.name.endswith("-again")
        return GIB * self.hungry.get(pod.labels[names.APP], 0.0) if first and self.hungry else pod.declared[MEMORY]


def _task(pod: PodRecord) -> bool:
    return pod.labels[names.ROLE] == names.TASK
