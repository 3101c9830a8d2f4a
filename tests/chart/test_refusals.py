"""What cannot work is refused before anything is sent, in a sentence; what can be left out is left out with null."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
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


def test_a_registry_may_end_with_a_slash() -> None:
    """As people copy it."""
    specs = pod_specs(objects(NEWEST, "--set=image.registry=ghcr.io/x/"))
    assert specs["Deployment/slackwater-operator"]["containers"][0]["image"].startswith("ghcr.io/x/slackwater:")
