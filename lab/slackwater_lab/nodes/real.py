"""Real nodes beside the simulated ones: real containers, real cgroups, real measurements.

All of them live in one mount namespace that a holder process keeps; see holder.py.
"""

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane import access
from slackwater_lab.controlplane.prometheus import tell_real_nodes
from slackwater_lab.nodes import cgroups, holder, network
from slackwater_lab.nodes.kubelets import PLUGINS, Capacity, RealNode, kubelet, runtime
from slackwater_lab.nodes.simulated import ready
from slackwater_lab.processes.command import run
from slackwater_lab.processes.processes import Processes, birth
from slackwater_lab.processes.waiting import until, until_serving
from slackwater_lab.programs import images
from slackwater_lab.programs.build import installed
from slackwater_lab.site import Site

HOLDER = "namespace"
PACKAGES = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2", "nsenter": "util-linux"}


def obstacles() -> list[str]:
    """Why real nodes cannot run on this machine; empty when they can."""
    found = [] if os.geteuid() == 0 else ["real nodes need root"]
    if not cgroups.supported():
        found.append("real nodes were tried on cgroup version 1 only; use kind on this machine")
    if not (PLUGINS / "bridge").exists():
        found.append(f"{PLUGINS}/bridge is not installed; it comes with containernetworking-plugins")
    for name, package in PACKAGES.items():
        if shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") is None:
            found.append(f"{name} is not installed; it comes with the Debian package {package}")
    return found


class RealNodes:
    """The real nodes of one lab."""

    def __init__(self, site: Site, processes: Processes) -> None:
        self._site = site
        self._processes = processes
        self._network = network.of(site.ports)

    def node(self, number: int) -> RealNode:
        """The node of that number; they count from 1."""
        return RealNode(self._site, number, self._network)

    def up(self, count: int, capacity: Capacity, report: Callable[[str], None]) -> None:
        """Start that many nodes and wait until they are Ready."""
        if problems := obstacles():
            raise Unavailable("; ".join(problems))
        self._hold_namespace()
        network.create(self._network)
        archives = images.make(self._site.folder / "real" / "images")
        nodes = [self.node(number) for number in range(1, count + 1)]
        for node in nodes:
            self._start_runtime(node, archives)
            self._processes.start(f"kubelet-{node.number}", [*self._inside(), *kubelet(node, capacity)])
        self._wait_ready(nodes)
        tell_real_nodes(self._site, {node.name: f"{self._network.gateway}:{node.port}" for node in nodes})
        report(f"real nodes  {', '.join(node.name for node in nodes)}; image {images.LOAD}")

    def load(self, archive: Path) -> None:
        """Import an image into every node."""
        for node in map(self.node, self._numbers()):
            run([*self._control(node), "images", "import", str(archive)])

    def _numbers(self) -> list[int]:
        running = [started.name for started in self._processes.all()]
        return [int(name.rpartition("-")[2]) for name in running if name.startswith("containerd-")]

    def _control(self, node: RealNode) -> list[str]:
        return [*self._inside(), installed("ctr", "containerd"), f"--address={node.socket}", "--namespace=k8s.io"]

    def down(self) -> None:
        """Stop kubelets first, so that they restart nothing; then containers, runtimes, namespace and bridge."""
        running = [started.name for started in self._processes.all()]
        numbers = self._numbers()
        for number in numbers:
            self._processes.stop(f"kubelet-{number}")
        for node in map(self.node, numbers):
            cgroups.remove(node.cgroup)
            self._stop_shims(node)
            self._processes.stop(f"containerd-{node.number}")
        if HOLDER in running:
            self._processes.stop(HOLDER)
            network.remove(self._network)
            shutil.rmtree(self._site.folder / "real", ignore_errors=True)

    def _hold_namespace(self) -> None:
        folder = self._site.folder / "real" / "settings"
        unshare = [installed("unshare", "util-linux"), "--mount", "--propagation=private"]
        started = self._processes.find(HOLDER)
        if not (started and started.alive):
            (folder / "ready").unlink(missing_ok=True)
        self._processes.start(HOLDER, [*unshare, sys.executable, holder.__file__, str(folder)])
        until_serving(self._processes, HOLDER, (folder / "ready").exists)

    def _inside(self) -> list[str]:
        started = self._processes.find(HOLDER)
        if started is None:
            raise Unavailable("the mount namespace of the real nodes is gone; run `down`, then `up`")
        return [installed("nsenter", "util-linux"), f"--target={started.pid}", "--mount", "--"]

    def _start_runtime(self, node: RealNode, archives: list[Path]) -> None:
        cgroups.create(node.cgroup)
        (node.folder / "cni").mkdir(parents=True, exist_ok=True)
        (node.folder / "cni" / "10-bridge.conflist").write_text(
            self._network.plugin(self._site.folder / "real" / "ipam")
        )
        name = f"containerd-{node.number}"
        self._processes.start(name, [*self._inside(), *runtime(node)])
        control = self._control(node)
        until_serving(self._processes, name, lambda: _works([*control, "version"]))
        for archive in archives:
            run([*control, "images", "import", str(archive)])

    def _wait_ready(self, nodes: list[RealNode]) -> None:
        with access.client(self._site) as api:
            for node in nodes:
                until_serving(self._processes, f"kubelet-{node.number}", partial(_is_ready, api, node), 90.0)

    def _stop_shims(self, node: RealNode) -> None:
        # A shim leaves containerd's process group; its command line names the socket of this very node.
        def gone() -> bool:
            for pid in _shims(node.socket):
                cgroups.kill(pid)
            return not _shims(node.socket)

        until(f"the containers of {node.name} end", gone, 10.0)


def _shims(socket: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it ended while we looked
            continue
        if b"containerd-shim" in words[0] and str(socket).encode() in words and birth(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def _is_ready(api: ApiClient, node: RealNode) -> bool:
    return node.name in ready(api)


def _works(command: list[str]) -> bool:
    try:
        run(command)
    except Unavailable:
        return False
    return True
