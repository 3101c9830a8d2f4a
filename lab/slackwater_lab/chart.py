"""Puts the chart's custom resources, roles and policies into the lab, rendered by helm as in production."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from slackwater_lab.builds import built
from slackwater_lab.running import run
from slackwater_lab.site import PROJECT, Site

CHART = PROJECT / "helm" / "slackwater"
RELEASE = "slackwater"
NAMESPACE = "slackwater-system"
# What the lab runs as processes of its own or cannot run: no containers, no cluster DNS, no Prometheus operator.
LEFT_OUT = {"Deployment", "DaemonSet", "StatefulSet", "Job", "ServiceMonitor", "PrometheusRule", "PodMonitor"}


def install(site: Site) -> Iterator[str]:
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
    yield _templates(site)


def _templates(site: Site) -> str:
    wanted = [item for item in yaml.safe_load_all(render()) if item and item["kind"] not in LEFT_OUT]
    path = site.write("chart.yaml", yaml.safe_dump_all(wanted, sort_keys=False))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl(site, "apply", "--server-side", "-f", site.write("namespace.yaml", yaml.safe_dump(namespace)))
    kubectl(site, "apply", "--server-side", "--force-conflicts", "-f", path)
    return f"{len(wanted)} objects in {NAMESPACE}"


def render(values: Path | None = None) -> str:
    """The chart as helm would install it on the lab's version of Kubernetes."""
    command = [built("helm"), "template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--kube-version", "1.36.4"]
    command += ["--values", str(values)] if values else []
    return run(command)


def kubectl(site: Site, *arguments: str) -> str:
    """Run kubectl as the lab's administrator."""
    return run([built("kubectl"), *arguments, f"--kubeconfig={site.kubeconfig}"])
