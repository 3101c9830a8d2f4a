"""Who ends programs of the cluster under test and brings them back: of a lab its processes, of a kind cluster its pods.

Programs go by the lab's names: extender, operator, slackwater-scheduler, prometheus, apiserver; an operator also by the
identity that its Lease names.
"""

import subprocess
from dataclasses import dataclass
from typing import Any, Protocol

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_lab.lab import Lab
from support.lab.testnamespace import until

SYSTEM, MONITORING = "slackwater-system", "monitoring"


class Crew(Protocol):
    """Ends programs as a crash would, lets them hang, and makes the cluster whole again."""

    def kill(self, name: str) -> None:
        """End a program without warning; it stays away until it is started again."""

    def restart(self, name: str) -> None:
        """Start a program again and wait until it serves."""

    def freeze(self, name: str) -> None:
        """Let a program hang: it keeps its connections and answers nothing."""

    def thaw(self, name: str) -> None:
        """Let a frozen program go on."""

    def mend(self) -> None:
        """Start and thaw whatever was killed or frozen."""


@dataclass(frozen=True, slots=True)
class LabCrew:
    """The processes of a lab."""

    lab: Lab

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.lab.processes.kill(name)

    def restart(self, name: str) -> None:
        """With the command line it had."""
        self.lab.restart(name)

    def freeze(self, name: str) -> None:
        """SIGSTOP."""
        self.lab.processes.freeze(name)

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        self.lab.processes.thaw(name)

    def mend(self) -> None:
        """Thaw all, then start what has ended."""
        for started in self.lab.processes.all():
            self.lab.processes.thaw(started.name)
        self.lab.repair()


@dataclass(frozen=True, slots=True)
class Part:
    """A Deployment and how the command lines of its processes read."""

    namespace: str
    name: str
    command: str
    replicas: int = 1

    @property
    def path(self) -> str:
        """Where the Deployment is."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}"


_OPERATOR = Part(SYSTEM, "slackwater-operator", "bin/slackwater-operator", 2)
PARTS = {
    "extender": Part(SYSTEM, "slackwater-extender", "bin/slackwater-extender"),
    "operator": _OPERATOR,
    "operator-2": _OPERATOR,
    "slackwater-scheduler": Part(SYSTEM, "slackwater-scheduler", "kube-scheduler --config=/etc/slackwater"),
    "prometheus": Part(MONITORING, "prometheus", "prometheus --config.file"),
}
# Its words come by the environment: on its own command line it would find itself.
TELL = """
for pid in $(pgrep -f -- "$COMMAND"); do
  if [ -z "$POD" ] || grep -qz "^HOSTNAME=$POD$" "/proc/$pid/environ"; then kill "-$SIGNAL" "$pid"; fi
done
"""


@dataclass(frozen=True, slots=True)
class KindCrew:
    """The pods of a kind cluster of one node; signals are sent inside the node, as root there."""

    api: ApiClient
    cluster: str

    def kill(self, name: str) -> None:
        """SIGKILL; then the Deployment is scaled to nothing, before kubelet notices that a container is missing."""
        if name == "apiserver":
            self._tell("KILL", "kube-apiserver --")
        elif part := PARTS.get(name):
            self._tell("KILL", part.command)
            self._scale(part, 0)
            self._forget(part)
        else:
            self._tell("KILL", _OPERATOR.command, name)
            self.api.delete(f"/api/v1/namespaces/{SYSTEM}/pods/{name}", {"gracePeriodSeconds": "0"})

    def restart(self, name: str) -> None:
        """Kubelet brings the API server back by itself, a Deployment its pods."""
        if name == "apiserver":
            until("the API server is back", self.api.ready, 60, 0.2)
            return
        part = PARTS.get(name, _OPERATOR)
        self._scale(part, part.replicas)
        until(f"{part.name} is ready", lambda: self._ready(part), 90, 0.2)

    def freeze(self, name: str) -> None:
        """SIGSTOP."""
        self._tell("STOP", PARTS[name].command)

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        self._tell("CONT", PARTS[name].command)

    def mend(self) -> None:
        """Thaw all, and have as many pods of each as there were."""
        until("the API server is ready", self.api.ready, 60, 0.2)
        for name, part in PARTS.items():
            self.thaw(name)
            if not self._ready(part):
                self.restart(name)

    def _tell(self, word: str, command: str, pod: str = "") -> None:
        words = [f"--env={key}={value}" for key, value in (("SIGNAL", word), ("COMMAND", command), ("POD", pod))]
        subprocess.run(
            ["docker", "exec", *words, f"{self.cluster}-control-plane", "sh", "-c", TELL], check=True, timeout=30
        )

    def _scale(self, part: Part, replicas: int) -> None:
        self.api.patch(part.path, {"spec": {"replicas": replicas}}, STRATEGIC)

    def _forget(self, part: Part) -> None:
        """Delete its pods without a grace time, so that none lingers."""
        pods = f"/api/v1/namespaces/{part.namespace}/pods"
        for pod in self._found(pods)["items"]:
            if pod["metadata"].get("generateName", "").startswith(f"{part.name}-"):
                self.api.delete(f"{pods}/{pod['metadata']['name']}", {"gracePeriodSeconds": "0"})

    def _ready(self, part: Part) -> bool:
        found = self._found(part.path)
        return bool(found["spec"]["replicas"] == part.replicas == found["status"].get("readyReplicas", 0))

    def _found(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] | None = self.api.find(path)
        assert found is not None, f"{path} is not there"
        return found
