"""The scheduler-plugins build of kube-scheduler: Trimaran's two load-aware plugins, and Coscheduling.

Trimaran scores nodes by measured load, which a load-watcher tells; ours speaks its protocol over the lab's Prometheus,
with means of 10 s, because tasks live for seconds. TargetLoadPacking (target 40 %) and LoadVariationRiskBalancing
(margin 1, sensitivity 1) have their defaults and replace the scores for fit and balance, as their documentation has it.
Coscheduling has PodGroups for gangs. The module is built with Kubernetes 1.34; where v0.34.7 of a Kubernetes module is
not served, a neighbour is taken.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import yaml

from slackwater_lab.controlplane.schedulers import configuration
from slackwater_lab.peers import definitions
from slackwater_lab.peers.peer import Peer, dressed, first
from slackwater_lab.peers.sources import GoSource, folder, path_of
from slackwater_lab.processes.waiting import answers, until_serving

if TYPE_CHECKING:
    from slackwater_lab.lab import Lab
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.play import Create
    from slackwater_lab.live.pods import Stage

_NEIGHBOURS = {
    "v0.34.8": (
        "cli-runtime",
        "cluster-bootstrap",
        "code-generator",
        "cri-client",
        "csi-translation-lib",
        "dynamic-resource-allocation",
        "endpointslice",
        "kube-aggregator",
        "kube-controller-manager",
        "kubectl",
        "pod-security-admission",
    ),
    "v0.34.4": ("cri-api", "externaljwt", "kube-proxy", "sample-apiserver"),
    "v0.34.3": ("sample-controller",),
}
PLUGINS = GoSource(
    "scheduler-plugins",
    "sigs.k8s.io/scheduler-plugins",
    "v0.34.7",
    "./cmd/scheduler",
    tuple(f"k8s.io/{name}=k8s.io/{name}@{version}" for version, names in _NEIGHBOURS.items() for name in names),
)
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"
MEASURED = frozenset({"kwok", "prometheus"})
SERVER, WATCHER = 0, 1  # ports


class _Plugin(Peer, ABC):
    """kube-scheduler with one of the plugins."""

    scheduler = "league-plugins"
    plugin = ""
    sources = (PLUGINS,)

    @property
    def version(self) -> str:
        """The build's."""
        return f"scheduler-plugins {PLUGINS.version}"

    @abstractmethod
    def arguments(self, lab: Lab) -> dict[str, Any]:
        """What the plugin is told."""

    @abstractmethod
    def enabled(self) -> dict[str, Any]:
        """Where the plugin takes part."""

    def start(self, lab: Lab) -> None:
        """The scheduler, with a profile of one name."""
        config = configuration(lab.site.kubeconfig, self.scheduler, None)
        settings = [{"name": self.plugin, "args": self.arguments(lab)}]
        config["profiles"] = [{"schedulerName": self.scheduler, "plugins": self.enabled(), "pluginConfig": settings}]
        path = lab.site.write("plugins.yaml", yaml.safe_dump(config, sort_keys=False))
        port = lab.site.ports.peer(SERVER)
        command = [path_of(PLUGINS), f"--config={path}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
        command += ["--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"]
        lab.processes.start("plugins-scheduler", command)
        until_serving(lab.processes, "plugins-scheduler", lambda: answers(f"https://127.0.0.1:{port}/healthz"))


class _Trimaran(_Plugin):
    """A score by measured load instead of those for fit and balance."""

    parts = MEASURED

    def enabled(self) -> dict[str, Any]:
        """As the documentation has it."""
        unwanted = [{"name": "NodeResourcesBalancedAllocation"}, {"name": "NodeResourcesFit"}]
        return {"score": {"disabled": unwanted, "enabled": [{"name": self.plugin}]}}

    def start(self, lab: Lab) -> None:
        """The load-watcher first: the plugin asks it when it starts."""
        port = str(lab.site.ports.peer(WATCHER))
        command = [sys.executable, "-m", "slackwater_lab.peers.loadwatcher", lab.site.url("prometheus"), port]
        lab.processes.start("load-watcher", command)
        until_serving(lab.processes, "load-watcher", lambda: answers(f"{_watcher(lab)}/watcher"))
        super().start(lab)


class TargetLoadPacking(_Trimaran):
    """Fill nodes up to a target, then spread."""

    name = "trimaran-packing"
    plugin = "TargetLoadPacking"

    def arguments(self, lab: Lab) -> dict[str, Any]:
        """The default target; tasks are expected to use what they ask for until they are measured."""
        return {"defaultRequestsMultiplier": "1", "targetUtilization": 40, "watcherAddress": _watcher(lab)}


class LoadVariationRiskBalancing(_Trimaran):
    """Balance mean and variation of load over nodes."""

    name = "trimaran-risk"
    plugin = "LoadVariationRiskBalancing"

    def arguments(self, lab: Lab) -> dict[str, Any]:
        """The defaults."""
        return {"safeVarianceMargin": 1, "safeVarianceSensitivity": 1, "watcherAddress": _watcher(lab)}


class Coscheduling(_Plugin):
    """Gangs by PodGroups."""

    name = "coscheduling"
    told = "the members of a gang, in a PodGroup"
    plugin = "Coscheduling"
    parts = frozenset({"kwok"})

    def arguments(self, lab: Lab) -> dict[str, Any]:
        """As in its manifest."""
        del lab
        return {"permitWaitingTimeSeconds": 10}

    def enabled(self) -> dict[str, Any]:
        """As in its manifest."""
        mine = [{"name": self.plugin}]
        return {"multiPoint": {"enabled": mine}, "queueSort": {"enabled": mine, "disabled": [{"name": "*"}]}}

    def start(self, lab: Lab) -> None:
        """PodGroups first."""
        definitions.install(lab.site, folder(PLUGINS) / "manifests" / "coscheduling", "crd.yaml")
        super().start(lab)

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """A gang's group with its first pod, and each pod as a member; other pods are plain."""
        alone = super().creates(ask, stage)
        if not ask.play.gang:
            return alone
        group = {"metadata": {"name": ask.play.id}, "spec": {"minMember": ask.play.tasks}}
        kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
        path = f"{GROUPS}/namespaces/{stage.namespace}/podgroups"
        pod = dressed(alone, {"scheduling.x-k8s.io/pod-group": ask.play.id}, {})
        return [(path, {**kind, **group}), *pod] if first(ask) else pod


def _watcher(lab: Lab) -> str:
    return f"http://127.0.0.1:{lab.site.ports.peer(WATCHER)}"
