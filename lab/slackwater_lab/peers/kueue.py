"""kueue with one ClusterQueue whose quota is the whole cluster, in front of the stock scheduler.

The queue is BestEffortFIFO and preempts lower priority; integrations are pods and Jobs; the client's rate limits are
raised to 300 (burst 500). As plain pods each pod is a workload of its own. As pod groups a job is one workload with the
size of driver and tasks, admitted as a whole when its first pod comes (`pod-group-fast-admission`). Webhooks run on
this machine with a certificate of the lab's authority. One line of source is changed: the metrics certificate's folder.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import yaml

from slackwater_lab.controlplane import certificates
from slackwater_lab.peers import definitions
from slackwater_lab.peers.peer import Peer, dressed
from slackwater_lab.peers.sources import GoSource, folder, path_of
from slackwater_lab.processes.waiting import answers, until_serving

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ApiClient
    from slackwater_lab.lab import Lab
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.play import Create
    from slackwater_lab.live.pods import Stage

KUEUE = GoSource(
    "kueue",
    "sigs.k8s.io/kueue",
    "v0.19.2",
    "./cmd/kueue",
    edits=(("cmd/kueue/main.go", '"/etc/kueue/metrics/certs"', 'os.Getenv("KUEUE_METRICS_CERTS")'),),
)
WEBHOOK, HEALTH = 0, 1  # ports
GROUP = "kueue.x-k8s.io"
API = f"/apis/{GROUP}/v1beta2"
QUEUE = "league"
# Webhooks of other frameworks have nothing to do here.
SERVED = {"pods", "jobs", "workloads", "workloads/status", "clusterqueues", "resourceflavors", "cohorts", "localqueues"}


class KueuePods(Peer):
    """Every pod waits for quota by itself."""

    name = "kueue"
    told = "the name of a queue"
    sources = (KUEUE,)

    @property
    def version(self) -> str:
        """kueue's, and the scheduler's."""
        return f"kueue {KUEUE.version}, {super().version}"

    def start(self, lab: Lab) -> None:
        """Custom resources first, then the program, then its webhooks."""
        certs = lab.site.folder / "kueue-certs"
        certs.mkdir(exist_ok=True)
        certificates.serving(lab.site.certificates, "kueue", "IP:127.0.0.1")
        for ending in ("key", "crt"):
            shutil.copy(lab.site.certificates / f"kueue.{ending}", certs / f"tls.{ending}")
        with lab.api() as api:
            definitions.namespace(api, "kueue-system")
        definitions.install(lab.site, folder(KUEUE) / "config/components/crd/bases")
        config = lab.site.write("kueue.yaml", yaml.safe_dump(configuration(lab, str(certs))))
        command = [path_of(KUEUE), f"--config={config}", "--feature-gates=VisibilityOnDemand=false"]
        settings = {"KUBECONFIG": str(lab.site.kubeconfig), "KUEUE_METRICS_CERTS": str(certs)}
        lab.processes.start("kueue", command, settings)
        health = f"http://127.0.0.1:{lab.site.ports.peer(HEALTH)}/readyz"
        until_serving(lab.processes, "kueue", lambda: answers(health))
        self._webhooks(lab)

    def _webhooks(self, lab: Lab) -> None:
        authority = base64.b64encode((lab.site.certificates / "ca.crt").read_bytes()).decode()
        written = (folder(KUEUE) / "config/components/webhook/manifests.yaml").read_text()
        url = f"https://127.0.0.1:{lab.site.ports.peer(WEBHOOK)}"
        with lab.api() as api:
            for body in webhooks(written, url, authority):
                plural = f"{body['kind'].lower()}s"
                definitions.create(api, f"/apis/admissionregistration.k8s.io/v1/{plural}", body)

    def prepare(self, api: ApiClient, namespace: str, cores: float, memory: float) -> None:
        """A flavor, a queue with the whole cluster, and the namespace's way to it."""
        quota = [
            {"name": "cpu", "nominalQuota": f"{cores:g}"},
            {"name": "memory", "nominalQuota": f"{memory:.0f}"},
        ]
        group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": QUEUE, "resources": quota}]}
        spec = {
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [group],
        }
        _create(api, f"{API}/resourceflavors", "ResourceFlavor", {})
        _create(api, f"{API}/clusterqueues", "ClusterQueue", spec)
        _create(api, f"{API}/namespaces/{namespace}/localqueues", "LocalQueue", {"clusterQueue": QUEUE})

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """The pod with the queue's name."""
        return dressed(super().creates(ask, stage), {f"{GROUP}/queue-name": QUEUE}, {})


class KueueGroups(KueuePods):
    """A job's driver and tasks are one workload."""

    name = "kueue-groups"
    told = "the name of a queue; the number of pods of the job, on each of them"

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """The pod as a member of its job."""
        count = ask.play.tasks + (ask.play.driver is not None)
        notes = {f"{GROUP}/pod-group-total-count": str(count), f"{GROUP}/pod-group-fast-admission": "true"}
        return dressed(super().creates(ask, stage), {f"{GROUP}/pod-group-name": ask.play.id}, notes)


def configuration(lab: Lab, certs: str) -> dict[str, Any]:
    """As the manual's default, with our addresses and without leader election."""
    workers = {"Job.batch": 5, "Pod": 5, "Workload": 10, "LocalQueue": 5, "ClusterQueue": 5, "ResourceFlavor": 1}
    return {
        "apiVersion": f"config.{GROUP}/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{lab.site.ports.peer(HEALTH)}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": lab.site.ports.peer(WEBHOOK), "certDir": certs},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "controller": {
            "groupKindConcurrency": {
                kind if "." in kind or kind == "Pod" else f"{kind}.{GROUP}": number for kind, number in workers.items()
            }
        },
        "integrations": {"frameworks": ["batch/job", "pod"]},
    }


def webhooks(written: str, url: str, authority: str) -> list[dict[str, Any]]:
    """The webhooks of kueue's own manifests that have something to do here, served at an address of this machine."""
    found = [body for body in yaml.safe_load_all(written) if body]
    for body in found:
        body["metadata"]["name"] = f"kueue-{body['metadata']['name']}"
        body["webhooks"] = [
            {
                **hook,
                "clientConfig": {"url": url + hook["clientConfig"]["service"]["path"], "caBundle": authority},
            }
            for hook in body["webhooks"]
            if all(set(rule["resources"]) <= SERVED for rule in hook["rules"])
        ]
    return found


def _create(api: ApiClient, path: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": {"name": QUEUE}, "spec": spec}
    definitions.create(api, path, body)
