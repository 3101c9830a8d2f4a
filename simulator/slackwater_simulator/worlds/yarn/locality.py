"""Where a stage's tasks would like to run, and how long a request insists on it (delay scheduling).

A request is offered nodes as they beat. Each offer that is neither a named host nor accepted is a missed chance; after
`node_delay` of them a node in a named rack will do, and later any node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LOCAL, RACK, ANY, WAIT = 0, 1, 2, 3


class Locality:
    """Tasks by preferred node, and the chances missed since the last placement."""

    __slots__ = ("by_node", "missed", "named", "nodes_of", "taken", "unbound")

    def __init__(self, hosts: Sequence[Sequence[str]], places: Mapping[str, int]) -> None:
        self.by_node: dict[int, list[int]] = {}  # node → tasks that name it, last first
        self.nodes_of: list[tuple[int, ...]] = []
        for task, names in enumerate(hosts):
            nodes = tuple(places[name] for name in names if name in places)
            self.nodes_of.append(nodes)
            for node in nodes:
                self.by_node.setdefault(node, []).append(task)
        for tasks in self.by_node.values():
            tasks.reverse()
        self.named = len(self.by_node)
        self.taken = bytearray(len(hosts))
        self.unbound = 0  # tasks below this are taken
        self.missed = 0

    def level(self, node: int, racks: Sequence[int], node_delay: int, rack_delay: int, nodes: int, pending: int) -> int:
        """How the request would run here, or WAIT. Counts the missed chance."""
        if self.has(node):
            return LOCAL
        if not self.named:
            return ANY
        self.missed += 1
        # YARN: off-switch after min(nodes, pending × named / nodes) missed chances, unless a delay is set.
        patience = min(nodes, pending * self.named / nodes) if rack_delay < 0 else node_delay + rack_delay
        if self.missed > patience:
            return ANY
        if self.missed > min(node_delay, nodes) and any(racks[named] == racks[node] for named in self.by_node):
            return RACK
        return WAIT

    def has(self, node: int) -> bool:
        """Whether a task that names this node is still to be placed."""
        tasks = self.by_node.get(node)
        while tasks and self.taken[tasks[-1]]:
            tasks.pop()
        if tasks:
            return True
        self.by_node.pop(node, None)
        return False

    def placed(self) -> None:
        """A container was allocated: patience starts again."""
        self.missed = 0

    def take(self, node: int, racks: Sequence[int]) -> int:
        """The task to run on this node: one that names it, else one of its rack, else the first; −1 if none is left."""
        if self.has(node):
            return self._bind(self.by_node[node].pop())
        rack = racks[node]
        for other in self.by_node:
            if racks[other] == rack and self.by_node[other] and not self.taken[self.by_node[other][-1]]:
                return self._bind(self.by_node[other].pop())
        while self.unbound < len(self.taken) and self.taken[self.unbound]:
            self.unbound += 1
        return self._bind(self.unbound) if self.unbound < len(self.taken) else -1

    def give_back(self, task: int) -> None:
        """A task is to run again and may again name its nodes."""
        self.taken[task] = 0
        self.unbound = min(self.unbound, task)
        for node in self.nodes_of[task]:
            self.by_node.setdefault(node, []).append(task)

    def _bind(self, task: int) -> int:
        self.taken[task] = 1
        return task
