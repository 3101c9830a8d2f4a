"""Submits Flink applications to a lab as a user would: `flink` on this machine, in its native Kubernetes mode."""

import os
from pathlib import Path

from slackwater_lab.frameworks import layers
from slackwater_lab.site import Site

ACCOUNT = "flink"


def program() -> Path:
    """Where `flink` is on this machine."""
    return layers.flink_home() / "bin" / "flink"


def environment(site: Site) -> dict[str, str]:
    """What `flink` needs to find the cluster; a small heap, as it only writes a few objects."""
    return {
        **os.environ,
        "KUBECONFIG": str(site.kubeconfig),
        "FLINK_LOG_DIR": str(site.folder / "logs"),
        "JVM_ARGS": "-Xmx256m -XX:TieredStopAtLevel=1",
    }
