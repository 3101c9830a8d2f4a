"""What a lab shall consist of, decided before anything is started."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from slackwater.errors import InvalidInput, UnknownName
from slackwater_lab.controlplane.schedulers import Extender
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.processes.ports import REAL_NODES

# In the order of their start; the control plane (etcd, API server, controller manager) is always there.
PARTS = (
    "kwok",
    "scheduler",
    "chart",
    "slackwater-scheduler",
    "state-metrics",
    "prometheus",
    "extender",
    "operator",
)
CONTROL = ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager")
NEEDED = {
    "kwok": ("kwok",),
    "scheduler": ("kube-scheduler",),
    "slackwater-scheduler": ("kube-scheduler",),
    "chart": ("helm",),
    "state-metrics": ("kube-state-metrics",),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The wanted state of a lab. Starting it twice changes nothing the second time."""

    parts: frozenset[str] = frozenset(PARTS)
    nodes: int = 10
    shape: Shape = field(default_factory=Shape)
    real_nodes: int = 0
    capacity: Capacity = field(default_factory=Capacity)  # what each real node claims to have
    services: bool = False  # names and Services for the pods of real nodes, as frameworks need them
    extender: Extender | None = None  # set: our scheduler calls this one instead of the lab's own
    scrape: str = "2s"
    operators: int = 1  # 2: a second one stands by
    audit: bool = False  # the API server writes down every request
    event_ttl: str = "1h"  # how long Events are kept; an hour is the API server's own default
    gates: tuple[str, ...] = ()  # features of API server and schedulers to switch on, with the alpha APIs they need
    values: tuple[str, ...] = ()  # of the chart, as helm's --set takes them

    def __post_init__(self) -> None:
        for part in self.parts - set(PARTS):
            raise UnknownName("part", part, PARTS)
        if not 0 <= self.real_nodes <= REAL_NODES:
            raise InvalidInput("real nodes", f"{self.real_nodes} is out of range", f"use 0 to {REAL_NODES}")
        if self.services and not self.real_nodes:
            raise InvalidInput("services", "there is no real node whose pods could use them", "add a real node")
        if self.operators not in (1, 2):
            raise InvalidInput("operators", f"{self.operators} is out of range", "use 1 or 2")
        if self.nodes < 0:
            raise InvalidInput("nodes", f"{self.nodes} is negative", "use 0 or more")

    def programs(self) -> list[str]:
        """The programs that must have been built for this plan."""
        wanted = [*CONTROL, *(name for part in PARTS if part in self.parts for name in NEEDED.get(part, ()))]
        if self.real_nodes:
            wanted += ["kubelet", "pause", "burn", "driver"]
        if self.services:
            wanted.append("dns")
        return list(dict.fromkeys(wanted))


def without(unwanted: Iterable[str]) -> frozenset[str]:
    """All parts but the named ones."""
    unwanted = {name.strip() for name in unwanted if name.strip()}
    for part in unwanted - set(PARTS):
        raise UnknownName("--without", part, PARTS)
    return frozenset(PARTS) - unwanted
