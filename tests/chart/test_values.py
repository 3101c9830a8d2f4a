"""values.yaml is explained, and its schema refuses what it does not know."""

from __future__ import annotations

import importlib.util
import itertools
import json

import pytest
import yaml

from support.chart import CHART, ROOT, template

NEWEST = "1.37.0"


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("extendr.port=2", "extendr"),
        ("operator.replica=2", "replica"),
        ("operator.replicas=0", "replicas"),
        ("policy.spec.mode=enforced", "mode"),
        ("policy.spec.ceiling.cpu=200", "cpu"),
        ("policy.spec.ceiling.cpuPercent=99", "cpuPercent"),
        ("queue.spec.order=random", "order"),
        ("pool.spec.theta=2", "theta"),
        ("prometheus.url=prometheus:9090", "url"),
        ("prometheus.queries.cpu=up", "cpu"),
        ("tls.mode=none", "mode"),
        ("scheduler.extender.timeout=5", "timeout"),
        ("scheduler.profile.schedulerName=other", "profile"),
        ("image.digest=latest", "digest"),
        ("extender.settings.logLevel=debug", "logLevel"),
        ("admission.mutating=true", "mutating"),
        ("monitoring.dashboard.enabled=true", "dashboard"),
    ],
)
def test_typing_mistakes_are_refused(option: str, names: str) -> None:
    """Helm stops before anything is sent, and names the place."""
    done = template(NEWEST, "--set", option)
    assert done.returncode != 0
    assert "schema" in done.stderr
    assert names in done.stderr


def test_missing_secrets_are_refused() -> None:
    """The sentence says which values to set."""
    assert "name both Secrets" in template(NEWEST, "--set", "tls.mode=existing").stderr


def test_the_monitor_needs_prometheus() -> None:
    """Without it there is nothing to show."""
    assert "monitor.enabled needs prometheus.url" in template(NEWEST, "--set", "monitor.enabled=true").stderr


def test_the_schema_is_what_its_source_makes() -> None:
    """After a change of a custom resource: python helm/schema.py."""
    spec = importlib.util.spec_from_file_location("schema", ROOT / "helm" / "schema.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (CHART / "values.schema.json").read_text(encoding="utf-8") == module.text()


def test_every_value_of_the_file_is_in_the_schema_and_the_other_way_round() -> None:
    """A value that only the schema knows is one that nobody can find."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert set(values) == set(schema["properties"]) - {"global"}
    for name, part in values.items():
        if isinstance(part, dict):
            assert set(part) == set(schema["properties"][name]["properties"]), name


def test_every_section_of_the_values_is_explained() -> None:
    """A comment stands above each top-level name that is more than a switch."""
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if line and line[0].isalpha() and line.endswith(":"):
            assert before.startswith("#") or line.startswith("podDisruptionBudget"), line
