"""Pods of a namespace that is not managed: they share nodes with ours, and the stock scheduler binds them."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater_cluster import names
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from support.search.cluster import STOCK, Cluster
from support.search.plan import VisitorPlan, amounts

NAMESPACE = "elsewhere"


@dataclass
class Visitor:
    """One of them, from its creation to its end; a lost one is made anew."""

    cluster: Cluster
    plan: VisitorPlan
    over: bool = False
    _uid: str = ""
    _made: int = 0

    @property
    def id(self) -> str:
        """Its name in the whole cluster."""
        return f"{NAMESPACE}/{self.plan.name}"

    def next_event(self) -> float:
        """The earliest moment at which it does something by itself."""
        if self.over:
            return float("inf")
        if not self._made:
            return 1000.0 + self.plan.at
        pod = self.cluster.pods.get(self._uid)
        return pod.started + self.plan.seconds if pod is not None and pod.started else float("inf")

    def step(self) -> None:
        """Live on: come, come back, end."""
        if self.over or self.cluster.now < 1000.0 + self.plan.at - 1e-9:
            return
        pod = self.cluster.pods.get(self._uid)
        if pod is None or pod.phase == "Failed" or pod.deleted:
            self._create()
        elif pod.started and self.cluster.now >= pod.started + self.plan.seconds - 1e-9:
            self.cluster.finish(self._uid)
            self.over = True

    def use(self, pod: PodRecord) -> tuple[float, float]:
        """Cores and bytes that it uses."""
        return pod.native["cpu"] * self.plan.use, pod.native["memory"] * self.plan.use

    def _create(self) -> None:
        self._made += 1
        asked = amounts(self.plan.cpu, self.plan.memory, self.plan.gpus)
        name = f"{self.plan.name}-{self._made}"
        self._uid = f"{NAMESPACE}.{name}"
        self.cluster.put(
            PodRecord(
                name=name,
                uid=self._uid,
                namespace=NAMESPACE,
                labels={names.APP: self.plan.name},
                owners=(OwnerRef("ReplicaSet", self.plan.name, f"set-{self.plan.name}", "apps", True, NAMESPACE),),
                phase="Pending",
                scheduler=STOCK,
                priority=self.plan.priority,
                native=asked,
                declared=asked,
                created=self.cluster.now,
            )
        )
