"""What the league asks of every scheduler: how it is built, started, and told about jobs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater_lab.live.play import Create, pod_alone
from slackwater_lab.programs.programs import program

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ApiClient
    from slackwater_lab.lab import Lab
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.pods import Stage
    from slackwater_lab.peers.sources import GoSource

PLAIN = "default-scheduler"


class Peer:
    """A stock scheduler that is told nothing; others say where they differ."""

    name = ""
    told = "nothing"  # what it must know about a job beyond its pods
    scheduler = PLAIN  # the schedulerName of pods
    managed = False  # whether the namespace is one of Slackwater's
    parts: frozenset[str] = frozenset({"kwok", "scheduler"})  # of the lab
    values: tuple[str, ...] = ()  # of Slackwater's chart
    gates: tuple[str, ...] = ()  # features of Kubernetes that are off by default
    sources: tuple[GoSource, ...] = ()  # what must have been built

    @property
    def about(self) -> str:
        """How it is set up: the module's docstring, as the page shows it."""
        return (sys.modules[type(self).__module__].__doc__ or "").strip()

    @property
    def version(self) -> str:
        """What plays."""
        return f"kube-scheduler {program('kube-scheduler').version}"

    def start(self, lab: Lab) -> None:
        """Start what the lab does not start by itself; everything goes down with the lab."""

    def prepare(self, api: ApiClient, namespace: str, cores: float, memory: float) -> None:
        """Make what jobs of this namespace need: queues, quotas. The cluster has so many cores and bytes."""

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """What is created for a pod that a job asks for, in order."""
        return pod_alone(ask, stage)


def dressed(creates: Sequence[Create], labels: dict[str, str], annotations: dict[str, str]) -> list[Create]:
    """The same, with more labels and annotations on the last one, which is the pod."""
    *others, (path, pod) = creates
    meta = pod["metadata"]
    more = {"labels": {**meta["labels"], **labels}, "annotations": {**meta["annotations"], **annotations}}
    return [*others, (path, {**pod, "metadata": {**meta, **more}})]


def first(ask: Ask) -> bool:
    """Whether this is the pod with which its job begins: its driver, else its first task."""
    return ask.part is None or (ask.play.driver is None and ask.name == f"{ask.play.id}-{ask.play.parts[0].name}-0")
