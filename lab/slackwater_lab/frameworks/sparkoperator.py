"""Kubeflow's Spark operator in a lab: its controller, which calls `spark-submit`, and its webhook for Spark's pods.

The webhook manages its own certificate, which is made out to a Service. That Service is another name of this machine,
so the API server calls the process as it would call the operator's pod.
"""

from pathlib import Path
from typing import Any

import yaml

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.frameworks import spark
from slackwater_lab.programs.build import built
from slackwater_lab.site import Site

NAMESPACE, SERVICE, CONFIGURATION = "spark-operator", "spark-webhook", "spark-operator-webhook"
OF_OPERATOR = {"matchLabels": {"sparkoperator.k8s.io/launched-by-spark-operator": "true"}}
CONFIGURATIONS = [
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{CONFIGURATION}"
    for kind in ("mutating", "validating")
]


def controller() -> list[str]:
    """The command line of the controller."""
    return [built("spark-operator"), "controller", "start", "--health-probe-bind-address=0"]


def environment(site: Site) -> dict[str, str]:
    """What the controller needs to submit: Spark, and the API server where a pod would find it."""
    host, _, port = site.url("apiserver", "https").removeprefix("https://").partition(":")
    return {**spark.environment(site), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


def webhook(site: Site) -> list[str]:
    """The command line of the webhook."""
    names = [f"--webhook-svc-name={SERVICE}", f"--webhook-svc-namespace={NAMESPACE}"]
    files = f"--webhook-cert-dir={site.folder / SERVICE}"
    port = f"--webhook-port={site.ports[SERVICE]}"
    return [built("spark-operator"), "webhook", "start", "--health-probe-bind-address=0", port, files, *names]


def objects(site: Site, module: Path) -> list[dict[str, Any]]:
    """What must be there before the webhook: its namespace, the Service, and what the API server shall ask it.

    The rules are those of the operator's source; as in its chart, only pods that it launched are sent to it.
    """
    service = {"type": "ExternalName", "externalName": "localhost"}
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": service,
        },
    ]
    for body in yaml.safe_load_all((module / "config/webhook/manifests.yaml").read_text()):
        body["metadata"]["name"] = CONFIGURATION
        for hook in body["webhooks"]:
            hook["clientConfig"]["service"] |= {
                "name": SERVICE,
                "namespace": NAMESPACE,
                "port": site.ports[SERVICE],
            }
            if hook["clientConfig"]["service"]["path"].endswith("-pod"):
                hook["objectSelector"] = OF_OPERATOR
        made.append(body)
    return made


def trusted(api: ApiClient) -> bool:
    """Whether the webhook has told the API server its authority, without which no call succeeds."""
    hooks = [hook for path in CONFIGURATIONS for hook in (api.find(path) or {}).get("webhooks", [])]
    return all(hook["clientConfig"].get("caBundle") for hook in hooks)
