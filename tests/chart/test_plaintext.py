"""Names stay texts and numbers stay numbers, whatever they look like in YAML."""

from __future__ import annotations

import json
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped] # no types
import pytest
import yaml

from support.builders.chartvalues import SWITCHES
from support.lab.chart import CHART, Object, call, named

NEWEST = "1.37.0"
FOREIGN = ("monitoring.coreos.com", "cert-manager.io", "slackwater.io")
LARGE = 1_000_000  # what helm would write as 1e+06
# Where a number ends up in the variables of each program.
VARIABLES = {
    "operator": "SLACKWATER_OPERATOR_WINDOW",
    "monitor": "SLACKWATER_MONITOR_REFRESH",
    "watchdog": "SLACKWATER_WATCHDOG_PATIENCE",
}


def rendered(*options: str, release: str = "slackwater", namespace: str = "slackwater-system") -> list[Object]:
    """What helm would install."""
    done = call("template", release, str(CHART), f"--namespace={namespace}", f"--kube-version={NEWEST}", *options)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


@pytest.mark.parametrize("switch", ["everything", "webhook", "certManager"])
@pytest.mark.parametrize(("release", "namespace"), [("123", "456"), ("true", "1e3"), ("null", "0x1f")])
def test_names_that_look_like_numbers_stay_names(switch: str, release: str, namespace: str) -> None:
    """All of these are names that Kubernetes takes; a number in their place is refused."""
    found = rendered(*SWITCHES[switch], release=release, namespace=namespace)
    for each in found:
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == release, each["metadata"]["name"]
        if not each["apiVersion"].startswith(FOREIGN):
            kubernetes_validate.validate(each, NEWEST.rpartition(".")[0], strict=True)
    places = {each["metadata"]["namespace"] for each in found if "namespace" in each["metadata"]}
    assert places == {namespace, "kube-system"}
    settings = yaml.safe_load(named(found, "ConfigMap", "slackwater-scheduler")["data"]["scheduler.yaml"])
    assert settings["leaderElection"]["resourceNamespace"] == namespace
    own = yaml.safe_load(named(found, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])
    assert own["decisions"]["own_namespace"] == namespace


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), None),
        (("--set=watchdog.enabled=false",), None),
        (("--set-string=watchdog.namespace=1e3",), "1e3"),
        (("--set=watchdog.enabled=false,watchdog.namespace=elsewhere",), None),
    ],
    ids=["the default", "no watchdog", "elsewhere", "no watchdog, and a name"],
)
def test_programs_are_told_of_the_watchdogs_namespace_where_they_would_not_exempt_it(
    options: tuple[str, ...], told: str | None
) -> None:
    """With an older image the chart works as long as nothing is set that it does not know."""
    found = rendered(*options)
    own = yaml.safe_load(named(found, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])
    assert own["decisions"].get("watchdog_namespace") == told
    assert variables(found, "operator").get("SLACKWATER_OPERATOR_WATCHDOG_NAMESPACE") == told


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    """The chart with large numbers from a file, which are floats to helm."""
    values = {
        "prometheus": {"url": "http://prometheus"},
        "runAsUser": 1_000_650_000,  # as OpenShift gives them
        "operator": {"settings": {"window": LARGE, "grace": 0.25, "record": ["a"], "steer_lowered": True}},
        "monitor": {"enabled": True, "settings": {"refresh": LARGE}},
        "watchdog": {"patience": LARGE},
        "extender": {"settings": {"server": {"threads": LARGE}}},
        "scheduler": {"qps": LARGE, "burst": 2 * LARGE, "extender": {"weight": LARGE}},
    }
    path: Path = tmp_path_factory.mktemp("values") / "values.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return rendered("-f", str(path))


def variables(found: list[Object], program: str) -> dict[str, str]:
    """The settings of a program."""
    (container,) = named(found, "Deployment", f"slackwater-{program}")["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


@pytest.mark.parametrize("program", VARIABLES)
def test_whole_numbers_of_a_values_file_are_written_as_such(large: list[Object], program: str) -> None:
    """A program that expects an integer does not read 1e+06."""
    assert variables(large, program)[VARIABLES[program]] == str(LARGE)


def test_other_values_are_written_as_programs_read_them(large: list[Object]) -> None:
    """Shares, lists and switches."""
    found = variables(large, "operator")
    assert float(found["SLACKWATER_OPERATOR_GRACE"]) == 0.25
    assert json.loads(found["SLACKWATER_OPERATOR_RECORD"]) == ["a"]
    assert found["SLACKWATER_OPERATOR_STEER_LOWERED"] == "true"


def test_whole_numbers_in_files_and_pods_are_integers(large: list[Object]) -> None:
    """kube-scheduler, our extender and the API server read them as such."""
    settings = yaml.safe_load(named(large, "ConfigMap", "slackwater-scheduler")["data"]["scheduler.yaml"])
    assert settings["clientConnection"] == {"qps": LARGE, "burst": 2 * LARGE}
    assert settings["extenders"][0]["weight"] == LARGE
    own = yaml.safe_load(named(large, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])
    assert own["server"]["threads"] == LARGE
    security = named(large, "Deployment", "slackwater-operator")["spec"]["template"]["spec"]["securityContext"]
    assert {security[key] for key in ("runAsUser", "runAsGroup", "fsGroup")} == {1_000_650_000}
