"""YuniKorn's scheduler with one queue for each namespace, which is its shipped placement rule.

The label `applicationId` tells which application a pod is of. With gangs (`yunikorn-gang`) a job's first pod names its
task groups, as the documentation has it for Spark: YuniKorn then holds room for all tasks by placeholder pods (style
Hard, time-out 300 s, so that no job starts without its room). The page of queues listens on this machine only; its
address is fixed in the source, and was changed there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater_lab.peers import definitions
from slackwater_lab.peers.peer import Peer, dressed, first
from slackwater_lab.peers.sources import GoSource, path_of
from slackwater_lab.processes.waiting import answers, until_serving

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ApiClient
    from slackwater_lab.lab import Lab
    from slackwater_lab.live.drivers import Ask
    from slackwater_lab.live.play import Create
    from slackwater_lab.live.pods import Stage
    from slackwater_lab.live.workload import Play, Size

_SERVICE = "_copies/yunikorn-core/pkg/webservice/webservice.go"
YUNIKORN = GoSource(
    "yunikorn-scheduler",
    "github.com/apache/yunikorn-k8shim",
    "v1.8.0",
    "./pkg/cmd/shim",
    copies=("github.com/apache/yunikorn-core@v1.8.0-1",),
    edits=((_SERVICE, '":9080"', '"127.0.0.1:9080"'),),
)
NAMESPACE = "yunikorn"
GROUP = "yunikorn.apache.org"
QUEUES = """
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
    queues:
      - name: root
        submitacl: '*'
"""


class Yunikorn(Peer):
    """A scheduler of its own, with applications in queues."""

    name = "yunikorn"
    told = "the application's name"
    scheduler = "yunikorn"
    parts = frozenset({"kwok"})
    sources = (YUNIKORN,)

    @property
    def version(self) -> str:
        """YuniKorn's own."""
        return f"YuniKorn {YUNIKORN.version}"

    def start(self, lab: Lab) -> None:
        """Its configuration first; then the program, until its page answers."""
        with lab.api() as api:
            definitions.namespace(api, NAMESPACE)
            _configure(api)
        settings = {"KUBECONFIG": str(lab.site.kubeconfig), "NAMESPACE": NAMESPACE}
        lab.processes.start("yunikorn", [path_of(YUNIKORN)], settings)
        until_serving(lab.processes, "yunikorn", lambda: answers("http://127.0.0.1:9080/ws/v1/partitions"))

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """The pod with its application."""
        return dressed(super().creates(ask, stage), {"applicationId": ask.play.id}, {})


class YunikornGang(Yunikorn):
    """Room for the whole job is held by placeholders."""

    name = "yunikorn-gang"
    told = "the application's name; number and size of its tasks, on its first pod"

    def creates(self, ask: Ask, stage: Stage) -> Sequence[Create]:
        """The first pod says what will come; each pod names its group."""
        if ask.play.driver is None and not ask.play.gang:
            return super().creates(ask, stage)
        notes = {f"{GROUP}/task-group-name": ask.part.name if ask.part else "driver"}
        if first(ask):
            notes |= {
                f"{GROUP}/task-groups": json.dumps(task_groups(ask.play)),
                f"{GROUP}/schedulingPolicyParameters": "placeholderTimeoutInSeconds=300 gangSchedulingStyle=Hard",
            }
        return dressed(super().creates(ask, stage), {}, notes)


def task_groups(play: Play) -> list[dict[str, object]]:
    """The driver, if there is one, and each stage."""
    parts = [_group(part.name, len(part.durations), part.size) for part in play.parts]
    return [_group("driver", 1, play.driver), *parts] if play.driver else parts


def _group(name: str, members: int, size: Size) -> dict[str, object]:
    resources = {"cpu": f"{round(size.cpu * 1000)}m", "memory": f"{size.memory:.0f}"}
    return {"name": name, "minMember": members, "minResource": resources}


def _configure(api: ApiClient) -> None:
    body = {"metadata": {"name": "yunikorn-configs"}, "data": {"queues.yaml": QUEUES}}
    api.create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
