"""The extender of a cluster in memory: best fit by declared sums, and what a test says of use and wakeups."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from slackwater.nodetable import NodeTable
from slackwater.resources import NOTHING, Resources, total
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import allows
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.clients.extenderclient import NodeUse, Placement, PlacementWish, Reservation, Usage, asked
from support.fakes.memoryapi import MemoryApi


class PlaceCall(NamedTuple):
    """One request for nodes."""

    wishes: list[PlacementWish]
    cold: bool
    alpha: float


@dataclass
class MemoryExtender(MemoryApi):
    """Places pods, and counts what it was told of."""

    freed_room: int = 0  # how often room came free
    woken: list[str] = field(default_factory=list)  # refused pods that have room now
    reserved: dict[str, Reservation] = field(default_factory=dict)  # pods the extender was told of without a node
    place_calls: list[PlaceCall] = field(default_factory=list)  # what the operator asked the extender to place
    entered: dict[str, str] = field(default_factory=dict)  # the extender's ledger: pods placed and not bound yet
    uses: dict[str, Resources] = field(default_factory=dict)  # by uid
    samples: dict[str, NodeUse] = field(default_factory=dict)  # by node
    instance: str = "first"  # of the extender

    def left(self, name: str, without: Collection[str] = ()) -> Resources:
        """What a node has left by declared sums; placed and nominated pods count, but for some that are asked about."""
        seated = [
            pod
            for pod in self.pods.values()
            if not pod.done and name == (pod.node or (pod.uid not in without and self._meant_for(pod)))
        ]
        return self.nodes[name].allocatable - total(pod.declared for pod in seated)

    def _meant_for(self, pod: PodRecord) -> str:
        return pod.nominated or self.placed_on(pod)

    def placed_on(self, pod: PodRecord) -> str:
        """The node that a pod was placed on and not bound to yet."""
        return "" if pod.parked else self.entered.get(pod.uid, "")

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Best fit by declared sums."""
        self.place_calls.append(PlaceCall(list(wishes), cold, alpha))
        body = asked(wishes)  # as the real one reads it
        nodes = {each.uid: body.selections[each.selection] for each in body.pods if each.selection}
        wishes = sorted(wishes, key=lambda wish: wish.rank)
        for wish in wishes:
            self.entered.pop(wish.uid, None)
        asked_about = {wish.uid for wish in wishes}
        room = {name: self.left(name, asked_about) for name, each in self.nodes.items() if each.open}
        placed: dict[str, str] = {}
        refused: dict[str, str] = {}
        for wish in wishes:
            pod = self.pods.get(wish.uid)
            allowed = [n for n in room if n not in wish.avoid and n in nodes.get(wish.uid, (n,))]
            fitting = [
                n for n in allowed if pod and pod.declared.fits(room[n]) and allows(pod.constraints, self.nodes[n])
            ]
            if pod is None or pod.node or not fitting:
                known = pod is not None and not pod.node
                refused[wish.uid] = "slackwater: measured room too small" if known else names.UNKNOWN_POD
                continue
            best = min(fitting, key=lambda name: (room[name]["cpu"], name))
            room[best] = room[best] - pod.declared
            placed[wish.uid] = self.entered[wish.uid] = best
        return Placement(placed, refused)

    async def reserve(self, pods: Sequence[Reservation]) -> None:
        """Count pods released without a node."""
        self.reserved |= {pod.uid: pod for pod in pods}

    async def unreserve(self, uids: Sequence[str]) -> None:
        """Forget placements and reservations."""
        for uid in uids:
            self.entered.pop(uid, None)
            self.reserved.pop(uid, None)

    async def rooms(self) -> Rooms:
        """The room of every node, by declared sums; kube-scheduler sees nominated pods only."""
        names_ = tuple(self.nodes)
        kinds = ("cpu", "memory")
        left = np.array([self.left(name).vector(kinds) for name in names_]).reshape(len(names_), 2)
        total_ = np.array([self.nodes[name].allocatable.vector(kinds) for name in names_]).reshape(len(names_), 2)
        takes = np.array([self.nodes[name].open for name in names_], np.bool_)
        index = {name: row for row, name in enumerate(names_)}
        table = NodeTable(kinds, names_, index, total_, left, left, takes, left)
        return Rooms(table, (1.0, 1.0), self._unplaced(), self.instance)

    def replace_extender(self) -> None:
        """Another one answers from now on: it knows of placements what pods show, and no more."""
        self.instance = f"after {self.instance}"
        self.entered.clear()
        self.reserved.clear()

    def _unplaced(self) -> dict[str, Resources]:
        """What is reserved without a node, by namespace, until it is bound; the watch shows who is on its way."""
        sums: dict[str, Resources] = {}
        for uid, pod in self.pods.items():
            each = self.reserved.get(uid)
            if pod.node or pod.done or pod.parked or pod.nominated or uid in self.entered or (each and each.growth):
                continue
            if each is not None or (not pod.gates and pod.scheduler == names.SCHEDULER):
                sums[pod.namespace] = sums.get(pod.namespace, NOTHING) + pod.declared
        return sums

    async def wakeups(self, after: int) -> tuple[int, Sequence[str]]:
        """What a test says, once."""
        woken, self.woken = self.woken, []
        return after, woken

    async def freed(self, after: int) -> int:
        """How often room came free, once that is another number."""
        for _ in range(200):
            if self.freed_room != after:
                break
            await asyncio.sleep(0.01)
        return self.freed_room

    async def usage(self, *, nodes: bool = False) -> Usage:
        """What pods and nodes use, as a test says."""
        return Usage(self.uses, self.samples if nodes else {})
