"""What this Prometheus calls things: which metrics are there, and which labels hold namespace, pod and container.

Scrape settings rename labels. Where kube-state-metrics is scraped without honor_labels, `pod` is the exporter's own pod
and the pod it speaks about is `exported_pod`; older kubelets wrote pod_name and container_name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slackwater.errors import InvalidInput

# For each meaning, the labels to look for, the most telling first.
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "namespace": ("exported_namespace", "namespace", "kubernetes_namespace", "pod_namespace"),
    "pod": ("exported_pod", "pod", "pod_name", "kubernetes_pod_name"),
    "container": ("exported_container", "container", "container_name"),
    "node": ("exported_node", "node", "kubernetes_node", "nodename", "instance"),
}

CPU, MEMORY, REQUESTS, LIMITS, INFO, OWNER, LABELS = "cpu", "memory", "requests", "limits", "info", "owner", "labels"
CREATED, SCHEDULED, STARTED, COMPLETED, PHASE = "created", "scheduled", "started", "completed", "phase"
ALLOCATABLE, SETS, JOBS, REASON, SEALED = "allocatable", "sets", "jobs", "reason", "sealed"
SCALERS, INITIAL = "scalers", "initial"

# For each need, the metrics that serve it, the best first.
METRICS: Mapping[str, tuple[str, ...]] = {
    CPU: ("container_cpu_usage_seconds_total", "pod_cpu_usage_seconds_total"),
    MEMORY: ("container_memory_working_set_bytes", "pod_memory_working_set_bytes", "container_memory_usage_bytes"),
    REQUESTS: ("kube_pod_container_resource_requests",),
    LIMITS: ("kube_pod_container_resource_limits",),
    INFO: ("kube_pod_info",),
    OWNER: ("kube_pod_owner",),
    LABELS: ("kube_pod_labels",),
    CREATED: ("kube_pod_created",),
    SCHEDULED: ("kube_pod_status_scheduled_time",),
    STARTED: ("kube_pod_start_time",),
    COMPLETED: ("kube_pod_completion_time",),
    PHASE: ("kube_pod_status_phase",),
    ALLOCATABLE: ("kube_node_status_allocatable",),
    SETS: ("kube_replicaset_owner",),
    JOBS: ("kube_job_owner",),
    REASON: ("kube_pod_container_status_last_terminated_reason",),
    SEALED: ("kube_pod_annotations",),
    SCALERS: ("kube_horizontalpodautoscaler_info",),
    INITIAL: ("kube_pod_init_container_info",),
}

# What is lost without each need, and how to get it. Needs that are only a convenience are not listed.
STATE_METRICS = "install kube-state-metrics and scrape it"
LOST: Mapping[str, tuple[str, str]] = {
    CPU: ("how much CPU is used", "scrape the kubelets' /metrics/cadvisor or /metrics/resource"),
    MEMORY: ("how much memory is used", "scrape the kubelets' /metrics/cadvisor or /metrics/resource"),
    REQUESTS: ("what was reserved, so no efficiency and nothing reclaimable", STATE_METRICS),
    LIMITS: ("limits", STATE_METRICS),
    INFO: ("on which node a pod ran", STATE_METRICS),
    OWNER: ("which pods belong together, so every pod counts as an app", STATE_METRICS),
    LABELS: (
        "labels of pods, so drivers are known only where they own pods",
        "start kube-state-metrics with --metric-labels-allowlist=pods=[*]",
    ),
    CREATED: ("how long pods waited", STATE_METRICS),
    SCHEDULED: ("how long pods waited for a node", "use kube-state-metrics 2.3 or newer"),
    COMPLETED: ("when pods ended, so running is judged by samples", STATE_METRICS),
    ALLOCATABLE: ("the size of nodes", STATE_METRICS),
}


@dataclass(frozen=True, slots=True)
class Names:
    """The vocabulary of one server: need → metric, need → meaning → label."""

    metrics: Mapping[str, str]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def has(self, need: str) -> bool:
        """Whether some metric serves this need."""
        return need in self.metrics

    def label(self, need: str, meaning: str) -> str:
        """The label that holds the meaning on the metric that serves the need."""
        return self.labels.get(need, {}).get(meaning, meaning)

    @property
    def missing(self) -> tuple[str, ...]:
        """One sentence for each thing that cannot be known here."""
        return tuple(
            f"{METRICS[need][0]} is absent: unknown is {what}; to have it, {remedy}"
            for need, (what, remedy) in LOST.items()
            if need not in self.metrics
        )

    @property
    def renamed(self) -> tuple[str, ...]:
        """One sentence for each label that is not called as usual."""
        usual = {
            f"{meaning} is read from {label} on {self.metrics[need]}"
            for need, found in self.labels.items()
            for meaning, label in found.items()
            if label != meaning and not (meaning == "node" and label == "instance")
        }
        return tuple(sorted(usual))


def choose(present: set[str]) -> dict[str, str]:
    """Need → the best metric that is there."""
    found = {need: next((name for name in names if name in present), "") for need, names in METRICS.items()}
    return {need: name for need, name in found.items() if name}


def spelled(metric: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Meaning → label, read off one series of a metric; what the user gave comes first."""
    found = {}
    for meaning, candidates in CANDIDATES.items():
        label = next((name for name in (given.get(meaning, ""), *candidates) if name in metric), "")
        if label:
            found[meaning] = label
    return found


def given(pairs: list[str]) -> dict[str, str]:
    """`pod=kubernetes_pod` from the command line."""
    chosen = {}
    for text in pairs:
        meaning, equals, label = text.partition("=")
        if not equals or not label or meaning not in CANDIDATES:
            raise InvalidInput("--label", f"{text!r} names no label", f"write one of {', '.join(CANDIDATES)}=LABEL")
        chosen[meaning] = label
    return chosen
