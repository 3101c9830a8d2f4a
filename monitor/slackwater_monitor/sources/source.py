"""What a data source of the dashboard must offer. All of it is read-only and may be asked from any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from slackwater_monitor.sources.explanation import Explanation
from slackwater_monitor.sources.views import (
    Amounts,
    Bar,
    BorderHistory,
    Player,
    SchedulerComparison,
    Snapshot,
    TimeSeries,
)


class Chooser(Protocol):
    """Gives the source that a page asks for: of a cluster itself, of a simulation one scene at one moment."""

    def chosen(self, asked: Mapping[str, str]) -> Source:
        """The source to show, by what stands in the page's address."""
        ...


class Source(Protocol):
    """A cluster, or a simulation. Problems are told in the snapshot; only what cannot be shown at all is raised."""

    @property
    def title(self) -> str:
        """What is looked at: the cluster's address, or the workload's name."""
        ...

    @property
    def virtual(self) -> bool:
        """Whether moments are seconds of virtual time rather than Unix seconds."""
        ...

    def snapshot(self) -> Snapshot:
        """Everything now."""
        ...

    def history(self) -> TimeSeries:
        """Requested, used and allocatable over time, as far back as the source remembers."""
        ...

    def borders(self) -> Sequence[BorderHistory]:
        """How the borders of pools moved."""
        ...

    def gantt(self, namespace: str, app: str) -> Sequence[Bar]:
        """The pods of one app; empty where there is no such app."""
        ...

    def used(self, namespace: str) -> Mapping[str, Amounts]:
        """What each pod of a namespace uses now, as far as it is measured."""
        ...

    def explain(self, namespace: str, pod: str) -> Explanation | None:
        """Why a pod waits or why it is where it is; None where there is none."""
        ...

    def ledger(self, node: str) -> dict[str, Any] | None:
        """A node's arithmetic by resource and its pods, as the extender tells it; None where there is none."""
        ...

    @property
    def player(self) -> Player | None:
        """Where a play is; None for a cluster, which is always now."""
        ...

    @property
    def races(self) -> bool:
        """Whether there is another scheduler to compare with."""
        ...

    def comparison(self) -> SchedulerComparison | None:
        """The same work under another scheduler, where that is known: in simulations."""
        ...

    def chosen(self, asked: Mapping[str, str]) -> Source:
        """The source to show, by what stands in the page's address."""
        ...
