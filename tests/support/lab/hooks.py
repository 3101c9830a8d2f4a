"""Runs the chart's hook Jobs where no container can run: the Job's own script, as the Job's own service account.

kwok says that a Job's pod runs, and nothing happens. The stand-in then does what kubelet would have done: it takes the
script from the pod's ConfigMap, runs it with the pod's environment and a token of its account, and reports the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slackwater_lab.controlplane.access import write_kubeconfig
from slackwater_lab.site import Site
from support.lab.chart import NAMESPACE
from support.lab.session import Kube

CORE = f"/api/v1/namespaces/{NAMESPACE}"
Object = dict[str, Any]


class Standin:
    """Kubelet for the pods of Jobs, as a thread beside helm."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site, self._folder = site, folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.said: dict[str, str] = {}  # what each script printed, by its Job

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        with Kube(self._site) as kube:
            while not self._stop.wait(0.2):
                found = kube.get(f"{CORE}/pods", labelSelector="batch.kubernetes.io/job-name")
                for pod in found.body.get("items", []):
                    if pod["status"].get("phase") == "Running":
                        self._do(kube, pod)

    def _do(self, kube: Kube, pod: Object) -> None:
        job = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        place = self._folder / pod["metadata"]["name"]
        self._mount(kube, pod, place)
        container = pod["spec"]["containers"][0]
        program, script = container["command"]
        assert program == "python"
        settings = {each["name"]: each["value"] for each in container.get("env", [])}
        environment = {
            **os.environ,
            "SLACKWATER_DEFINITIONS": str(place / "definitions"),
            **settings,
            "KUBECONFIG": str(account(self._site, kube, pod["spec"]["serviceAccountName"], place)),
        }
        done = subprocess.run(
            [sys.executable, str(place / script.lstrip("/"))],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.said[job] = done.stdout + done.stderr
        phase = "Failed" if done.returncode else "Succeeded"
        kube.patch(f"{CORE}/pods/{pod['metadata']['name']}/status", {"status": {"phase": phase}})

    def _mount(self, kube: Kube, pod: Object, place: Path) -> None:
        for volume in pod["spec"]["volumes"]:
            if "configMap" not in volume:
                continue
            data = kube.get(f"{CORE}/configmaps/{volume['configMap']['name']}").body["data"]
            folder = place / volume["name"]
            folder.mkdir(parents=True)
            for name, text in data.items():
                (folder / name).write_text(text, encoding="utf-8")


def account(site: Site, kube: Kube, name: str, folder: Path, **token: Any) -> Path:
    """A kubeconfig for one of the chart's service accounts."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600, **token},
    }
    granted = kube.post(f"{CORE}/serviceaccounts/{name}/token", body)
    assert granted.ok, granted.message
    path = folder / f"{name}.kubeconfig"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_kubeconfig(site, path, granted.body["status"]["token"])
    return path


def eventually(condition: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Wait for a condition; what is said otherwise is asked only then."""
    gate = threading.Event()
    for _ in range(int(seconds * 5)):
        if condition():
            return
        gate.wait(0.2)
    raise AssertionError(otherwise())
