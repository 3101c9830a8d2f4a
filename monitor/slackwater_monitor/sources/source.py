"""What a data source of the dashboard must offer. All of it is read-only and may be asked from any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from slackwater_monitor.sources.views import Amounts, Bar, BorderHistory, SchedulerComparison, Snapshot, TimeSeries


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

    def comparison(self) -> SchedulerComparison | None:
        """The same work under another scheduler, where that is known: in simulations."""
        ...
