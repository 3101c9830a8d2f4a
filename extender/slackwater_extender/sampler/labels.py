"""Which node or pod a series speaks of. Exporters disagree: a name, an IP, IP:port, or a label of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from slackwater_cluster.objects.records import NodeRecord

# Tried in this order where the settings name none; `instance` is always there, and usually an address.
NODE_LABELS = ("node", "kubernetes_node", "nodename", "node_name", "kubernetes_io_hostname", "instance", "host")


class NodeNames:
    """Node by name, host name, IP, with or without port.

    A name of its own goes before everything. Where a replaced machine's object still has the address of its successor,
    the node that is ready means it, or the younger one.
    """

    def __init__(self, nodes: Iterable[NodeRecord], label: str = "") -> None:
        self._labels = (label,) if label else NODE_LABELS
        self._by: dict[str, str] = {}
        ranked = sorted(nodes, key=lambda node: (node.ready, node.created))
        for node in ranked:
            for alias in (*node.addresses, node.labels.get("kubernetes.io/hostname", "")):
                if alias:
                    self._by[alias] = node.name
        self._by |= {node.name: node.name for node in ranked}

    def find(self, labels: Mapping[str, str]) -> str | None:
        """The node's name, or None."""
        for label in self._labels:
            if (value := labels.get(label)) and (name := self._by.get(value) or self._by.get(without_port(value))):
                return name
        return None


def without_port(address: str) -> str:
    """The host of host:port; brackets of an IPv6 address go too."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, colon, port = address.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else address


def number(text: str) -> float:
    """The value as a float; text that is no number is NaN, which nobody uses."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def usable(value: float) -> bool:
    """Whether a measured amount can be believed at all."""
    return 0 <= value < math.inf
