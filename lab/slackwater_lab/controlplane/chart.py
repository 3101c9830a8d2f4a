"""Puts the chart's custom resources, roles and policies into the lab, rendered by helm as in production."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import built
from slackwater_lab.programs.programs import program
from slackwater_lab.site import PROJECT, Site

CHART = PROJECT / "helm" / "slackwater"
RELEASE = "slackwater"
CONFIGURATION = "MutatingWebhookConfiguration"
WEBHOOK = "webhook"  # the process that answers it here
NAMESPACE = "slackwater-system"
# What the lab runs as processes of its own or cannot run: no containers, no cluster DNS, no Prometheus operator.
LEFT_OUT = {"Deployment", "DaemonSet", "StatefulSet", "Job", "ServiceMonitor", "PrometheusRule", "PodMonitor"}


def install(site: Site, values: Sequence[str] = ()) -> Iterator[str]:
    """Apply the custom resource definitions, then everything else of the chart; yields what was done."""
    definitions = CHART / "crds"
    if not definitions.is_dir():
        yield "skipped: helm/slackwater/crds does not exist yet"
        return
    kubectl(site, "apply", "--server-side", "-f", str(definitions))
    kubectl(site, "wait", "--for=condition=Established", "--timeout=30s", "-f", str(definitions))
    yield f"{len(list(definitions.glob('*.yaml')))} custom resource definitions"
    if not (CHART / "Chart.yaml").exists():
        yield "templates skipped: helm/slackwater/Chart.yaml does not exist yet"
        return
    yield _templates(site, values)


def _templates(site: Site, values: Sequence[str]) -> str:
    wanted = [
        called_here(site, item) if item["kind"] == CONFIGURATION else item
        for item in yaml.safe_load_all(render(values))
        if item and item["kind"] not in LEFT_OUT
    ]
    path = site.write("chart.yaml", yaml.safe_dump_all(wanted, sort_keys=False))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl(site, "apply", "--server-side", "-f", site.write("namespace.yaml", yaml.safe_dump(namespace)))
    kubectl(site, "apply", "--server-side", "--force-conflicts", "-f", path)
    return f"{len(wanted)} objects in {NAMESPACE}"


def called_here(site: Site, body: dict[str, Any]) -> dict[str, Any]:
    """A webhook's configuration that leads to the lab's own process: an API server reaches no Service here."""
    authority = base64.b64encode((site.certificates / "ca.crt").read_bytes()).decode()
    here = site.url(WEBHOOK, "https")
    hooks = [
        {**hook, "clientConfig": {"url": here + hook["clientConfig"]["service"]["path"], "caBundle": authority}}
        for hook in body["webhooks"]
    ]
    return {**body, "webhooks": hooks}


def needs_webhook(site: Site) -> bool:
    """Whether the chart, as it was installed here, has a webhook."""
    return f"kind: {CONFIGURATION}" in (site.read("chart.yaml") or "")


def render(values: Sequence[str] = ()) -> str:
    """The chart as helm would install it on the lab's version of Kubernetes; its hooks are jobs in containers."""
    version = program("kube-apiserver").version
    command = [built("helm"), "template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", f"--kube-version={version}"]
    return run([*command, "--no-hooks", *(f"--set={value}" for value in values)])


def kubectl(site: Site, *arguments: str) -> str:
    """Run kubectl as the lab's administrator."""
    return run([built("kubectl"), *arguments, f"--kubeconfig={site.kubeconfig}"])
