"""The custom resources: models and the CustomResourceDefinitions made from them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from slackwater.admission.stall import PATIENCE_SECONDS
from slackwater.ledger.victims import PERCENT
from slackwater_cluster.customresources import (
    KINDS,
    AdmissionQueueSpec,
    ReservationPoolSpec,
    SlackPolicySpec,
    TrackedAppStatus,
    definition,
    kind_named,
)
from slackwater_cluster.customresources.__main__ import files

ROOT = Path(__file__).parents[2]
FILES = files()
# Sweeps are YAML too, but nothing one would apply to a cluster.
EXAMPLES = sorted(
    path for path in (ROOT / "docs" / "examples").glob("*.yaml") if "apiVersion:" in path.read_text(encoding="utf-8")
)


def schema(kind: str) -> dict[str, Any]:
    """The OpenAPI schema of one kind."""
    version = definition(kind_named(kind))["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def walk(node: Any) -> list[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(node, list):
        return [found for each in node for found in walk(each)]
    if isinstance(node, dict):
        return [node, *(found for each in node.values() for found in walk(each))]
    return []


@pytest.mark.parametrize("name", sorted(FILES))
def test_committed_definitions_are_the_generated_ones(name: str) -> None:
    """The chart's CRDs say what the models say."""
    assert (ROOT / "helm" / "slackwater" / "crds" / name).read_text(encoding="utf-8") == FILES[name]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_schemas_are_structural(kind: str) -> None:
    """No references, no titles, no nulls: the API server refuses them."""
    parts = walk(schema(kind))
    assert not [part for part in parts if "$ref" in part or "$defs" in part]
    assert not [part for part in parts if part.get("type") == "null"]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_an_api_server_of_133_grants_the_rules_of_amounts(kind: str) -> None:
    """It reckons 0.1 per byte of a request (3 MiB) for each look at an integer-or-string, and grants 10^7 to a rule.

    `type(self)`, `isQuantity(self)` and `string(self)` were each found to count as one look, `startsWith` as none.
    """
    maps = [part for part in walk(schema(kind)) if "x-kubernetes-int-or-string" in part.get("additionalProperties", {})]
    for part in maps:
        (rule,) = part["additionalProperties"]["x-kubernetes-validations"]
        looks = sum(rule["rule"].count(f"{each}(self)") for each in ("type", "isQuantity", "quantity", "string"))
        assert looks * 0.1 * 3 * 2**20 * part["maxProperties"] < 1e7


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_kind_has_status_columns_and_a_short_name(kind: str) -> None:
    """`kubectl get` shows what matters and the operator writes status only."""
    spec = definition(kind_named(kind))["spec"]
    version = spec["versions"][0]
    assert version["subresources"] == {"status": {}}
    assert len(version["additionalPrinterColumns"]) > 3
    assert spec["names"]["shortNames"]
    assert {"conditions", "observedGeneration"} <= set(schema(kind)["properties"]["status"]["properties"])


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_field_says_what_it_means(kind: str) -> None:
    """`kubectl explain` has a sentence for each field."""
    body = schema(kind)["properties"]
    fields = [
        part["properties"] for part in walk({key: body[key] for key in ("spec", "status")}) if "properties" in part
    ]
    silent = [name for group in fields for name, each in group.items() if not each.get("description")]
    assert silent == []


def test_defaults_are_those_of_the_design() -> None:
    """The numbers that decide stand in the schema, so that an empty spec is a complete one."""
    policy, queue, pool = SlackPolicySpec(), AdmissionQueueSpec(), ReservationPoolSpec()
    assert (policy.ceiling.cpu_percent, policy.ceiling.memory_percent) == (200, 150)
    assert (policy.estimation.damping, policy.estimation.tau_seconds, policy.estimation.memory_tau_seconds) == (
        0.125,
        1,
        30,
    )
    assert (policy.estimation.heartbeat_seconds, policy.estimation.stale_after_periods) == (5, 3)
    assert policy.estimation.allowance == 0.875
    assert (queue.release.timeout_seconds, queue.release.unschedulable_seconds) == (60, 5)
    assert (queue.relief.memory_percent, queue.stall.after_seconds) == (PERCENT, PATIENCE_SECONDS)
    assert (pool.theta, pool.delta.initial, pool.phases.window_seconds) == (0.1, 0.1, 10)
    assert (pool.phases.start_threshold, pool.phases.end_threshold) == (5, 5)


def test_nobody_is_evicted_unless_somebody_says_so() -> None:
    """Both options are off in an empty spec, as the API server fills it in too."""
    queue = schema("AdmissionQueue")["properties"]["spec"]["properties"]
    assert queue["stall"]["default"]["evictYoungestDriver"] is False
    assert queue["relief"]["default"] == {"memoryPercent": 95, "evictYoungestTask": False}


def test_nested_defaults_reach_an_empty_spec() -> None:
    """An optional object has a complete default, so that an empty spec is a whole one."""
    spec = schema("SlackPolicy")["properties"]["spec"]["properties"]
    assert spec["ceiling"]["default"] == {"cpuPercent": 200, "memoryPercent": 150}
    assert spec["driverLabels"]["default"] == []
    assert spec["mode"]["default"] == "observe"


def test_status_carries_no_defaults_of_lists() -> None:
    """A status is what the operator wrote, nothing more."""
    status = schema("AdmissionQueue")["properties"]["status"]["properties"]
    assert "default" not in status["conditions"]
    assert "default" not in status["capacity"]


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (SlackPolicySpec, {"mode": "destroy"}),
        (SlackPolicySpec, {"ceiling": {"cpuPercent": 50}}),
        (SlackPolicySpec, {"estimation": {"risk": "often"}}),
        (SlackPolicySpec, {"estimation": {"risk": "0%"}}),
        (SlackPolicySpec, {"estimation": {"risk": "100%"}}),
        (AdmissionQueueSpec, {"release": {"timeoutSeconds": 0}}),
        (AdmissionQueueSpec, {"weights": {"team": 0}}),
        (AdmissionQueueSpec, {"relief": {"memoryPercent": 101}}),
        (AdmissionQueueSpec, {"relief": {"memoryPercent": 10}}),
        (ReservationPoolSpec, {"theta": 0}),
    ],
    ids=[
        "mode",
        "ceiling below 100",
        "risk in words",
        "no risk at all",
        "certain",
        "timeout",
        "weight",
        "more memory than all",
        "hardly any memory",
        "theta",
    ],
)
def test_models_refuse_what_the_schema_refuses(model: type[Any], body: dict[str, Any]) -> None:
    """A body that reached the operator past the schema is still refused."""
    with pytest.raises(ValidationError):
        model.model_validate(body)


@pytest.mark.parametrize(("text", "value"), [("", None), ("1%", 0.01), ("0.1%", 0.001), ("12.5%", 0.125)])
def test_a_risk_is_a_percentage(text: str, value: float | None) -> None:
    """Or nothing: then constants decide."""
    found = SlackPolicySpec.model_validate({"estimation": {"risk": text}}).estimation.probability
    assert found == (None if value is None else pytest.approx(value))


def test_bodies_are_camel_case_without_nulls() -> None:
    """What is written to the API server has its spelling and no empty fields."""
    body = TrackedAppStatus(wait_seconds=3, position=2).body()
    assert body["waitSeconds"] == 3
    assert "waitErrorSeconds" not in body


def test_there_are_examples_of_every_kind_users_write() -> None:
    """Policy, queue and pool each have an example; TrackedApp is the operator's own."""
    kinds = {document["kind"] for path in EXAMPLES for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))}
    assert {"SlackPolicy", "AdmissionQueue", "ReservationPool"} <= kinds


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_examples_are_valid(path: Path) -> None:
    """What the documentation shows can be applied."""
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if document["apiVersion"].startswith("slackwater.io/"):
            kind_named(document["kind"]).model.model_validate({"spec": document["spec"]})
