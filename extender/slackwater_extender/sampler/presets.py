"""Queries for the exporters that clusters usually have. Every one can be replaced in the settings.

Each must give one series per node or pod: cores, bytes, seconds since 1970, bytes per second. `irate` keeps resets of
counters out; `timestamp` tells when a node was really measured, which is not when we ask. Where two scrapers deliver
the same series twice, `max` keeps one of them. {window}, {namespaces} and {jobs} are filled in.

Series are believed from named scrape jobs only: whoever may add a target could else speak for any node.
"""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.errors import UnknownName
from slackwater_cluster.prometheus.matchers import narrowed
from slackwater_extender.settings import Preset, Prometheus

Queries = Mapping[str, str]

# What a round asks for; the last one is only asked for where it is given.
NAMES = ("node_cpu", "node_memory", "node_time", "pod_cpu", "pod_memory", "node_network")

PRESETS: Mapping[Preset, Queries] = {
    # Kubelet's own /metrics/resource.
    "kubelet-resource": {
        "node_cpu": 'max by (node, instance) (irate(node_cpu_usage_seconds_total{job=~"{jobs}"}[{window}]))',
        "node_memory": 'max by (node, instance) (node_memory_working_set_bytes{job=~"{jobs}"})',
        "node_time": 'max by (node, instance) (timestamp(node_memory_working_set_bytes{job=~"{jobs}"}))',
        "pod_cpu": "max by (namespace, pod) "
        '(irate(pod_cpu_usage_seconds_total{job=~"{jobs}",namespace=~"{namespaces}"}[{window}]))',
        "pod_memory": 'max by (namespace, pod) (pod_memory_working_set_bytes{job=~"{jobs}",namespace=~"{namespaces}"})',
    },
    # kube-prometheus-stack: containers from cAdvisor, nodes from node-exporter.
    "cadvisor-node-exporter": {
        "node_cpu": "sum by (node, instance) (max by (node, instance, cpu, mode) "
        '(irate(node_cpu_seconds_total{job=~"{jobs}",mode!~"idle|iowait|steal"}[{window}])))',
        "node_memory": "max by (node, instance) "
        '(node_memory_MemTotal_bytes{job=~"{jobs}"} - node_memory_MemAvailable_bytes{job=~"{jobs}"})',
        "node_time": 'max by (node, instance) (timestamp(node_memory_MemAvailable_bytes{job=~"{jobs}"}))',
        "pod_cpu": "sum by (namespace, pod) (max by (namespace, pod, container) "
        '(irate(container_cpu_usage_seconds_total{job=~"{jobs}",container!="",namespace=~"{namespaces}"}[{window}])))',
        "pod_memory": "sum by (namespace, pod) (max by (namespace, pod, container) "
        '(container_memory_working_set_bytes{job=~"{jobs}",container!="",namespace=~"{namespaces}"}))',
        "node_network": "sum by (node, instance) (max by (node, instance, device) "
        '(irate(node_network_receive_bytes_total{job=~"{jobs}",device!~"lo|veth.*|cali.*|cni.*|docker.*"}[{window}])))',
    },
    # Exporters of the metrics API: gauges in nanocores and KiB.
    "metrics-server-like": {
        "node_cpu": 'max by (instance) (kube_metrics_server_nodes_cpu{job=~"{jobs}"}) / 1e9',
        "node_memory": 'max by (instance) (kube_metrics_server_nodes_mem{job=~"{jobs}"}) * 1024',
        "node_time": 'max by (instance) (timestamp(kube_metrics_server_nodes_mem{job=~"{jobs}"}))',
        "pod_cpu": "sum by (pod_namespace, pod_name) (max by (pod_namespace, pod_name, pod_container_name) "
        '(kube_metrics_server_pods_cpu{job=~"{jobs}",pod_namespace=~"{namespaces}"})) / 1e9',
        "pod_memory": "sum by (pod_namespace, pod_name) (max by (pod_namespace, pod_name, pod_container_name) "
        '(kube_metrics_server_pods_mem{job=~"{jobs}",pod_namespace=~"{namespaces}"})) * 1024',
    },
}

# Scrape jobs as the usual stacks call them (kube-prometheus-stack, prometheus-community, Grafana's, VictoriaMetrics).
# `kubernetes-service-endpoints` is not among them: everybody's annotated Services are scraped under that name.
JOBS: Mapping[Preset, str] = {
    "kubelet-resource": "kubelet|kubelet-resource|kubernetes-nodes|kubernetes-nodes-resource"
    "|integrations/kubernetes/(kubelet|resources)",
    "cadvisor-node-exporter": "kubelet|cadvisor|kubelet-cadvisor|kubernetes-cadvisor|kubernetes-nodes-cadvisor"
    "|node-exporter|prometheus-node-exporter|integrations/(kubernetes/cadvisor|node_exporter)",
    "metrics-server-like": "(kube-|prometheus-)?metrics-server(-exporter)?",
}


def queries(settings: Prometheus) -> dict[str, str]:
    """The queries in force: the preset's, replaced by the user's own, over the jobs that are believed."""
    for name in settings.queries:
        if name not in NAMES:
            raise UnknownName("prometheus.queries", name, NAMES)
    chosen = {**PRESETS[settings.preset], **settings.queries}
    for query in settings.queries.values():
        narrowed(query, settings.matchers)  # one that cannot be is told at the start, not at every round
    jobs = quoted(settings.jobs or JOBS[settings.preset])
    return {name: query.replace("{jobs}", jobs) for name, query in chosen.items() if query}


def quoted(regex: str) -> str:
    """A regular expression as it stands between the quotes of a PromQL matcher."""
    return regex.replace("\\", r"\\").replace('"', r"\"")


def filled(query: str, window: float, namespaces: str) -> str:
    """A query with its blanks filled in."""
    return query.replace("{window}", f"{max(1, round(window))}s").replace("{namespaces}", namespaces)
