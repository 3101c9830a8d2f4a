"""What cannot work is refused before anything is sent, in a sentence; what can be left out is left out with null."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # no types
import pytest
import yaml

from support.builders.chartvalues import SWITCHES
from support.lab.chart import CHART, NAMESPACE, objects, pod_specs, template

NEWEST = "1.37.0"
PART_OF = r"app\.kubernetes\.io/part-of"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("policy.spec.mode=enforce,admission.mutating=null", "'mutating'"),
        ("scheduler.qps=null", "'qps'"),
        ("monitoring=null", "'monitoring'"),
        ("operator.settings.grace=null", "/operator/settings/grace': got null"),
        ("imagePullSecrets[0]=regcred", "/imagePullSecrets/0': got string, want object"),
        ("watchdog.namespace=Kube_System", "/watchdog/namespace"),
        ("watchdog.namespace=", "/watchdog/namespace"),
        ("clusterDomain=", "/clusterDomain"),
        ("priorityClasses.batch.High_Prio.value=5", "High_Prio"),
        ("prometheus.auth.tokenKey=token", "name that Secret of the release's namespace in prometheus.auth.secret"),
        ("operator.healthPort=9090", "give each its own"),
        ("extender.settings.server.port=9000", "Service and probes go to extender.port, which is 8480"),
        ("monitor.settings.port=9000", "Service and probes go to monitor.port, which is 8580"),
        ("webhook.hostNetwork=true", "kubelet has port 10250 on every node"),
        ("webhook.hostNetwork=true,webhook.port=443", "only root may listen on a port below 1024"),
        (f"watchdog.namespace={NAMESPACE}", "name another, or set watchdog.enabled to false"),
        (f"operator.podLabels.{PART_OF}=x", "operator.podLabels: app.kubernetes.io/part-of is a label"),
        (
            f"monitoring.serviceMonitor.labels.{PART_OF}=x",
            "monitoring.serviceMonitor.labels: app.kuber",
        ),
        ("policies.default.create=true", "the policy default is written under policy"),
    ],
)
def test_what_cannot_work_is_refused(options: str, words: str) -> None:
    """Helm stops, and the sentence names the value."""
    done = template(NEWEST, "--set", options)
    assert done.returncode != 0
    assert words in done.stderr
    assert "nil pointer" not in done.stderr


def paths(values: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every section and every value."""
    for name, value in values.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from paths(value, (*above, name))


def without(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The values as they are when one was taken away with null."""
    left = deepcopy(values)
    part = left
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return left


def test_null_is_refused_or_takes_away_what_can_be_missed() -> None:
    """All values that the schema lets go of are taken away at once: nothing fails, and nothing says nil."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")))
    free = [".".join(path) for path in paths(values) if schema.is_valid(without(values, path))]
    wanted = ("prometheus.url", "prometheus.auth.secret", "prometheus.auth.tokenKey")  # the switches need them
    taken = [f"--set={path}=null" for path in reversed(free) if path not in wanted]  # a section after what is in it
    done = template(NEWEST, *SWITCHES["everything"], *taken)
    assert done.returncode == 0, done.stderr
    assert "nil>" not in done.stdout


SAID = {
    "nodeSelector": {"disk": "ssd"},
    "podLabels": {"team": "batch"},
    "podAnnotations": {"note": "x"},
    "resources": {"limits": {"cpu": "2"}, "requests": {"ephemeral-storage": "1Gi"}, "claims": [{"name": "gpu"}]},
}
# Certificates of the chart's own making are others each time.
OWN = (
    "--set=tls.mode=existing,tls.existing.extenderSecret=a,tls.existing.schedulerSecret=b",
    "--set=tls.existing.webhookSecret=c,tls.existing.webhookAuthority=d",
)
PARTS = ("extender", "operator", "scheduler", "watchdog", "webhook", "monitor")
LAYER: dict[str, Any] = {
    **dict.fromkeys(PARTS, SAID),
    "hooks": {name: SAID[name] for name in ("nodeSelector", "resources")},
    "prometheus": {"queries": {"node_cpu": "up"}, "matchers": {"cluster": "prod"}},
    "monitoring": {
        "serviceMonitor": {"labels": {"release": "x"}},
        "rules": {"labels": {"release": "x"}},
        "dashboards": {"labels": {"release": "x"}, "annotations": {"folder": "x"}},
    },
    "policies": {"night": {"spec": {"mode": "score"}}},
    "priorityClasses": {"batch": {"batch-urgent": {"value": 5}}},
}


def taken(said: dict[str, Any]) -> dict[str, Any]:
    """The same names with null for each value; of policies and classes null for each of them."""
    inner = ("night", "batch-urgent")
    return {
        name: taken(value) if isinstance(value, dict) and name not in inner else None for name, value in said.items()
    }


@pytest.mark.parametrize("version", ["1.35.1", NEWEST], ids=["webhook", "policy"])
def test_a_later_values_file_takes_away_with_null_what_one_before_it_says(version: str, tmp_path: Path) -> None:
    """Helm leaves null in place where the chart has no default of the name; an empty selector would find no node."""
    files = {"site.yaml": LAYER, "here.yaml": taken(LAYER)}
    for name, content in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(content), encoding="utf-8")
    plain, with_site, with_both = (
        template(version, *SWITCHES["everything"], *OWN, *(f"--values={tmp_path / name}" for name in used))
        for used in ((), ("site.yaml",), ("site.yaml", "here.yaml"))
    )
    assert with_both.returncode == with_site.returncode == 0, with_both.stderr + with_site.stderr
    assert with_site.stdout != plain.stdout
    assert with_both.stdout == plain.stdout


def test_a_registry_may_end_with_a_slash() -> None:
    """As people copy it."""
    specs = pod_specs(objects(NEWEST, "--set=image.registry=ghcr.io/x/"))
    assert specs["Deployment/slackwater-operator"]["containers"][0]["image"].startswith("ghcr.io/x/slackwater:")
