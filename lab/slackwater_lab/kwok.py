"""Simulated nodes: kwok plays kubelet for every node with its annotation; real nodes are left alone."""

from pathlib import Path

from slackwater_lab.builds import built
from slackwater_lab.site import Site

ANNOTATION = "kwok.x-k8s.io/node"
STAGES = Path(__file__).parent / "data" / "kwok.yaml"


def kwok(site: Site) -> list[str]:
    """The command line of kwok. A lease of 40 s is renewed every 10 s, as a kubelet does."""
    return [
        built("kwok"),
        f"--kubeconfig={site.kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        f"--server-address=127.0.0.1:{site.ports['kwok']}",
        "--node-lease-duration-seconds=40",
        "--v=WARN",
    ]
