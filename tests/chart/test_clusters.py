"""What clusters of different makers need of the chart: nodes of two systems, networks that reach no pod, two cores."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml

from slackwater.resources import CPU
from slackwater_cluster.admissionpolicies.mutation import declared_amount
from slackwater_cluster.customresources import SlackPolicySpec
from support.builders.chartvalues import ALL, PROFILES, SWITCHES
from support.lab.chart import ROOT, Object, named, objects, pod_specs

NEWEST = "1.37.0"
BEFORE = "1.35.1"  # no policy: the webhook runs, too
SYSTEM = "kubernetes.io/os"
MOVABLE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
# Milli-cpu that kind's own pods request on its one node: API server 250, controller manager 200, scheduler, etcd and
# network 100 each, two of CoreDNS 100 each. minikube and k3s request less.
KIND = 950
CORES = 2000


@pytest.mark.parametrize("name", ["everything", "webhook", "placed"])
def test_our_pods_ask_for_linux(name: str) -> None:
    """A node of Windows would take them otherwise, hooks included, and could not pull the image."""
    for who, spec in pod_specs(objects(NEWEST, *ALL[name])).items():
        assert spec["nodeSelector"][SYSTEM] == "linux", who


def test_a_selector_of_ones_own_stands_beside_it_and_wins() -> None:
    """Both hold; who builds the image for another system may say so."""
    own = "--set=extender.nodeSelector.pool=infra,hooks.nodeSelector.kubernetes\\.io/os=windows"
    specs = pod_specs(objects(NEWEST, own))
    assert specs["Deployment/slackwater-extender"]["nodeSelector"] == {SYSTEM: "linux", "pool": "infra"}
    assert specs["Job/slackwater-definitions"]["nodeSelector"] == {SYSTEM: "windows"}


@pytest.mark.parametrize("name", ["webhook", "webhook, certManager"])
def test_azure_leaves_the_registration_of_the_webhook_alone(name: str) -> None:
    """It would rewrite the namespaces, and helm would refuse each upgrade with a conflict."""
    found = named(objects(BEFORE, *SWITCHES[name]), "MutatingWebhookConfiguration", "slackwater-pods")
    notes = found["metadata"]["annotations"]
    assert notes["admissions.enforcer/disabled"] == "true"
    assert ("cert-manager.io/inject-ca-from" in notes) is name.endswith("certManager")


def test_the_webhook_may_stand_in_the_hosts_network() -> None:
    """Where the control plane reaches nodes alone. In an upgrade a node's port is free before the next one wants it."""
    spec = named(objects(BEFORE, *SWITCHES["webhook, host's network"]), "Deployment", "slackwater-webhook")["spec"]
    pod = spec["template"]["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["containers"][0]["ports"] == [{"name": "https", "containerPort": 10260}]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_no_pod_of_ours_keeps_a_node_that_the_autoscaler_would_take_away() -> None:
    """It keeps nodes for pods in kube-system and for folders on a disk, where nothing says that they may be moved."""
    deployed = [each for each in objects(NEWEST, *SWITCHES["everything"]) if each["kind"] == "Deployment"]
    assert len(deployed) == 5
    for each in deployed:
        name, template = each["metadata"]["name"], each["spec"]["template"]
        folders = [volume["emptyDir"] for volume in template["spec"].get("volumes", []) if "emptyDir" in volume]
        held = each["metadata"]["namespace"] == "kube-system" or any("medium" not in folder for folder in folders)
        assert (template["metadata"].get("annotations", {}).get(MOVABLE) == "true") is held, name
    said = r"--set=watchdog.podAnnotations.cluster-autoscaler\.kubernetes\.io/safe-to-evict=no"
    watchdog = named(objects(NEWEST, said), "Deployment", "slackwater-watchdog")["spec"]["template"]
    assert watchdog["metadata"]["annotations"][MOVABLE] == "no"


@pytest.mark.parametrize("version", [BEFORE, NEWEST], ids=["webhook", "policy"])
def test_one_node_of_two_cores_has_room_for_the_first_app(version: str) -> None:
    """Beside kind's own pods and ours: its driver, and two of its tasks with the requests that lowering leaves."""
    found = objects(version, *PROFILES["kind"])
    ours = sum(cpu(each["spec"]["template"]["spec"]) * each["spec"]["replicas"] for each in deployments(found))
    driver, job = yaml.safe_load_all((ROOT / "docs" / "install" / "first-app.yaml").read_text(encoding="utf-8"))
    declared, percent = cpu(job["spec"]["template"]["spec"]), SlackPolicySpec().ceiling.cpu_percent
    task = math.ceil(declared * 100 / percent)
    assert KIND + ours + cpu(driver["spec"]) + 2 * task <= CORES


def deployments(found: list[Object]) -> list[Object]:
    """All of them; on kind each has one replica."""
    every = [each for each in found if each["kind"] == "Deployment"]
    assert {each["spec"]["replicas"] for each in every} == {1}
    return every


def cpu(spec: dict[str, Any]) -> int:
    """Milli-cpu that a pod requests."""
    return declared_amount(spec, CPU)
