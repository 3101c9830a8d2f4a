"""The operator as a process on a lab's control plane, and what tests of it need again and again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def pod(name: str, app: str, cpu: str = "1", role: str = "task", **annotations: str) -> dict[str, Any]:
    """A pod of an app."""
    notes = {f"slackwater.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    requests = {"cpu": cpu, "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"slackwater.io/app": app, "slackwater.io/role": role},
            "annotations": {"slackwater.io/lab-duration": "100000", **notes},
        },
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "m", "image": "none", "resources": {"requests": requests}}],
        },
    }


class Replica:
    """One operator process."""

    def __init__(self, lab: Any, identity: str, port: int) -> None:
        settings = {
            "KUBECONFIG": str(lab.site.kubeconfig),
            "IDENTITY": identity,
            "HOST": "127.0.0.1",
            "HEALTH_PORT": str(port),
            "METRICS_PORT": "0",
            "EXTENDER_URL": lab.site.url("extender"),
            "LEASE_SECONDS": "5",
            "LOG_FORMAT": "console",
            "TRACK_SECONDS": "1",
        }
        environment = {**os.environ, **{f"SLACKWATER_OPERATOR_{key}": value for key, value in settings.items()}}
        self.log = lab.site.folder / f"{identity}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "slackwater_operator.main"], env=environment, stdout=log, stderr=log
            )
        self.health = f"http://127.0.0.1:{port}/healthz"

    def end(self, how: int = signal.SIGTERM) -> int:
        """Stop it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(30)


def fresh(kube: Any, name: str) -> str:
    """A managed namespace whose policy is in force; returns the path of its pods."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    kube.namespace(name, slackwater_io__managed="true", slackwater_io__policy="live")
    where = f"/api/v1/namespaces/{name}/pods"
    until(lambda: "schedulingGates" in kube.post(f"{where}?dryRun=All", pod("probe", "probe")).body.get("spec", {}))
    return where


def bound(kube: Any, where: str) -> int:
    """How many pods have a node."""
    return sum("nodeName" in each["spec"] for each in kube.get(where).body["items"])


def wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait, or fail."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    until(condition, seconds, 0.2)
