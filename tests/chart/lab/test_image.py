"""The image runs on a real kubelet under the chart: real containers and probes, the chart's accounts and certificates.

Needs root and an archive of the image (docker-archive, named slackwater:VERSION): SLACKWATER_IMAGE=/path/to/it.tar.
What a cluster's network would bring is replaced: names of Services stand in /etc/hosts, and the API server is
reached through a door on the lab's bridge, because there is no kube-proxy and no cluster DNS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.lab.chart import CHART, NAMESPACE, call

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

ARCHIVE = os.environ.get("SLACKWATER_IMAGE", "")
SCHEDULER = "registry.k8s.io/kube-scheduler:v1.36.4"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PLACE = "nodeSelector.slackwater\\.io/lab-node=real"


@pytest.fixture(scope="module")
def real() -> Iterator[Any]:
    """A lab with one real node that has our image, and the stock scheduler's."""
    if not ARCHIVE:
        pytest.skip("SLACKWATER_IMAGE names no archive of the image")
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    realnodes = pytest.importorskip("slackwater_lab.nodes.real")
    if problems := realnodes.obstacles():
        pytest.skip("; ".join(problems))
    with labs.Lab.start("chart-image", parts=["kwok", "scheduler"], nodes=2, real_nodes=1) as lab:
        load(lab, Path(ARCHIVE))
        load(lab, stock_scheduler(lab.site.folder / "real" / "images" / "kube-scheduler.tar"))
        yield lab


def load(lab: Any, archive: Path) -> None:
    """Give an image to the real node's containerd."""
    from slackwater_lab.processes.command import run  # noqa: PLC0415 - needs the lab

    node = lab.real.node(1)
    control = [*lab.real._inside(), "ctr", f"--address={node.socket}", "--namespace=k8s.io"]
    run([*control, "images", "import", str(archive)])


def stock_scheduler(path: Path) -> Path:
    """The lab's own kube-scheduler, packed under the name of the published image."""
    from slackwater_lab.programs import images  # noqa: PLC0415
    from slackwater_lab.programs.build import built  # noqa: PLC0415

    layer = images.layer({"bin/kube-scheduler": Path(built("kube-scheduler"))}, {})
    path.write_bytes(images.archive(SCHEDULER, layer, []))
    return path


@pytest.fixture(scope="module")
def running(real: Any) -> Iterator[Any]:
    """The chart on that node, all its Deployments available."""
    from slackwater_lab.nodes import network  # noqa: PLC0415
    from support.lab.forwarding import Door  # noqa: PLC0415
    from support.lab.session import Kube  # noqa: PLC0415

    gateway = network.of(real.site.ports).gateway
    options = [f"--set={part}.{PLACE}" for part in ("extender", "operator", "scheduler")]
    options += ["--set=image.pullPolicy=Never,scheduler.image.pullPolicy=Never,policy.spec.mode=enforce", "--no-hooks"]
    where = ("--namespace", NAMESPACE, "--kubeconfig", str(real.site.kubeconfig))
    with Door(gateway, ("127.0.0.1", real.site.ports["apiserver"])) as door, Kube(real.site) as kube:
        done = call("install", "slackwater", str(CHART), *where, "--create-namespace", *options, seconds=120)
        assert done.returncode == 0, done.stderr
        connect(kube, "extender", {"kubernetes.default.svc": gateway}, door.port)
        available(kube, "extender")
        (pod,) = kube.get(PODS, labelSelector="app.kubernetes.io/component=extender").body["items"]
        known = {
            "kubernetes.default.svc": gateway,
            f"slackwater-extender.{NAMESPACE}.svc": pod["status"]["podIP"],
        }
        for name in ("operator", "scheduler"):
            connect(kube, name, known, door.port)
        for name in ("operator", "scheduler"):
            available(kube, name)
        yield kube


def connect(kube: Any, name: str, hosts: dict[str, str], port: int) -> None:
    """Tell a Deployment's pods the addresses that DNS and kube-proxy would have told."""
    path = f"{DEPLOYMENTS}/slackwater-{name}"
    container = kube.get(path).body["spec"]["template"]["spec"]["containers"][0]["name"]
    env = [
        {"name": "KUBERNETES_SERVICE_HOST", "value": "kubernetes.default.svc"},
        {"name": "KUBERNETES_SERVICE_PORT", "value": str(port)},
    ]
    spec = {
        "hostAliases": [{"ip": address, "hostnames": [host]} for host, address in hosts.items()],
        "containers": [{"name": container, "env": env}],
    }
    answer = kube.patch(
        path, {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}, "template": {"spec": spec}}}
    )
    assert answer.ok, answer.message


def available(kube: Any, name: str) -> None:
    """Wait until every pod of a Deployment is ready; else say what its containers said."""
    from support.lab.hooks import eventually  # noqa: PLC0415 - needs the lab

    def there() -> bool:
        found = kube.get(f"{DEPLOYMENTS}/slackwater-{name}").body
        status, wanted = found["status"], found["spec"]["replicas"]
        return bool(
            status.get("observedGeneration") == found["metadata"]["generation"]
            and status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas") == wanted
        )

    def why() -> str:
        pods = kube.get(PODS, labelSelector=f"app.kubernetes.io/component={name}").body["items"]
        return str([each["status"].get("containerStatuses", each["status"]) for each in pods])

    eventually(there, 180, why)


def test_all_programs_run_as_nobody_in_particular(running: Any) -> None:
    """Every container runs on the real node, never restarted, under its limits and as user 65532."""
    pods = running.get(PODS).body["items"]
    assert len(pods) == 5
    for pod in pods:
        assert pod["spec"]["nodeName"] == "real-1"
        assert pod["spec"]["securityContext"]["runAsUser"] == 65532
        assert [each["restartCount"] for each in pod["status"]["containerStatuses"]] == [0]


def test_a_task_is_gated_shrunk_released_and_placed(running: Any) -> None:
    """The whole way of a pod, decided by containers: policy, operator, extender, stock scheduler."""
    from support.lab.hooks import eventually  # noqa: PLC0415 - needs the lab

    namespace = running.namespace("containers", slackwater_io__managed="true")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    task = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "task", "labels": {"slackwater.io/role": "task"}},
        "spec": {
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}],
        },
    }
    assert running.post(pods, task).ok
    eventually(
        lambda: bool(running.get(f"{pods}/task").body["spec"].get("nodeName")),
        60,
        lambda: str(running.get(f"{pods}/task").body),
    )
    made = running.get(f"{pods}/task").body
    assert made["spec"]["schedulerName"] == "slackwater"
    assert made["metadata"]["annotations"]["slackwater.io/declared-cpu"] == "2000m"
    assert made["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
