"""How long data takes to arrive (paper 003): bytes on their way, bandwidth between nodes, and what follows from both.

Arrays are indexed [sender, receiver]. A pair without bandwidth and without traffic costs nothing; with traffic it
takes for ever. Units are the caller's: bytes with bytes per second, or MB with MB/s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import BadNumber
from slackwater.validation import amount, finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Transfers:
    """Trans[s][d]: bytes assigned from s to d and not yet arrived. Sparse: most pairs of nodes never talk."""

    __slots__ = ("_sent",)

    def __init__(self) -> None:
        self._sent: dict[int, dict[int, float]] = {}  # sender → receiver → bytes

    def begin(self, sender: int, receiver: int, size: float) -> None:
        """A transfer is on its way; data that is there already needs none."""
        amount("size", size)
        if sender != receiver and size > 0:
            row = self._sent.setdefault(sender, {})
            row[receiver] = row.get(receiver, 0.0) + size

    def end(self, sender: int, receiver: int, size: float) -> None:
        """A transfer has arrived, or a part of it: the paper only ever adds, which would avoid busy nodes for good."""
        row = self._sent.get(sender, {})
        left = row.get(receiver, 0.0) - amount("size", size)
        if left > 0:
            row[receiver] = left
        else:
            row.pop(receiver, None)

    def between(self, sender: int, receiver: int) -> float:
        """What is on its way from one node to another."""
        return self._sent.get(sender, {}).get(receiver, 0.0)

    def links(self) -> Iterator[tuple[int, int, float]]:
        """Every pair of nodes with something on its way: sender, receiver, bytes."""
        return ((sender, receiver, size) for sender, row in self._sent.items() for receiver, size in row.items())

    def copy(self) -> Transfers:
        """A twin that can be changed without changing this one."""
        twin = Transfers()
        twin._sent = {sender: dict(row) for sender, row in self._sent.items()}
        return twin

    def matrix(self, nodes: int) -> Floats:
        """All of it, as [sender, receiver]."""
        return self.rows(range(nodes), nodes)

    def rows(self, senders: Sequence[int], nodes: int) -> Floats:
        """What the given senders have on its way to every node."""
        found = np.zeros((len(senders), nodes))
        for place, sender in enumerate(senders):
            for receiver, size in self._sent.get(sender, {}).items():
                found[place, receiver] = size
        return found


def measured(bytes_per_second: Floats, horizon: float) -> Floats:
    """Trans on a live cluster: what flows now, kept up over the horizon in seconds."""
    return _amounts("bytes_per_second", bytes_per_second) * amount("horizon", horizon)


def pairwise(bandwidth: Floats, senders: Sequence[int]) -> Floats:
    """BPre rows from one figure per node: a pair is as fast as the slower of the two."""
    known = _amounts("bandwidth", bandwidth)
    return np.minimum(known[list(senders), None], known[None, :])


# priority(i) = max over j ≠ i of Trans[j][i] / BPre[j][i]
def priority(traffic: Floats, bandwidth: Floats) -> Floats:
    """Seconds until the busiest inbound link of each node is quiet: lower is better."""
    times = _seconds(_amounts("Trans", traffic), _amounts("BPre", bandwidth))
    np.fill_diagonal(times, 0.0)
    return _worst(times, 0.0)


def worst_inbound(assigned: Transfers, flowing: Floats, bandwidth: Floats) -> Floats:
    """`priority` where one figure per node is known of bandwidth and of what flows into it: cheap for many nodes."""
    busiest = _seconds(_amounts("Trans", flowing), _amounts("BPre", bandwidth))
    for sender, receiver, size in assigned.links():
        link = min(bandwidth[sender], bandwidth[receiver])
        volume = size + flowing[receiver]
        busiest[receiver] = max(busiest[receiver], volume / link if link > 0 else np.inf)
    return busiest


# T_in(t, d) = max over s ≠ d of (Trans[s][d] + size_s) / BPre[s][d]
def incoming(senders: Sequence[int], sizes: Sequence[float], traffic: Floats, bandwidth: Floats) -> Floats:
    """Seconds until a task's inputs would have arrived on each node; `traffic` and `bandwidth` are the senders' rows.

    One entry per sender: add up the inputs that lie on one node. Costs O(senders × nodes). A task without inputs
    waits for nothing.
    """
    volumes = np.asarray([amount("size", size) for size in sizes], dtype=np.float64)
    times = _seconds(_amounts("Trans", traffic) + volumes[:, None], _amounts("BPre", bandwidth))
    times[np.arange(len(senders)), list(senders)] = 0.0
    return _worst(times, 0.0)


# start(t, d) = max(free(d), max over parents p of finish(p) + [loc(p) ≠ d] · size / BPre)
def start_times(
    free: Floats, senders: Sequence[int], sizes: Sequence[float], ready: Sequence[float], bandwidth: Floats
) -> Floats:
    """When a task could begin on each node: free, and with the output of every parent there."""
    volumes = np.asarray([amount("size", size) for size in sizes], dtype=np.float64)
    arrival = _seconds(np.broadcast_to(volumes[:, None], bandwidth.shape), _amounts("BPre", bandwidth))
    arrival[np.arange(len(senders)), list(senders)] = 0.0
    arrival += np.asarray([finite("ready", time) for time in ready], dtype=np.float64)[:, None]
    return np.maximum(free, _worst(arrival, -np.inf))


def nearest(node: int, racks: Sequence[str], bandwidth: Floats) -> list[int]:
    """Where a further sub-task of a task on `node` goes: there, then its rack, then the fastest link, then index."""
    speeds = _amounts("BPre", bandwidth)[node]
    return sorted(range(len(racks)), key=lambda d: (d != node, racks[d] != racks[node], -speeds[d], d))


def _seconds(volumes: Floats, bandwidth: Floats) -> Floats:
    """Volume / bandwidth, where nothing takes no time and no bandwidth takes for ever."""
    times = np.where(volumes > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):  # too slow to count is for ever as well
        np.divide(volumes, bandwidth, out=times, where=(bandwidth > 0) & (volumes > 0))
    return times


def _worst(times: Floats, least: float) -> Floats:
    """The largest per column; `least` where there is no row."""
    worst: Floats = np.max(times, axis=0, initial=least)
    return worst


def _amounts(field: str, values: Floats) -> Floats:
    """The array, if all of it is finite and none of it negative."""
    if values.size and not (np.isfinite(values).all() and values.min() >= 0):
        raise BadNumber(field, "an array with NaN, infinity or a negative number", "give finite numbers of at least 0")
    return values
