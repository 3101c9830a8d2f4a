"""Simulated nodes: kwok plays kubelet for every node with its annotation; real nodes are left alone."""

from pathlib import Path

from slackwater_lab.programs.build import built
from slackwater_lab.site import Site

ANNOTATION = "kwok.x-k8s.io/node"
STAGES = Path(__file__).resolve().parents[1] / "data" / "kwok.yaml"


def lease(nodes: int) -> int:
    """Seconds a node may be silent: 40 as with a kubelet; above 200 nodes more, and renewals stay at 20 per second."""
    return max(40, nodes // 5)


def kwok(site: Site, nodes: int) -> list[str]:
    """The command line of kwok; it renews a lease when a quarter of its time is over."""
    return [
        built("kwok"),
        f"--kubeconfig={site.kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        f"--server-address=127.0.0.1:{site.ports['kwok']}",
        f"--node-lease-duration-seconds={lease(nodes)}",
        "--v=WARN",
    ]
