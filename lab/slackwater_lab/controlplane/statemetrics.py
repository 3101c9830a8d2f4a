"""kube-state-metrics: what the API server knows about pods and nodes, as Prometheus series."""

from slackwater_cluster import names
from slackwater_lab.programs.build import built
from slackwater_lab.site import Site

KINDS = "pods,nodes,jobs,namespaces"
LABELS = "pods=[*]"  # who owns what, which app and role: without it there is no kube_pod_labels
ANNOTATIONS = f"pods=[{','.join(names.SEALED)}]"  # what a lowered pod had asked for


def state_metrics(site: Site) -> list[str]:
    """Its command line; only the kinds that our queries read."""
    return [
        built("kube-state-metrics"),
        f"--kubeconfig={site.kubeconfig}",
        "--host=127.0.0.1",
        f"--port={site.ports['state-metrics']}",
        "--telemetry-host=127.0.0.1",
        f"--telemetry-port={site.ports['state-metrics-telemetry']}",
        f"--resources={KINDS}",
        f"--metric-labels-allowlist={LABELS}",
        f"--metric-annotations-allowlist={ANNOTATIONS}",
    ]
