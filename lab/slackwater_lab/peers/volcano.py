"""Volcano's scheduler and controllers with the configuration of its chart, to which the action `preempt` is added.

A job with a driver is a PodGroup that asks for the resources of driver and tasks before it may begin (minMember 1, as
spark-submit's documentation has it); a gang is a PodGroup of all its members. A job of high priority states no
resources, so that it is let into the queue of a full cluster. The definitions of JobFlow are installed, too: without
them its controllers wait for ever. Its go.mod points to a folder that the published module has not: volcano.sh/apis is
taken from its own module, v1.14.0, the newest that is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slackwater_lab.peers import definitions
from slackwater_lab.peers.peer import Peer, dressed, first
from slackwater_lab.peers.sources import GoSource, folder, path_of
from slackwater_lab.processes.waiting import until

if TYPE_CHECKING:
    from slackwater_lab.lab import Lab
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.play import Create
    from slackwater_lab.live.pods import Stage
    from slackwater_lab.live.workload import Play

_VERSION = "v1.14.1"
_APIS = ("volcano.sh/apis=volcano.sh/apis@v1.14.0",)
SCHEDULER = GoSource("vc-scheduler", "volcano.sh/volcano", _VERSION, "./cmd/scheduler", _APIS)
CONTROLLERS = GoSource("vc-controller-manager", "volcano.sh/volcano", _VERSION, "./cmd/controller-manager", _APIS)
GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
DEFINED = ("config/crd/volcano/bases", "config/crd/jobflow/bases")
CONF = "installer/helm/chart/volcano/config/volcano-scheduler.conf"


class Volcano(Peer):
    """A scheduler of its own, with pod groups."""

    name = "volcano"
    told = "the resources of the whole job, or its members, in a PodGroup"
    scheduler = "volcano"
    parts = frozenset({"kwok"})
    sources = (SCHEDULER, CONTROLLERS)

    @property
    def version(self) -> str:
        """Volcano's own."""
        return f"Volcano {_VERSION}"

    def start(self, lab: Lab) -> None:
        """Custom resources, controllers, scheduler; it makes its default queue itself."""
        with lab.api() as api:
            definitions.namespace(api, "volcano-system")
            for each in DEFINED:
                definitions.install(lab.site, folder(SCHEDULER) / each)
            conf = lab.site.write("volcano-scheduler.conf", configuration((folder(SCHEDULER) / CONF).read_text()))
            access = [f"--kubeconfig={lab.site.kubeconfig}", "--leader-elect=false"]
            lab.processes.start("vc-controllers", [path_of(CONTROLLERS), *access, *_addresses(lab, 0)])
            files = [f"--scheduler-conf={conf}", "--cache-dumper=false"]
            lab.processes.start("vc-scheduler", [path_of(SCHEDULER), *access, *files, *_addresses(lab, 2)])
            until("volcano has its default queue", lambda: api.find(f"{GROUPS}/queues/default") is not None, 60.0)

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """The job's group with its first pod, and each pod as a member."""
        alone = super().creates(ask, stage)
        if ask.play.driver is None and not ask.play.gang:
            return alone
        path = f"{GROUPS}/namespaces/{stage.namespace}/podgroups"
        pod = dressed(alone, {}, {"scheduling.k8s.io/group-name": ask.play.id})
        return [(path, pod_group(ask.play)), *pod] if first(ask) else pod


def pod_group(play: Play) -> dict[str, Any]:
    """All members of a gang; for a job with a driver one member, and the resources of all."""
    cpu = sum(part.size.cpu * len(part.durations) for part in play.parts) + (play.driver.cpu if play.driver else 0.0)
    memory = sum(part.size.memory * len(part.durations) for part in play.parts)
    memory += play.driver.memory if play.driver else 0.0
    spec: dict[str, Any] = {"minMember": play.tasks if play.gang else 1, "queue": "default"}
    if play.priority:
        spec["priorityClassName"] = play.priority
    if "urgent" not in play.priority:
        spec["minResources"] = {"cpu": f"{cpu:g}", "memory": f"{memory:.0f}"}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": play.id},
        "spec": spec,
    }


def configuration(shipped: str) -> str:
    """The chart's, with preemption."""
    return shipped.replace('"enqueue, allocate, backfill"', '"enqueue, allocate, preempt, backfill"')


def _addresses(lab: Lab, first: int) -> list[str]:
    ports = lab.site.ports
    return [f"--healthz-address=127.0.0.1:{ports.peer(first)}", f"--listen-address=127.0.0.1:{ports.peer(first + 1)}"]
