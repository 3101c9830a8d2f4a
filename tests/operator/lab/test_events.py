"""Our events on a real API server: every kind is taken, and a namespace that is being deleted takes none."""

import asyncio
import time
from typing import Any

import pytest

from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.metrics import Metrics
from slackwater_operator.status.events import EventWriter, Happened, Happening

pytestmark = pytest.mark.lab


def posted(lab: Any, *happened: Happened) -> dict[str, float]:
    """Post events and count what became of them."""
    metrics = Metrics()

    async def run() -> None:
        async with Session(endpoint(lab.site.kubeconfig)) as session:
            speaker = EventWriter(session, metrics, time.time, TokenBucket(100, 100, time.time))
            for number, each in enumerate(happened):
                speaker.add(f"app-{number}", each)
            await speaker.post()

    asyncio.run(run())
    results = ("posted", "refused", "dropped", "gone")
    counts = {result: metrics.events.labels(result)._value.get() for result in results}
    return {result: count for result, count in counts.items() if count}


def test_every_kind_of_event_is_accepted(lab: Any, kube: Any) -> None:
    """Long names, names that end in a digit or hold dots, long sentences with signs of several bytes."""
    namespace = kube.namespace("events-1")
    names = ("t", "a.b.c", "x" * 253, f"{'y' * 57}.{'z' * 60}", f"{'v' * 57}-w")
    pods = [PodRecord(name=name, uid=f"uid-{name[:5]}", namespace=namespace) for name in names]
    words = "a task asks for 2 × 64 GiB − 1 " * 60
    found = posted(lab, *(Happened(what, pod, words) for pod in pods for what in Happening))
    assert found == {"posted": len(names) * len(Happening)}


def test_namespace_under_deletion_takes_no_events(lab: Any, kube: Any) -> None:
    """One is tried and refused; the rest is not even tried, and none counts as an error."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    namespace = kube.namespace("events-2")
    keeper = {"name": "keeper", "finalizers": ["slackwater.io/test"]}
    where = f"/api/v1/namespaces/{namespace}"
    assert kube.post(f"{where}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": keeper}).ok
    kube.delete(where)
    until(lambda: kube.get(where).body.get("status", {}).get("phase") == "Terminating")
    pod = PodRecord(name="t", uid="uid-t", namespace=namespace)
    try:
        assert posted(lab, *(Happened(what, pod, "words") for what in Happening)) == {"gone": len(Happening)}
    finally:
        kube.patch(f"{where}/configmaps/keeper", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
