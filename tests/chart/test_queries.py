"""Every query of the dashboards and alerts parses, and asks for metrics and labels that the programs really export."""

from __future__ import annotations

import importlib.util
from functools import cache

import pytest
import yaml

from support.builders.promql import alerts, dashboards, queries, selectors
from support.lab.chart import CHART, ROOT

QUERIES = queries()
# Exported by the usual exporters, not by us.
FOREIGN = {
    "up",
    "apiserver_admission_webhook_fail_open_count",
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    "kube_pod_container_resource_requests",
    "kube_pod_labels",
    "kube_pod_owner",
    "kube_pod_status_phase",
}
TOPICS = {
    "slack": {"Cluster slack", "Node heat map"},
    "queues": {"Queues and reasons", "Driver budget", "Wait time: estimate against truth"},
    "pools": {"Pools and delta"},
    "extender": {"Extender latency", "Operator"},
    "efficiency": {"By namespace", "By user", "Most wasteful owners"},
}


@cache
def exported() -> dict[str, frozenset[str]]:
    """The series of our programs and of the kube-state-metrics configuration, with their labels."""
    from slackwater_extender.components import assemble  # noqa: PLC0415 - heavy
    from slackwater_extender.settings import Settings  # noqa: PLC0415
    from slackwater_operator.metrics import Metrics  # noqa: PLC0415
    from slackwater_operator.webhook.reviews import ReviewMetrics  # noqa: PLC0415

    found = dict(state_metrics())
    for registry in (assemble(Settings()).metrics.registry, Metrics().registry, ReviewMetrics().registry):
        for family in registry.collect():
            for suffix in SUFFIXES[family.type]:
                found[family.name + suffix] = frozenset()
        # Labels are known of those that count themselves; the others are computed at each scrape.
        for collector in registry._collector_to_names:
            names = getattr(collector, "_labelnames", None)
            for series in registry._collector_to_names[collector] if names is not None else ():
                found[series] = frozenset(names or ()) | {"le"}
    return found


SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
    "info": ("_info",),
}


def state_metrics() -> dict[str, frozenset[str]]:
    """What kube-state-metrics makes of our custom resources."""
    text = (CHART / "files" / "metrics" / "kube-state-metrics.yaml").read_text(encoding="utf-8")
    return {
        f"{resource['metricNamePrefix']}_{metric['name']}": frozenset({*resource["labelsFromPath"], "resource"})
        for resource in yaml.safe_load(text)["spec"]["resources"]
        for metric in resource["metrics"]
    }


@pytest.mark.parametrize("place", QUERIES)
def test_every_query_parses_and_asks_for_what_is_there(place: str) -> None:
    """A metric that was renamed would leave an empty panel, or an alert that never fires."""
    asked = list(selectors(QUERIES[place]))
    assert asked, "a query without a metric"
    for name, labels in asked:
        assert name in FOREIGN or name in exported(), f"nobody exports {name}"
        known = exported().get(name, frozenset())
        assert not known or labels <= known | {"job"}, f"{name} has no label {labels - known}"


@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_has_its_row(name: str) -> None:
    """A dashboard shows what its title promises."""
    page = dashboards()[name]
    assert {panel["title"] for panel in page["panels"] if panel["type"] == "row"} == TOPICS[name]


def test_dashboards_are_what_their_source_makes() -> None:
    """After a change: python helm/dashboards.py."""
    spec = importlib.util.spec_from_file_location("dashboards", ROOT / "helm" / "dashboards.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = CHART / "files" / "dashboards"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")} == module.files()


@pytest.mark.parametrize("name", TOPICS)
def test_panels_do_not_overlap(name: str) -> None:
    """Grafana would push one aside."""
    taken: set[tuple[int, int]] = set()
    for panel in dashboards()[name]["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_happens_and_where_to_read_on(rule: dict[str, dict[str, str]]) -> None:
    """The runbook exists."""
    notes = rule["annotations"]
    assert notes["summary"]
    assert notes["description"]
    assert (ROOT / notes["runbook"]).is_file(), notes["runbook"]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
