"""The MutatingWebhookConfiguration: the same pods as the MutatingAdmissionPolicy, where the API server has none.

Two entries for one server, one after the other, and no pod passes both:

    forged    the pod came with annotations that only we write    failurePolicy Fail: refused while we are away
    plain     every other pod                                     failurePolicy Ignore: created as it is meanwhile

So the webhook may be down, and nobody can use that time to write our annotations.
"""

from __future__ import annotations

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.mutating import (
    FORGED,
    NAME,
    Manifest,
    conditions,
    holding,
    match,
    somebody_leads,
)

SERVICE = "slackwater-webhook"
PATH = "/pods"
# Seconds. An answer takes milliseconds; a creation never waits longer than this for a server that hangs.
PATIENCE = 2


def webhook() -> list[Manifest]:
    """The configuration, and the dead-man switch that its conditions ask; the chart adds the authority."""
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [
            # In this order: after the first one a pod carries our annotations, so the second one leaves it alone.
            _entry(f"forged.pods.{names.GROUP}", "Fail", {"forged": FORGED}),
            _entry(f"pods.{names.GROUP}", "Ignore", {"not-forged": f"!{FORGED}"}),
        ],
    }
    return [*holding(), configuration]


def _entry(name: str, failure: str, condition: dict[str, str]) -> Manifest:
    chosen = {**condition, **conditions(), "somebody-leads": somebody_leads()}
    service = {"name": SERVICE, "namespace": names.SYSTEM_NAMESPACE, "path": PATH, "port": 443}
    constraints = match()
    return {
        "name": name,
        "clientConfig": {"service": service},
        "rules": constraints["resourceRules"],
        "namespaceSelector": constraints["namespaceSelector"],
        "matchConditions": [{"name": key, "expression": text} for key, text in chosen.items()],
        "failurePolicy": failure,
        "reinvocationPolicy": "Never",
        "sideEffects": "None",
        "timeoutSeconds": PATIENCE,
        "admissionReviewVersions": ["v1"],
    }
