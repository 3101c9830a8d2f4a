"""A release is installed, upgraded from an earlier version, rolled back and uninstalled on a real API server."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.lab.chart import CHART, NAMESPACE
from support.lab.testnamespace import until

pytestmark = pytest.mark.lab

CUSTOM = "/apis/slackwater.io/v1alpha1"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/slackpolicies.slackwater.io"
MISSING = 404
POLICIES = "/apis/admissionregistration.k8s.io/v1"
GATED = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "held", "labels": {"slackwater.io/role": "task"}},
    "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}]},
}


@pytest.fixture
def hooks(lab: Any, tmp_path: Path) -> Any:
    """Somebody who runs the scripts of hook Jobs."""
    from support.lab.hooks import Standin  # noqa: PLC0415 - needs the lab

    return Standin(lab.site, tmp_path)


def certificate(kube: Any, name: str) -> str:
    """The certificate in one of our Secrets."""
    return str(kube.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/slackwater-{name}-tls").body["data"]["tls.crt"])


def mode(kube: Any) -> str:
    """The mode of the default policy."""
    return str(kube.get(f"{CUSTOM}/slackpolicies/default").body["spec"]["mode"])


def earlier(folder: Path) -> Path:
    """The chart as an earlier version might have been: without one field of SlackPolicy."""
    made = folder / "earlier"
    shutil.copytree(CHART, made)
    about = yaml.safe_load((made / "Chart.yaml").read_text(encoding="utf-8"))
    (made / "Chart.yaml").write_text(yaml.safe_dump({**about, "version": "0.0.9"}), encoding="utf-8")
    path = made / "crds" / "slackpolicies.yaml"
    definition = yaml.safe_load(path.read_text(encoding="utf-8"))
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["score"]
    path.write_text(yaml.safe_dump(definition), encoding="utf-8")
    return made


def fields(kube: Any) -> set[str]:
    """The fields of SlackPolicy that the cluster knows."""
    version = kube.get(DEFINITION).body["spec"]["versions"][0]
    return set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


def test_a_release_from_its_first_day_to_its_last(kube: Any, release: Any, hooks: Any, tmp_path: Path) -> None:
    """Definitions are brought up to date, certificates survive, a rollback restores, nothing stays behind."""
    # The guard of the release before may still refuse it for a moment.
    until("the definition is gone", lambda: kube.delete(DEFINITION).status == MISSING)
    release.install("--set=policy.spec.mode=observe", chart=earlier(tmp_path))
    before = certificate(kube, "extender"), certificate(kube, "scheduler")
    assert "score" not in fields(kube)

    with hooks:
        release.must("upgrade", str(CHART), "--set=policy.spec.mode=score", "--wait", "--timeout=60s")
        assert "up to date" in hooks.said["slackwater-definitions"]
        assert "score" in fields(kube)
        assert mode(kube) == "score"
        assert (certificate(kube, "extender"), certificate(kube, "scheduler")) == before

        release.must("rollback", "1")
        assert mode(kube) == "observe"

        release.must("uninstall", "--timeout=60s")
    assert "none waits" in hooks.said["slackwater-leave"]
    left = [
        *kube.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments").body["items"],
        *kube.get(f"/api/v1/namespaces/{NAMESPACE}/secrets").body["items"],
        *kube.get(f"{POLICIES}/mutatingadmissionpolicies").body["items"],
        *ours(kube, "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        *ours(kube, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    ]
    assert [each["metadata"]["name"] for each in left] == []
    assert kube.get(DEFINITION).ok, "definitions hold users' objects and stay"


def ours(kube: Any, path: str) -> list[Any]:
    """Objects of the chart among those of the cluster."""
    found: list[Any] = kube.get(path, labelSelector="app.kubernetes.io/name=slackwater").body["items"]
    return found


def test_uninstall_lifts_gates_and_waits_for_pods_of_our_scheduler(kube: Any, release: Any, hooks: Any) -> None:
    """While a pod waits for our scheduler the release stays, and says which pod it is; afterwards it goes."""
    release.install("--set=policy.spec.mode=enforce,hooks.leave.waitSeconds=3")
    namespace = kube.namespace("leaving", slackwater_io__managed="true")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    held = gated(kube, pods)
    assert held["spec"]["schedulingGates"] == [{"name": "slackwater.io/admission"}]
    with hooks:
        refused = release.run("uninstall", "--timeout=60s")
        assert refused.returncode != 0
        assert "leaving/held" in hooks.said["slackwater-leave"]
        assert kube.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/slackwater-scheduler").ok
        now = kube.get(f"{pods}/held").body
        assert "schedulingGates" not in now["spec"]

        assert kube.delete(f"{pods}/held").ok
        release.must("uninstall", "--timeout=60s")
    kube.delete(f"/api/v1/namespaces/{namespace}")


def test_policies_of_the_values_act_on_the_namespaces_that_name_them(kube: Any, release: Any) -> None:
    """Each once, beside the default one and one that somebody made by hand."""
    policies = "policies.half.spec.mode=enforce,policies.mine.create=false"
    release.install("--no-hooks", f"--set=policy.spec.mode=observe,{policies}")
    for name, percent in (("mine", 400), ("by-hand", 1000)):
        body = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": name}}
        spec = {"mode": "enforce", "ceiling": {"cpuPercent": percent}}
        assert kube.apply({**body, "spec": spec}, f"{CUSTOM}/slackpolicies").ok
    for policy, cpu in {"half": "1", "mine": "500m", "by-hand": "200m"}.items():
        namespace = kube.namespace(f"names-{policy}", slackwater_io__managed="true", slackwater_io__policy=policy)
        held = gated(kube, f"/api/v1/namespaces/{namespace}/pods")
        assert held["spec"]["containers"][0]["resources"]["requests"]["cpu"] == cpu
        kube.delete(f"/api/v1/namespaces/{namespace}")
    for name in ("mine", "by-hand"):
        kube.delete(f"{CUSTOM}/slackpolicies/{name}")


def gated(kube: Any, pods: str) -> Any:
    """A pod that the admission policy gated; a new policy takes up to 3 s to act."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    def tried() -> bool:
        kube.delete(f"{pods}/held")
        made = kube.post(pods, GATED)
        return made.ok and "schedulingGates" in made.body["spec"]

    until(tried, seconds=30, every=0.5)
    return kube.get(f"{pods}/held").body


def test_every_profile_is_accepted_by_a_real_server(kube: Any, release: Any) -> None:
    """Kinds of the Prometheus operator are left out: the lab does not serve them."""
    for name in ("observe", "enforce", "kind"):
        without = "--set=monitoring.serviceMonitor.enabled=false,monitoring.rules.enabled=false"
        options = ("--no-hooks", "--dry-run=server", "-f", str(CHART / f"values-{name}.yaml"), without)
        assert "slackwater" in release.install(*options)


def test_new_certificates_come_when_asked_for(kube: Any, release: Any) -> None:
    """A new text in tls.renew makes new ones, signed by a new authority, and restarts who uses them."""
    release.install("--no-hooks")
    before = certificate(kube, "extender")
    deployment = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/slackwater-extender"
    started = kube.get(deployment).body["spec"]["template"]["metadata"]["annotations"]
    release.must("upgrade", str(CHART), "--no-hooks", "--set=tls.renew=2027")
    assert certificate(kube, "extender") != before
    assert kube.get(deployment).body["spec"]["template"]["metadata"]["annotations"] != started
