"""Configuration and command lines of one real node: its containerd and its kubelet."""

import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from slackwater_lab.nodes import machinesize, nodescope
from slackwater_lab.nodes.network import DOMAIN, Network
from slackwater_lab.programs.build import built, installed
from slackwater_lab.programs.images import PAUSE
from slackwater_lab.site import Site

PLUGINS = Path("/usr/lib/cni")
RUNTIME = Path(__file__).resolve().parents[1] / "data" / "containerd.toml"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The size a real node claims to have; 0 is what the machine has."""

    cpus: int = 0
    mebibytes: int = 0


@dataclass(frozen=True, slots=True)
class RealNode:
    """One real node: its number, its place and its network."""

    site: Site
    number: int
    network: Network

    @property
    def name(self) -> str:
        """The name of the Node object."""
        return f"real-{self.number}"

    @property
    def folder(self) -> Path:
        """Everything the node writes."""
        return self.site.folder / "real" / self.name

    @property
    def socket(self) -> Path:
        """Where its containerd listens."""
        return self.folder / "containerd.sock"

    @property
    def cgroup(self) -> str:
        """The cgroup of its pods, different for each lab."""
        return f"{self.network.bridge}-{self.number}"

    @property
    def port(self) -> int:
        """The port of its kubelet's API."""
        return self.site.ports.kubelet(self.number)


def runtime(node: RealNode) -> list[str]:
    """The command line of the node's containerd."""
    places = {"folder": node.folder, "socket": node.socket, "pause": PAUSE, "plugins": PLUGINS}
    path = node.folder / "containerd.toml"
    path.write_text(Template(RUNTIME.read_text()).substitute(places))
    return nodescope.inside(node.cgroup, [installed("containerd", "containerd"), f"--config={path}"])


def configuration(node: RealNode) -> dict[str, Any]:
    """The KubeletConfiguration: quick to report, easy on a machine that is nearly full of other things."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "address": node.network.gateway,
        "port": node.port,
        "healthzPort": node.port + 1,
        "healthzBindAddress": "127.0.0.1",
        # Only this machine reaches the address, and Prometheus reads without a certificate: lab only.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "cgroupDriver": "cgroupfs",
        "enforceNodeAllocatable": ["pods"],
        "makeIPTablesUtilChains": False,
        "maxPods": 60,
        "podLogsDir": str(node.folder / "pod-logs"),
        "volumePluginDir": str(node.folder / "volume-plugins"),
        "resolvConf": "",
        "clusterDNS": [node.network.gateway],
        "clusterDomain": DOMAIN,
        "systemReserved": {"cpu": "200m", "memory": "1Gi"},
        "evictionPressureTransitionPeriod": "10s",  # the default of 5 minutes keeps a node from pods for as long
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "nodeStatusUpdateFrequency": "5s",
        "nodeStatusReportFrequency": "30s",
        "syncFrequency": "10s",
    }


def kubelet(node: RealNode, capacity: Capacity) -> list[str]:
    """The command line of the kubelet, behind a pretended machine size if one is wanted."""
    path = node.folder / "kubelet.yaml"
    path.write_text(yaml.safe_dump(configuration(node), sort_keys=False))
    command = [
        built("kubelet"),
        f"--config={path}",
        f"--kubeconfig={node.site.kubeconfig}",
        f"--hostname-override={node.name}",
        f"--node-ip={node.network.gateway}",
        f"--root-dir={node.folder / 'kubelet'}",
        f"--cert-dir={node.folder / 'certs'}",
        f"--containerd={node.socket}",  # without it cAdvisor's rows carry no pod and container names
        "--node-labels=slackwater.io/lab-node=real",
        "--housekeeping-interval=2s",  # the default of 10 s makes every test wait for fresh numbers
        "--v=0",
    ]
    if capacity.cpus or capacity.mebibytes:
        command = [*_pretend(node, capacity), *command]
    return nodescope.inside(node.cgroup, command)


def _pretend(node: RealNode, capacity: Capacity) -> list[str]:
    """Inside the node's own mount namespace: what it mounts there nobody else sees."""
    script = [sys.executable, machinesize.__file__, str(node.folder / "machine")]
    return [*script, str(capacity.cpus), str(capacity.mebibytes)]
