"""Each alert fires when it should and is silent when it should be, says Prometheus's own tool."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import Any

import pytest
import yaml

from support.builders.promql import alerts
from support.lab.chart import ROOT, objects

CASES = ROOT / "tests" / "chart" / "rules" / "cases.yaml"


@cache
def cases() -> list[dict[str, Any]]:
    """What is played to the alerts, and which of them fire."""
    found: list[dict[str, Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    return found


def test_alerts_fire_and_stay_silent_as_the_cases_say() -> None:
    """`promtool test rules tests/chart/rules/cases.yaml`."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool (it comes with prometheus)")
    done = subprocess.run(
        [promtool, "test", "rules", str(CASES)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_every_alert_has_a_case_where_it_fires_and_one_where_it_does_not(rule: dict[str, str]) -> None:
    """An alert that was never seen firing is a decoration."""
    outcomes = {
        bool(check.get("exp_alerts"))
        for case in cases()
        for check in case["alert_rule_test"]
        if check["alertname"] == rule["alert"]
    }
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("version", "options", "alert", "told"),
    [
        ("1.35.1", "", "SlackwaterWebhookAbsent", True),
        ("1.37.0", "", "SlackwaterWebhookAbsent", False),
        ("1.35.1", "admission.mutating=off", "SlackwaterWebhookAbsent", False),
        ("1.37.0", "", "SlackwaterSamplesStale", False),
        ("1.37.0", "prometheus.url=http://prometheus", "SlackwaterSamplesStale", True),
        ("1.37.0", "extender.settings.prometheus.url=http://prometheus", "SlackwaterSamplesStale", True),
    ],
    ids=["webhook", "policy", "neither", "no Prometheus", "Prometheus", "Prometheus, among the settings"],
)
def test_an_alert_comes_with_what_it_is_about(version: str, options: str, alert: str, told: bool) -> None:
    """Without a webhook, or without measurements, it would fire for ever."""
    found = objects(version, f"--set=monitoring.rules.enabled=true,{options}".rstrip(","))
    (rules,) = (each["spec"]["groups"][0]["rules"] for each in found if each["kind"] == "PrometheusRule")
    assert (alert in {rule["alert"] for rule in rules}) is told
