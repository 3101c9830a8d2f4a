"""Submits Spark applications to a lab as a user would: `spark-submit` from this machine, cluster or client mode."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.imagefiles import SPARK
from slackwater_lab.site import Site

ACCOUNT = "spark"
JOBS = "local:///opt/jobs"


@dataclass(frozen=True, slots=True)
class Submission:
    """One application: its name, its program in the image with arguments, and settings beside Spark's defaults."""

    name: str
    namespace: str
    program: str
    arguments: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def command(site: Site, wanted: Submission) -> list[str]:
    """The command line in cluster mode: it ends once the driver was made, unless told to wait."""
    settings = {
        "spark.kubernetes.namespace": wanted.namespace,
        "spark.kubernetes.authenticate.driver.serviceAccountName": ACCOUNT,
        "spark.kubernetes.container.image": SPARK,
        "spark.kubernetes.container.image.pullPolicy": "Never",
        "spark.kubernetes.submission.waitAppCompletion": "false",
        **wanted.settings,
    }
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    master = f"k8s://{site.url('apiserver', 'https')}"
    start = [str(home() / "bin" / "spark-submit"), "--master", master, "--deploy-mode", "cluster"]
    return [*start, "--name", wanted.name, *confs, f"{JOBS}/{wanted.program}", *wanted.arguments]


def client_command(site: Site, wanted: Submission, address: str) -> list[str]:
    """The command line in client mode: the driver is this process, as in a notebook; executors call `address`."""
    own = {"spark.driver.host": address, "spark.driver.bindAddress": address, **wanted.settings}
    cluster = command(site, Submission(wanted.name, wanted.namespace, wanted.program, wanted.arguments, own))
    mode = cluster.index("--deploy-mode") + 1
    local = str(layers.JOBS / wanted.program)
    return [
        *cluster[:mode],
        "client",
        *(local if word == f"{JOBS}/{wanted.program}" else word for word in cluster[mode + 1 :]),
    ]


def submit(site: Site, wanted: Submission) -> subprocess.Popen[bytes]:
    """Start a submission; whoever waits for it reads its log."""
    log = site.folder / "logs" / f"submit-{wanted.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own command line, without a shell
            command(site, wanted), env=environment(site), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def home() -> Path:
    """Where Spark is on this machine."""
    return layers.spark_home() / "deps"


def environment(site: Site) -> dict[str, str]:
    """What `spark-submit` needs to find the cluster and itself; a small heap, as it only writes a few objects."""
    return {
        **os.environ,
        "SPARK_HOME": str(home()),
        "PYTHONPATH": os.pathsep.join(
            [str(layers.spark_home()), *map(str, (layers.spark_home() / "lib").glob("*.zip"))]
        ),
        "PYSPARK_PYTHON": "python3",
        "KUBECONFIG": str(site.kubeconfig),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": "-Xmx256m -XX:TieredStopAtLevel=1",
    }


def rights(namespace: str, account: str = ACCOUNT) -> list[dict[str, Any]]:
    """The service account of drivers and what Spark's documentation gives it: the role `edit`, in one namespace."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{account}-edit", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}
    return [made, binding]
