"""A cluster of two tenants, of whom one has pods that nobody can help."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from slackwater_cluster.api.session import Answer
from slackwater_operator.cache.podstate import UNSCHEDULABLE
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.cluster import Operator, World, node

BROKEN = "broken"  # the namespace whose pods nobody can help


@dataclass
class TwoTenants(World):
    """Writes to pods of one namespace fail, or the scheduler never binds them."""

    status: int = 0  # what the API server answers to writes there; 0: it does as it is told
    refused: list[str] = field(default_factory=list)

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """As the world does, but for the pods of one namespace."""
        if self.status and f"/namespaces/{BROKEN}/" in path:
            self.refused.append(path)
            return Answer(self.status, b'{"message": "no"}')
        return await super().write(method, path, body, content_type=content_type)

    def schedule(self) -> int:
        """The scheduler finds no node for pods of one namespace, for something that nobody told us."""
        hidden = {uid: pod for uid, pod in self.pods.items() if pod.namespace == BROKEN}
        for uid in hidden:
            del self.pods[uid]
        bound = super().schedule()
        self.pods.update(hidden)
        for uid, pod in hidden.items():
            if not (pod.gates or pod.parked or pod.node or pod.unscheduled):
                self.change(uid, unscheduled=UNSCHEDULABLE)
        return bound

    def running(self, namespace: str) -> int:
        """How many pods of a namespace have a node."""
        return sum(bool(pod.node) for pod in self.pods.values() if pod.namespace == namespace)


def two_tenants(cores: float, status: int = 0) -> TwoTenants:
    """Ten nodes, and a policy in force for both."""
    world = TwoTenants(status=status)
    world.configure("SlackPolicy", "default", mode="enforce")
    for name in ("team", BROKEN):
        world.namespace(name)
    world.add_nodes(*(node(f"n{number}", cpu=cores / 10, memory=400) for number in range(10)))
    return world


def arrive(world: TwoTenants, broken: int, good: int, apps: int = 1) -> None:
    """So many pods that nobody can help, of so many apps; five seconds later those of the other tenant."""
    for number in range(broken):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number % apps}")
    world.now += 5
    for number in range(good):
        world.create(f"t{number}", app="good")


def play(world: TwoTenants, operator: Operator, seconds: int) -> None:
    """Rounds and scheduling, a second each."""
    with asyncio.Runner() as runner:  # writes of one round go on in the next
        operator.run = runner.run
        for _ in range(seconds):
            operator.step()
            world.schedule()


def turns(world: World, loop: ReleaseLoop, seconds: int) -> None:
    """Turns of the whole loop, with all that is told."""

    async def turn() -> None:
        await loop.turn()
        await loop.releaser.writes.drain()
        await loop.maintain()

    with asyncio.Runner() as runner:
        for _ in range(seconds):
            runner.run(turn())
            world.schedule()
            world.now += 1
