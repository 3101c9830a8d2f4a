"""What the API server says to custom resources that cannot be meant."""

from typing import Any

import pytest

pytestmark = pytest.mark.lab

# kind, spec, and the words that must stand in the refusal
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "label in both lists": (
        "slackpolicies",
        {"driverLabels": [{"key": "a", "values": ["x"]}], "taskLabels": [{"key": "a"}]},
        "remove it from one list",
    ),
    "driver label without values": ("slackpolicies", {"driverLabels": [{"key": "a", "values": []}]}, "values"),
    "reclaim without enforce": ("slackpolicies", {"reclaim": {"enabled": True}}, "only mode enforce allows"),
    "no score at all": (
        "slackpolicies",
        {"score": {"fitnessWeight": 0, "networkWeight": 0}},
        "make one of them positive",
    ),
    "unknown mode": ("slackpolicies", {"mode": "destroy"}, "observe"),
    "ceiling below one": ("slackpolicies", {"ceiling": {"cpuPercent": 50}}, "greater than or equal to 100"),
    "negative quantity": ("admissionqueues", {"capacity": {"maximum": {"cpu": "-4"}}}, "at least 0"),
    "negative integer": ("admissionqueues", {"capacity": {"maximum": {"cpu": -4}}}, "at least 0"),
    "no quantity": (
        "admissionqueues",
        {"capacity": {"maximum": {"memory": "3 gigs"}}},
        "for example 64, 500m or 256Gi",
    ),
    "stated without maximum": ("admissionqueues", {"capacity": {"source": "stated"}}, "maximum is empty"),
    "weights without fair": ("admissionqueues", {"weights": {"a": 2}}, "set order to fair"),
    "weight of a stranger": (
        "admissionqueues",
        {"order": "fair", "namespaces": ["a"], "weights": {"b": 2}},
        "does not serve",
    ),
    "namespace twice": ("admissionqueues", {"namespaces": ["a", "a"]}, "name each once"),
    "moved after parked": (
        "admissionqueues",
        {"release": {"timeoutSeconds": 5, "unschedulableSeconds": 9}},
        "must be below timeoutSeconds",
    ),
    "relief beyond all memory": (
        "admissionqueues",
        {"relief": {"memoryPercent": 101}},
        "less than or equal to 100",
    ),
    "bounds swapped": ("reservationpools", {"delta": {"minimum": 0.4, "maximum": 0.2}}, "swap them"),
    "initial outside": ("reservationpools", {"delta": {"initial": 0.1, "minimum": 0.3}}, "between them"),
}


def body(plural: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A custom resource of the kind with this plural."""
    kinds = {"slackpolicies": "SlackPolicy", "admissionqueues": "AdmissionQueue", "reservationpools": "ReservationPool"}
    return {"apiVersion": "slackwater.io/v1alpha1", "kind": kinds[plural], "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(("plural", "spec", "words"), REFUSED.values(), ids=REFUSED)
def test_contradictions_are_refused_with_a_remedy(kube: Any, plural: str, spec: dict[str, Any], words: str) -> None:
    """A spec that contradicts itself is rejected by a sentence that says what to write instead."""
    answer = kube.post(f"/apis/slackwater.io/v1alpha1/{plural}", body(plural, "bad", spec))
    assert answer.status == 422
    assert words in answer.message


@pytest.mark.parametrize("plural", ["slackpolicies", "admissionqueues", "reservationpools"])
def test_empty_spec_is_complete(kube: Any, plural: str) -> None:
    """Every field has a default, nested ones included."""
    answer = kube.apply(body(plural, "empty", {}), f"/apis/slackwater.io/v1alpha1/{plural}")
    assert answer.ok, answer.message
    assert len(answer.body["spec"]) >= 5
    kube.delete(f"/apis/slackwater.io/v1alpha1/{plural}/empty")


def test_queue_of_a_pool_cannot_change(kube: Any) -> None:
    """A pool's learned border means nothing for another queue."""
    where = "/apis/slackwater.io/v1alpha1/reservationpools"
    assert kube.apply(body("reservationpools", "fixed", {"queue": "a"}), where).ok
    answer = kube.apply(body("reservationpools", "fixed", {"queue": "b"}), where)
    assert answer.status == 422
    assert "make a new ReservationPool" in answer.message
    kube.delete(f"{where}/fixed")


def test_status_is_apart_from_spec(kube: Any) -> None:
    """A write to the status changes no spec and no generation."""
    where = "/apis/slackwater.io/v1alpha1/admissionqueues"
    made = kube.apply(body("admissionqueues", "apart", {}), where).body
    status = {"driversRunning": 3, "capacity": {"cpu": "12"}, "observedGeneration": 1}
    answer = kube.patch(
        f"{where}/apart/status", {"status": status, "spec": {"growthPods": 1}}, "application/merge-patch+json"
    )
    assert answer.ok, answer.message
    assert answer.body["status"]["driversRunning"] == 3
    assert answer.body["spec"] == made["spec"]
    assert answer.body["metadata"]["generation"] == made["metadata"]["generation"]
    kube.delete(f"{where}/apart")
