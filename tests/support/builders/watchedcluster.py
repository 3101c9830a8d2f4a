"""A ledger with a stated risk that has watched a small cluster, for as long as a test wants."""

from copy import deepcopy
from functools import cache

import numpy as np
from numpy.typing import NDArray

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import Amounts, ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from support.builders.measuring import measure

NODES = 12
HEARTBEAT = 5.0
HORIZON = 600.0
GROWN = 3.5 * HORIZON  # promises of the first horizon are not judged, and those of the next one end within the third


class WatchedCluster:
    """Nodes of 16 cores and 64 GiB with twelve pods each that use a part of 1 core and 4 GiB, for some minutes."""

    def __init__(self, risk: float | None, seed: int = 0, nodes: int = NODES) -> None:
        self.ledger = Ledger(LedgerConfig(risk=risk, steady=True))
        self._rng = np.random.default_rng(seed)
        self._live: dict[str, tuple[float, str, float]] = {}  # end, node, level
        self._always: dict[str, tuple[str, Amounts]] = {}  # node and use of pods of others
        self._made = 0
        self.shown: dict[str, list[Amounts]] = {}  # every sample of each pod
        self.now = 0.0
        self.silent: set[str] = set()  # nodes of which nothing is measured
        for number in range(nodes):
            self.ledger.upsert_node(NodeSpec(f"n{number}", (16.0, 64.0), (16.0, 64.0), (0.0, 1.0)))

    def play(self, seconds: float, level: float = 0.35) -> None:
        """Let time pass; pods that end are replaced on their node."""
        until = self.now + seconds
        while self.now < until:
            self._replace(level)
            shakes = self._rng.uniform(0.7, 1.3, len(self._live)).tolist()
            uses: dict[str, Amounts] = {
                uid: (share * shake, 4 * share)
                for (uid, (_, _, share)), shake in zip(self._live.items(), shakes, strict=True)
            }
            self.measure(uses)
            self.now += HEARTBEAT

    def measure(self, uses: dict[str, Amounts]) -> None:
        """One round of samples: the system of every node uses 0.2 cores and 1 GiB beside its pods."""
        used = {node.name: (0.2, 1.0) for node in self.ledger.nodes}
        for uid, (_, node, _) in self._live.items():
            used[node] = _added(used[node], uses[uid])
        uses = {uid: amounts for uid, amounts in uses.items() if self._live[uid][1] not in self.silent}
        for uid, amounts in uses.items():
            self.shown.setdefault(uid, []).append(amounts)
        for uid, (node, amounts) in self._always.items():
            used[node] = _added(used[node], amounts)
            uses[uid] = amounts
        samples = {name: Sample(self.now, amounts) for name, amounts in used.items() if name not in self.silent}
        measure(self.ledger, self.now, samples, uses)

    def strangers(self, count: dict[str, int], asked: Amounts, use: Amounts) -> None:
        """So many pods of others on some nodes, which stay and always use the same."""
        for node, pods in count.items():
            for number in range(pods):
                uid = f"{node}-other{number}"
                self._always[uid] = (node, use)
                self.ledger.put(
                    PodClaim(uid, node, asked, asked, app=uid, state=ClaimState.RUNNING, started=0.0, managed=False)
                )

    @property
    def pods(self) -> list[str]:
        """Those that are there now."""
        return list(self._live)

    def pods_on(self, node: str) -> list[str]:
        """Those of one node."""
        return [uid for uid, (_, home, _) in self._live.items() if home == node]

    def _replace(self, level: float) -> None:
        for uid, (end, _, _) in list(self._live.items()):
            if end <= self.now:
                self.ledger.remove(uid)
                del self._live[uid]
        names = [node.name for node in self.ledger.nodes]
        have = dict.fromkeys(names, 0)
        for _, node, _ in self._live.values():
            have[node] += 1
        for name in names:
            for _ in range(12 - have[name]):
                self._start(name, level)

    def _start(self, node: str, level: float) -> None:
        uid, self._made = f"p{self._made}", self._made + 1
        share = float(self._rng.uniform(0.5, 1.5)) * level
        self._live[uid] = (self.now + 20 + float(self._rng.exponential(300)), node, share)
        self.ledger.put(
            PodClaim(uid, node, (1.0, 4.0), (1.0, 4.0), app="a", state=ClaimState.RUNNING, started=self.now)
        )


def _added(one: tuple[float, float], other: Amounts) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


@cache
def _settled(risk: float | None) -> WatchedCluster:
    cluster = WatchedCluster(risk)
    cluster.play(GROWN)
    cluster.shown.clear()  # most of what would be copied, and nobody asks for it
    return cluster


def settled(risk: float | None) -> WatchedCluster:
    """One in which enough promises were compared; it is played once, and copied for each test without its past."""
    return deepcopy(_settled(risk))


def rooms(cluster: WatchedCluster) -> NDArray[np.float64]:
    """The room of every node and kind."""
    return cluster.ledger.table(cluster.now).room
