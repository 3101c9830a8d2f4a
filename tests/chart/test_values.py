"""values.yaml is explained, and its schema refuses what it does not know."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path

import pytest
import yaml

from support.lab.chart import CHART, ROOT, template

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
        ("operator.settings.windows=500", "windows"),
        ("operator.settings.grace_seconds=1", "grace_seconds"),
        ("operator.settings.identity=one", "identity"),
        ("operator.settings.lead_alone=true", "lead_alone"),
        ("operator.settings.namespace=elsewhere", "namespace"),
        ("operator.settings.health_port=9191", "health_port"),
        ("operator.owners[0].group=*,operator.owners[0].resources[0]=jobs", "/operator/owners/0/group"),
        ("operator.owners[0].group=,operator.owners[0].resources[0]=secrets", "/operator/owners/0/group"),
        ("operator.owners[0].group=example.com,operator.owners[0].resources[0]=*", "/operator/owners/0/resources/0"),
        ("monitor.settings.prot=1", "prot"),
        ("watchdog.patience=12", "/watchdog/patience"),
        ("admission.mutating=true", "mutating"),
        ("monitoring.dashboard.enabled=true", "dashboard"),
    ],
)
def test_what_cannot_be_meant_is_refused(option: str, names: str) -> None:
    """Helm stops before anything is sent, and names the place."""
    done = template(NEWEST, "--set", option)
    assert done.returncode != 0
    assert "schema" in done.stderr
    assert names in done.stderr


def test_the_step_to_enforce_changes_nothing_but_the_policy() -> None:
    """It is taken with --reuse-values: whoever has no Prometheus operator switched its kinds off in a step before."""
    assert set(yaml.safe_load((CHART / "values-enforce.yaml").read_text(encoding="utf-8"))) == {"policy"}


def test_missing_secrets_are_refused() -> None:
    """The sentence says which values to set."""
    assert "name both Secrets" in template(NEWEST, "--set", "tls.mode=existing").stderr


def test_the_monitor_needs_prometheus() -> None:
    """Without it there is nothing to show."""
    assert "monitor.enabled needs prometheus.url" in template(NEWEST, "--set", "monitor.enabled=true").stderr


@pytest.mark.parametrize(
    ("script", "function", "made"),
    [
        ("schema.py", "text", CHART / "values.schema.json"),
        ("additions.py", "text", CHART / "files" / "additions.yaml"),
        ("reference.py", "content", ROOT / "docs" / "reference" / "values.md"),
    ],
    ids=["schema", "additions", "page"],
)
def test_generated_files_are_what_their_source_makes(script: str, function: str, made: Path) -> None:
    """After a change of a value or a custom resource: python helm/schema.py, additions.py and reference.py."""
    spec = importlib.util.spec_from_file_location(script.removesuffix(".py"), ROOT / "helm" / script)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    assert made.read_text(encoding="utf-8") == getattr(module, function)()


def test_every_value_of_the_file_is_in_the_schema_and_the_other_way_round() -> None:
    """A value that only the schema knows is one that nobody can find."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert set(values) == set(schema["properties"]) - {"global"}
    for name, part in values.items():
        if isinstance(part, dict):
            assert set(part) == set(schema["properties"][name].get("properties", ())), name


def test_every_section_of_the_values_is_explained() -> None:
    """A comment stands above each top-level name that is more than a switch."""
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if line and line[0].isalpha() and line.endswith(":"):
            assert before.startswith("#") or line.startswith("podDisruptionBudget"), line
