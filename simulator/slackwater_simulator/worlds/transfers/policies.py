"""The policies of the transfer world: paper 003's placement, and the plain nearest slot it is compared with."""

from __future__ import annotations

from slackwater.network.dagplacement import Key, LevelNodes, LevelPlacement, LevelTask, place
from slackwater.network.transfer import Transfers, nearest
from slackwater.resources import holding


class Network:
    """003: the core places each level, by the key `literal` or `earliest_start`."""

    def __init__(self, *, key: str = Key.EARLIEST_START) -> None:
        self.key = Key(key)

    def place(
        self, level: list[LevelTask], hosts: LevelNodes, traffic: Transfers, _racks: list[str]
    ) -> list[LevelPlacement]:
        """As the core says."""
        return place(level, hosts, traffic, self.key)


class Nearest:
    """The paper's "YARN": each task to the nearest node, seen from the task before it, that has a free slot."""

    def __init__(self) -> None:
        self.previous = 0
        self.walks: dict[int, list[int]] = {}

    def place(
        self, level: list[LevelTask], hosts: LevelNodes, traffic: Transfers, racks: list[str]
    ) -> list[LevelPlacement]:
        """In the order of listing."""
        room = hosts.room.copy()
        sites = []
        for task in level:
            if self.previous not in self.walks:
                self.walks[self.previous] = nearest(self.previous, racks, hosts.bandwidth)
            fits = holding(room, task.demand)
            node = next((node for node in self.walks[self.previous] if fits[node]), None)
            if node is not None:
                room[node] -= task.demand
                self.previous = node
                for source in task.inputs:
                    traffic.begin(source.node, node, source.size)
            sites.append(LevelPlacement(task, node, float(hosts.free[node]) if node is not None else float("inf")))
        return sites
