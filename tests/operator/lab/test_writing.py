"""Every write the operator makes to pods, on a real API server, done twice."""

import asyncio
from typing import Any

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from slackwater_operator.clients.podwriter import PodWriter, WriteOutcome, Written

pytestmark = pytest.mark.lab

PODS = "/api/v1/namespaces/written/pods"


def gated(kube: Any, name: str) -> PodRecord:
    """A pod with our gate and a foreign one, as the watch would show it."""
    kube.namespace("written")
    container = {"name": "m", "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "schedulingGates": [{"name": names.GATE}, {"name": "example.com/other"}]},
    }
    answer = kube.post(PODS, body)
    assert answer.ok, answer.message
    return record(answer.body)


def record(body: Any) -> PodRecord:
    """A stored pod as a record."""
    return trim.pod(msgspec.json.decode(msgspec.json.encode(body), type=wire.Pod))


def twice(lab: Any, pod: PodRecord, method: str, *arguments: Any) -> Written:
    """Call a method of the writer two times; both must end alike."""

    async def call() -> Written:
        async with Session(endpoint(lab.site.kubeconfig)) as session:
            first: Written = await getattr(PodWriter(session), method)(pod, *arguments)
            second: Written = await getattr(PodWriter(session), method)(pod, *arguments)
            assert first.outcome is second.outcome
            return second

    return asyncio.run(call())


def test_release_nominates_and_lifts_our_gate_only(lab: Any, kube: Any) -> None:
    """The foreign gate stays, and a second time changes nothing."""
    pod = gated(kube, "released")
    assert twice(lab, pod, "release", "node-000").done
    stored = record(kube.get(f"{PODS}/released").body)
    assert (stored.gates, stored.nominated) == (("example.com/other",), "node-000")


def test_parking_marks_and_clears_the_nomination(lab: Any, kube: Any) -> None:
    """And un-parking undoes both."""
    pod = gated(kube, "parked")
    assert twice(lab, pod, "nominate", "node-000").done
    assert twice(lab, record(kube.get(f"{PODS}/parked").body), "park", "now").done
    stored = record(kube.get(f"{PODS}/parked").body)
    assert (stored.parked, stored.nominated) == (True, "")
    assert twice(lab, stored, "unpark", "node-001").done
    stored = record(kube.get(f"{PODS}/parked").body)
    assert (stored.parked, stored.nominated) == (False, "node-001")


def test_resize_changes_the_requests_of_a_gated_pod(lab: Any, kube: Any) -> None:
    """Before it is released, through the subresource."""
    pod = gated(kube, "resized")
    assert twice(lab, pod, "resize", Resources(cpu=1.5, memory=2.0**30)).done
    stored = record(kube.get(f"{PODS}/resized").body)
    assert (stored.native["cpu"], stored.native["memory"]) == (1.5, 2.0**30)


def test_a_successor_of_the_same_name_is_not_touched(lab: Any, kube: Any) -> None:
    """The patch names the uid of the pod that was meant."""
    old = gated(kube, "again")
    kube.delete(f"{PODS}/again")
    gated(kube, "again")
    assert twice(lab, old, "ungate").outcome is WriteOutcome.GONE
    assert names.GATE in record(kube.get(f"{PODS}/again").body).gates


def test_an_eviction_that_a_disruption_budget_forbids_is_refused(lab: Any, kube: Any) -> None:
    """With the API server's words; the pod stays, and nothing counts as a failure of the server."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    kube.namespace("written")
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "guarded", "labels": {"app": "guarded"}},
        "spec": {"containers": [{"name": "m", "image": "none"}]},
    }
    assert kube.post(PODS, body).ok
    until(lambda: kube.get(f"{PODS}/guarded").body["status"]["phase"] == "Running")
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": spec}
    assert kube.post("/apis/policy/v1/namespaces/written/poddisruptionbudgets", budget).ok
    refused = twice(lab, record(kube.get(f"{PODS}/guarded").body), "evict")
    assert refused.outcome is WriteOutcome.REFUSED
    assert "disruption budget" in refused.message
    assert "deletionTimestamp" not in kube.get(f"{PODS}/guarded").body["metadata"]
