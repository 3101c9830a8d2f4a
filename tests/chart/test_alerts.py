"""Each alert fires when it should and is silent when it should be, says Prometheus's own tool."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import yaml

from support.builders.promql import alerts
from support.lab.chart import ROOT

CASES = ROOT / "tests" / "chart" / "rules" / "cases.yaml"


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
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    outcomes = {
        bool(check.get("exp_alerts"))
        for case in cases
        for check in case["alert_rule_test"]
        if check["alertname"] == rule["alert"]
    }
    assert outcomes == {True, False}
