"""One answer per question, also from who lifts gates and who shuts them: watchdog, hook, command, webhook, operator.

The same objects as in `test_conformance.py`, with parked pods, gates and schedulers of others, pods that go, and nodes.
"""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, cast

import httpx2
import msgspec
import pytest

from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.mutation import mutation
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.gate import lifted
from slackwater_cluster.pods.unbound import UnboundPod
from slackwater_cluster.pods.ungate import Ungater
from slackwater_monitor.release import held
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings
from slackwater_operator.webhook.policyview import POLICY, PolicyView
from support.builders.mixedcluster import NAMESPACES, POLICIES, MixedCluster, Object
from support.lab.chart import CHART

OURS = ("team", "other")  # the managed namespaces


@pytest.fixture(params=range(5))
def cluster(request: pytest.FixtureRequest) -> MixedCluster:
    """Generated objects, some of which are in every other state."""
    made = MixedCluster(request.param)
    for pod in made.pods:
        meta, spec, luck = pod["metadata"], pod["spec"], made.rng.random()
        if luck < 0.1:
            spec["schedulingGates"], meta["annotations"][names.PARKED] = [], "2026-01-01T00:00:00Z"
        elif luck < 0.2:
            spec["schedulingGates"].append({"name": "example.com/other"})
        elif luck < 0.3:
            spec["schedulingGates"] = [{"name": "example.com/other"}]
        elif luck < 0.4:
            spec["schedulingGates"] = []
        elif luck < 0.5:
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        elif luck < 0.6:
            spec["schedulerName"] = "default-scheduler"
        elif luck < 0.7:
            spec |= {"nodeName": "n0", "schedulingGates": []}
            pod["status"]["phase"] = "Running"
        if made.rng.random() < 0.5:
            meta["annotations"][names.REASON] = "no-room"
    return made


class Listed:
    """As much of an API server as is asked for pods that wait: pages of ten."""

    def __init__(self, pods: Iterable[Object]) -> None:
        self.pods = [pod for pod in pods if not pod["spec"].get("nodeName")]

    async def get(self, path: str, params: Mapping[str, str], **more: Any) -> Answer:
        """One page."""
        del more
        assert (path, params["fieldSelector"]) == ("/api/v1/pods", "spec.nodeName=,status.phase=Pending")
        start = int(params.get("continue") or 0)
        token = str(start + 10) if start + 10 < len(self.pods) else ""
        body = {"metadata": {"continue": token}, "items": self.pods[start : start + 10]}
        return Answer(200, msgspec.json.encode(body))


def lifters(cluster: MixedCluster, seen: list[UnboundPod] | None = None) -> dict[str, UnboundPod]:
    """What watchdog and hook lift gates of, by uid."""
    ungater = Ungater(cast("Session", Listed(cluster.pods)))
    found = asyncio.run(ungater.turns(seen=(seen if seen is not None else []).append))
    return {pod.uid: pod for pod in found}


def operator(cluster: MixedCluster) -> Program:
    """The operator's program with governance and pods."""
    program = Program(Settings())
    program._set_namespaces(cluster.namespaces())
    program._configuring(POLICY).changed(cluster.customs(POLICIES))
    program._set_pods(cluster.records())
    cluster.learn(program.cache.index, program.cache.learn)
    return program


def waits(pod: PodRecord) -> bool:
    """Whether a pod wants a node and is not going."""
    return not (pod.node or pod.done or pod.deleted)


def test_watchdog_and_hook_find_every_pod_that_the_operator_holds(cluster: MixedCluster) -> None:
    """And in managed namespaces none that it does not hold but for gates that were written by hand."""
    found, program = lifters(cluster), operator(cluster)
    states = {pod.uid: program.cache.state_of(pod) for pod in program.cache.index.pods()}
    records = {pod.uid: pod for pod in cluster.records()}
    holds = {
        uid
        for uid, state in states.items()
        if state in (PodState.HELD, PodState.PARKED)
        or (state in (PodState.BLOCKED, PodState.FOREIGN) and (records[uid].gated or records[uid].parked))
    }
    assert len(holds) > 20
    assert {uid for uid, pod in found.items() if pod.namespace in OURS and uid in states} == holds


def test_watchdog_hook_and_command_lift_the_same(cluster: MixedCluster) -> None:
    """The same pods, by the same patch; the operator's own also takes away a reason that it has just written."""
    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(cluster.serve))
    records = {pod.uid: pod for pod in cluster.records()}
    going = {uid for uid, pod in records.items() if pod.deleted}
    by_hand = {each.uid: each for each in held(api, None) if each.uid not in going}
    found = lifters(cluster)
    assert set(by_hand) == set(found)
    for uid, pod in found.items():
        patch = lifted(uid, pod.gates, pod.marks)
        assert patch == lifted(uid, by_hand[uid].gates, by_hand[uid].marks)
        assert patch == lifted(uid, records[uid].gates, records[uid].annotations)


@pytest.fixture(scope="module")
def hook() -> Iterator[ModuleType]:
    """The hook before uninstall, as the chart holds it."""
    spec = importlib.util.spec_from_file_location("leaving", CHART / "files" / "hooks" / "leave.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["leaving"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["leaving"]


def test_the_hook_waits_for_every_pod_that_somebody_would_wait_for_in_vain(
    cluster: MixedCluster, hook: ModuleType
) -> None:
    """Those that name our scheduler, and those that our gate or mark holds, wherever they are."""
    look, seen = hook.Look(), list[UnboundPod]()
    lifters(cluster, seen)
    for pod in seen:
        look.see(pod)
    waiting = [
        pod for pod in cluster.records() if waits(pod) and (pod.scheduler == names.SCHEDULER or pod.gated or pod.parked)
    ]
    assert look.waiting == len(waiting)
    assert look.held == sum(pod.gated or pod.parked for pod in waiting)


def webhook(cluster: MixedCluster) -> PolicyView:
    """What the webhook knows, by its own feeds."""
    view = PolicyView(cast("Session", None))
    view._namespaces.changed(cluster.namespaces())
    view._policies.changed(cluster.customs(POLICIES))
    for feed in (view._namespaces, view._policies):
        feed.synced()
    return view


@pytest.mark.parametrize("namespace", NAMESPACES)
async def test_the_webhook_goes_by_the_policy_that_the_operator_goes_by(namespace: str) -> None:
    """And holds the same gate open."""
    cluster = MixedCluster(0)
    governing = operator(cluster).cache.governing
    found = await webhook(cluster).policy(namespace)
    assert found is not None
    assert found[0] == governing.policy(namespace)
    assert found[1] == governing.gate_open(governing.namespaces[namespace].policy)


async def test_what_the_webhook_writes_is_what_the_operator_reads(cluster: MixedCluster) -> None:
    """The role at creation, which may only become that of a driver, and what the pod declared."""
    view, rules = webhook(cluster), builtin().rules()
    before = {pod.uid: pod for pod in cluster.records()}
    roles: dict[str, str] = {}
    for pod in cluster.pods:
        found = await view.policy(pod["metadata"]["namespace"])
        if found is None or pod["metadata"]["namespace"] not in OURS:
            continue
        fresh = copy.deepcopy(pod)
        for key in names.SEALED:
            fresh["metadata"]["annotations"].pop(key, None)
        for each in mutation(fresh, found[0], rules):
            where: Any = pod
            *path, last = each["path"].strip("/").split("/")
            for step in path:
                where = where[int(step)] if isinstance(where, list) else where[step]
            where[last] = each["value"]
        roles[pod["metadata"]["uid"]] = pod["metadata"]["annotations"][names.ADMITTED_ROLE]
    assert set(roles.values()) == {names.DRIVER, names.TASK, names.UNKNOWN}
    program = operator(cluster)
    for uid, admitted in roles.items():
        record, member = program.cache.index.pod(uid), program.cache.index.member(uid)
        if record is None or member is None:
            continue
        assert record.declared == before[uid].native
        allowed = {names.DRIVER: {Role.DRIVER}, names.TASK: {Role.DRIVER, Role.TASK}}.get(admitted, set(Role))
        assert role_of(record, member) in allowed
