"""A cluster in memory with a clock of its own: API server, extender, scheduler and kubelets, as far as we need.

The operator's real parts run on it: what they write changes records, and the watch tells the cache of each change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from slackwater.resources import Resources, total
from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import CustomRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_cluster.pods.nodefit import allows
from slackwater_cluster.timestamps import stamp
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.clients.extenderclient import DegradedMode
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.release import Releaser
from slackwater_operator.release.stallwatch import StallKeeper
from slackwater_operator.settings import Settings
from slackwater_operator.status.appstatus import AppStatus, account
from slackwater_operator.status.trackedapps import recall
from support.fakes.memoryapi import GIB
from support.fakes.memoryextender import MemoryExtender


def node(name: str, cpu: float = 8.0, memory: float = 32.0, **labels: str) -> NodeRecord:
    """A Ready node."""
    amounts = Resources(cpu=cpu, memory=memory * GIB)
    return NodeRecord(name=name, uid=f"node-{name}", labels=labels, capacity=amounts, allocatable=amounts, ready=True)


def owned(kind: str, name: str, uid: str = "", group: str = "", namespace: str = "team") -> OwnerRef:
    """A controlling owner."""
    return OwnerRef(kind, name, uid or f"{kind}-{name}", group, True, namespace)


@dataclass
class World(MemoryExtender):
    """Nodes, pods and time, with a scheduler that binds."""

    # -- the scheduler ----------------------------------------------------------------------------------------------

    def schedule(self) -> int:
        """Bind every pod that has neither gate nor mark: its nominated node first, then any; returns how many."""
        bound = 0
        for pod in sorted(self.pods.values(), key=lambda each: (-each.priority, each.created, each.name)):
            if pod.node or pod.gates or pod.parked or pod.done or pod.scheduler != names.SCHEDULER:
                continue
            chosen = next((n for n in self._candidates(pod) if pod.native.fits(self._native(n, pod))), None)
            if chosen is None:
                self.change(pod.uid, unscheduled="Unschedulable")
            else:
                self.change(pod.uid, node=chosen, nominated="", phase="Running", started=self.now, scheduled=self.now)
                bound += 1
        return bound

    def _candidates(self, pod: PodRecord) -> list[str]:
        first = pod.nominated or self.placed_on(
            pod
        )  # the scheduler tries it first, or the filter answers with it alone
        others = [name for name in sorted(self.nodes) if name != first]
        known = [self.nodes[name] for name in [first, *others] if name in self.nodes]
        return [each.name for each in known if each.open and allows(pod.constraints, each)]

    def _native(self, name: str, asking: PodRecord) -> Resources:
        """What scheduler and filter leave: bound pods, and pods that wait and are nominated or placed there."""
        seated = [
            pod.native
            for pod in self.pods.values()
            if pod.uid != asking.uid and not pod.done and name == (pod.node or pod.nominated or self.placed_on(pod))
        ]
        return self.nodes[name].allocatable - total(seated)

    def finish(self, *uids: str, phase: str = "Succeeded") -> None:
        """Pods end."""
        for uid in uids:
            self.change(uid, phase=phase, finished=self.now)

    # -- the operator -----------------------------------------------------------------------------------------------

    def operator(self, **settings: Any) -> Operator:
        """The operator's deciding and writing parts on this world."""
        return Operator(self, operator_settings(period=0.1, **settings))

    def restart(self, **settings: Any) -> Operator:
        """A new leader: it knows only what the API server shows, and what the TrackedApps say of gangs."""
        said = list(_gangs(self.cache))
        self.cache = fresh = OperatorCache(self.cache.governing)
        fresh.govern()
        fresh.set_nodes(list(self.nodes.values()))
        fresh.set_pods(list(self.pods.values()), self.now)
        fresh.views.refresh()
        recall(said, fresh)
        return self.operator(**settings)


@cache
def operator_settings(**wishes: Any) -> Settings:
    """Settings never change; to make them asks the environment about fifty fields, so each is made once."""
    return Settings(**wishes)


def _gangs(cache: OperatorCache) -> Iterator[CustomRecord]:
    """The TrackedApps of gangs that were whole once."""
    for each in cache.views.values():
        history = cache.views.histories.of(each.id)
        if each.gang and history.assembled and history.latest is not None:
            name, status = each.id.partition("/")[2], {"assembled": stamp(history.latest)}
            yield CustomRecord(name=name, namespace=each.namespace, spec={"app": name}, status=status)


class Operator:
    """Releaser, upkeep and stall keeper over a world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.metrics = Metrics()
        writer = PodWriter(cast("Session", world))
        self.releaser = Releaser(
            world.cache,
            world,
            writer,
            settings,
            self.metrics,
            DegradedMode(settings.grace, world.clock),
            world.clock,
        )
        self.upkeep = Nominations(self.releaser.writes)
        self.stalls = StallKeeper(world.cache, world.clock)
        self.run: Callable[[Coroutine[Any, Any, int]], int] = asyncio.run  # one loop for all steps is quicker

    def step(self, seconds: float = 1.0) -> int:
        """A round, upkeep, and then time passes; returns how many pods were released."""
        released = self.run(self._step())
        self.world.now += seconds
        return released

    async def _step(self) -> int:
        await self.upkeep.clear()
        released = await self.releaser.round()
        await self.releaser.writes.drain()
        await self.upkeep.run()
        return released

    def take_over(self) -> int:
        """Clear what a dead leader left."""
        return self.run(self.upkeep.clean())

    def said(self, app: str) -> AppStatus:
        """What is said about an app of namespace `team`."""
        self.world.cache.views.refresh()
        result = self.releaser.result
        assert result is not None
        each = self.world.cache.views[f"team/{app}"]
        verdict = result.round.verdicts.get(each.id)
        return account(each, verdict, self.world.cache, result, self.releaser.no_node.get(each.id, ""))


def enforcing(*nodes: NodeRecord) -> World:
    """A world with one managed namespace under a policy in force."""
    world = World()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(*nodes)
    return world
